"""Whether the quotas of a study can be filled by who is enrolled: shown before it opens (DESIGN §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from annotation.studies import matching
from annotation.studies.queries import fill
from annotation.studies.queries.fill import FillRate


@dataclass(frozen=True)
class Report:
    """`rates`: the slots of each stratum and who matches it. `people`: how many are enrolled. `shortages`:
    what cannot be filled, in words; empty if every unit can be. `warnings`: what else will not be as the
    study asks for."""

    people: int
    rates: tuple[FillRate, ...]
    shortages: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return not self.shortages


def report(*, study: Study) -> Report:
    """Compare what the units of `study` want with who is enrolled and not blocked, withdrawn or screened
    out. Everybody can answer every unit once, so units do not compete with each other: the study can be
    filled if one unit of each kind can."""
    profiles = fill.enrolled_profiles(study=study)
    shortages: dict[str, None] = {}
    for task in study.tasks.order_by("pk"):
        for wanted in fill.unit_strata(task=task):
            shortages.update(dict.fromkeys(_shortages(wanted, profiles)))
    return Report(
        people=len(profiles),
        rates=tuple(fill.fill_rates(study=study)),
        shortages=tuple(shortages),
        warnings=tuple(_too_few_checks(study)),
    )


def _too_few_checks(study: Study) -> list[str]:
    """Whether gold items and attention checks run out for somebody: each is met once (services/items.py).

    A cap of items in a session changes nothing here, since people can come back for another.
    """
    if not study.gold_rate:
        return []
    units = [each for task in study.tasks.all() for each in fill.units_by_strata(task=task)]
    items = matching.most_units_for_one_person(units)
    needed, there = int(items * study.gold_rate), fill.count_check_items(study=study)
    if there >= needed:
        return []
    return [
        gettext(
            "There are too few gold items and attention checks, because nobody sees one "
            "twice. At %(rate)s per hundred items, a person who answers as many items as "
            "possible (%(items)d) needs %(needed)d. There are %(there)d: add %(missing)d, "
            "or lower the rate."
        )
        % {
            "rate": f"{study.gold_rate * 100:.4g}",
            "items": items,
            "needed": needed,
            "there": there,
            "missing": needed - there,
        }
    ]


def _shortages(wanted: Sequence[str], profiles: Sequence[Mapping[str, str]]) -> list[str]:
    candidates = matching.matching_people(wanted, profiles)
    filled = matching.match(candidates)
    if None not in filled:
        return []
    people = {text: len(each) for text, each in zip(wanted, candidates, strict=True)}
    lacking = [
        ngettext(
            "a unit needs %(number)d annotator of '%(stratum)s'; %(people)d enrolled",
            "a unit needs %(number)d annotators of '%(stratum)s'; %(people)d enrolled",
            number,
        )
        % {"number": number, "stratum": text, "people": people[text]}
        for text, number in Counter(wanted).items()
        if people[text] < number
    ]
    return lacking or [
        gettext(
            "a unit needs %(number)d different annotators for %(strata)s; those enrolled can fill "
            "%(filled)d, because the same people match several of these"
        )
        % {"number": len(wanted), "strata": ", ".join(wanted), "filled": len(wanted) - filled.count(None)}
    ]
