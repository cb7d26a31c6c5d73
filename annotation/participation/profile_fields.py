"""The questions of the profile page, all voluntary (PROTOCOL §1). Stored values are used in strata ("origin:
Asia"), so they stay English in every language of the page."""

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
    """One question of the profile; a free text without choices. `decides`: a stratum of the study uses it.
    `language`: that of a study's own question; empty for the others, which are in the page's language."""

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
# Asked only if a stratum of the study uses them.
_ON_DEMAND = frozenset({"residence", "identity_region"})

CHOICES: dict[str, Choices] = {question.name: question.choices for question in FIELDS}
"""Profile field -> (stored value, label). Without choices the field is a free text."""


def questions_for(
    *,
    strata_texts: Iterable[str] = (),
    own_questions: Sequence[Mapping[str, Any]] = (),
    answered: Iterable[str] = (),
    language: str = "",
) -> tuple[Question, ...]:
    """The questions for somebody, from the strata and `own_questions` (as in Study.questions) of their
    studies, these in `language` if they are translated. Fields in `answered` stay on the page, so that the
    answers can be removed."""
    # Those behind in-region and out-region included.
    in_strata = {
        clause.field
        for text in strata_texts
        for clause in strata.parse(strata.resolve(text, region="any region")).clauses
    }
    needed = in_strata | set(answered)
    questions = [
        replace(question, decides=question.name in in_strata)
        for question in FIELDS
        if question.name not in _ON_DEMAND or question.name in needed
    ]
    for own in own_questions:
        name = str(own["field"])
        if name not in {*CHOICES, *(question.name for question in questions)}:
            questions.append(_own_question(own, decides=name in in_strata, language=language))
    return tuple(questions)


def _own_question(own: Mapping[str, Any], *, decides: bool, language: str) -> Question:
    """A study's own question. The stored value of a choice is its English text."""
    values = [str(choice) for choice in own.get("choices") or ()]
    translations = own.get("translations") or {}
    label, written_in = translation(translations, "label", language) or (own["label"], LANGUAGE)
    labels = values if written_in == LANGUAGE else translations[written_in].get("choices", ())
    choices = tuple((value, str(text)) for value, text in zip(values, labels, strict=True))
    return Question(str(own["field"]), str(label), choices, decides=decides, language=written_in)
