"""What the profile page asks and offers. Every field is voluntary and can be self-described (PROTOCOL §1).

The values are stored, and strata name them (core/strata.py: "origin: Asia"), so they stay in English
whatever the language of the page; the labels beside them are translated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.core import strata
from annotation.core.translation import LANGUAGE, translation

Choices = tuple[tuple[str, "str | Promise"], ...]

# SeeGULL's eight regions (PROTOCOL §1): the strata in-region and out-region compare with them.
REGIONS: Choices = (
    ("Australia", _("Australia and New Zealand")),
    ("East Asia", _("East Asia and South-East Asia")),
    ("Europe", _("Europe")),
    ("Latin America", _("Latin America")),
    ("Middle East", _("Middle East and North Africa")),
    ("North America", _("North America")),
    ("South Asia", _("South Asia and Central Asia")),
    ("Sub-Saharan Africa", _("Sub-Saharan Africa")),
)


@dataclass(frozen=True)
class Question:
    """One field of the profile. No choices: a free text. `decides`: a stratum of the study names it.
    `language`: of a study's own question, in which its label and choices are written; empty for the others,
    which are in the page's."""

    name: str
    label: str | Promise
    choices: Choices = ()
    hint: str | Promise = ""
    decides: bool = False
    language: str = ""


FIELDS = (
    Question(
        "origin",
        _("Where you are from"),
        (
            ("Africa", _("Africa")),
            ("Asia", _("Asia")),
            ("Europe", _("Europe")),
            ("Latin America", _("Latin America")),
            ("Middle East", _("Middle East")),
            ("North America", _("North America")),
            ("Oceania", _("Oceania")),
        ),
        decides=True,
    ),
    Question("residence", _("Where you live"), REGIONS),
    Question(
        "identity_region",
        _("The region you identify with"),
        REGIONS,
        _("By where you grew up, your family or your culture: whatever it means to you."),
    ),
    Question(
        "gender",
        _("Gender"),
        (("woman", _("Woman")), ("man", _("Man")), ("non-binary", _("Non-binary"))),
    ),
    Question(
        "age_band",
        _("Age"),
        (
            ("18-24", "18–24"),
            ("25-34", "25–34"),
            ("35-44", "35–44"),
            ("45-54", "45–54"),
            ("55-64", "55–64"),
            ("65+", _("65 or older")),
        ),
    ),
    Question("languages", _("Languages you speak"), hint=_("For example: Hindi, English.")),
)
# Asked only of those whose study reserves items by them: nobody is asked what nobody needs.
_ON_DEMAND = frozenset({"residence", "identity_region"})

CHOICES: dict[str, Choices] = {question.name: question.choices for question in FIELDS}
"""Field of the profile -> (stored value, label). An empty list of choices is a free text."""


def asked(
    *,
    strata_texts: Iterable[str] = (),
    own_questions: Sequence[Mapping[str, Any]] = (),
    answered: Iterable[str] = (),
    language: str = "",
) -> tuple[Question, ...]:
    """The questions for somebody, by the strata and the own questions of their studies.

    `own_questions` as in Study.questions: field, label, choices, translations; an answer is kept under its
    field, which strata can name like any other. They are asked in `language` as far as they are translated.
    `answered`: fields they have answered before, which stay on the page so that they can be taken back.
    """
    named = fields_named(strata_texts)
    wanted = named | set(answered)
    found = [
        replace(question, decides=question.decides or question.name in named)
        for question in FIELDS
        if question.name not in _ON_DEMAND or question.name in wanted
    ]
    for own in own_questions:
        name = str(own["field"])
        if name not in {*CHOICES, *(question.name for question in found)}:
            found.append(_own(own, decides=name in named, language=language))
    return tuple(found)


def _own(own: Mapping[str, Any], *, decides: bool, language: str) -> Question:
    """A study's own question. What is kept of a choice is what it says in English."""
    values = [str(choice) for choice in own.get("choices") or ()]
    translations = own.get("translations") or {}
    label, of = translation(translations, "label", language) or (own["label"], LANGUAGE)
    shown = values if of == LANGUAGE else translations[of].get("choices", ())
    choices = tuple((value, str(said)) for value, said in zip(values, shown, strict=True))
    return Question(str(own["field"]), str(label), choices, decides=decides, language=of)


def fields_named(texts: Iterable[str]) -> frozenset[str]:
    """The profile fields that strata ask for; in-region and out-region stand for theirs."""
    named: set[str] = set()
    for text in texts:
        wanted = strata.resolve(text, region="any region")
        named.update(clause.field for clause in strata.parse(wanted).clauses)
    return frozenset(named)
