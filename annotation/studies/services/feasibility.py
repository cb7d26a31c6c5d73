"""Whether the enrolled people can fill the quotas of a study; shown before it opens (DESIGN §4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from annotation.core.strata import ANY
from annotation.models import Study
from annotation.studies import matching
from annotation.studies.queries import fill
from annotation.studies.queries.fill import FillRate
from annotation.studies.quotas_in_words import people_needed


@dataclass(frozen=True)
class Report:
    """`people`: number enrolled. `needed`: which people each task needs, in words. `rates`: the slots of each
    stratum, and how many people match it. `shortages`: translated messages about quotas that cannot be
    filled; empty if all can. `warnings`: other messages, such as too few gold items."""

    people: int
    needed: tuple[str, ...]
    rates: tuple[FillRate, ...]
    shortages: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return not self.shortages


def report(*, study: Study) -> Report:
    """Compare the quotas of `study` with the people who are enrolled and not blocked, withdrawn or screened
    out. Everybody can answer every unit once, so units do not compete: the study can be filled if one unit
    of each kind can."""
    profiles = fill.enrolled_profiles(study=study)
    shortages: dict[str, None] = {}
    tasks = study.tasks.order_by("pk")
    for task in tasks:
        for strata in fill.unit_strata(task=task):
            shortages.update(dict.fromkeys(_shortages(strata, profiles)))
    return Report(
        people=len(profiles),
        needed=tuple(dict.fromkeys(people_needed(task.kind, task.strata) for task in tasks)),
        rates=tuple(fill.fill_rates(study=study)),
        shortages=tuple(shortages),
        warnings=tuple(_too_few_checks(study)),
    )


def _too_few_checks(study: Study) -> list[str]:
    """A warning if somebody may run out of gold items and attention checks, since each is shown only once.

    A session's maximum of items is ignored, because people can come back for another session.
    """
    if not study.gold_rate:
        return []
    units = [each for task in study.tasks.all() for each in fill.units_by_strata(task=task)]
    items = matching.most_units_for_one_person(units)
    needed, available = int(items * study.gold_rate), fill.count_check_items(study=study)
    if available >= needed:
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
            "there": available,
            "missing": needed - available,
        }
    ]


def _shortages(strata: Sequence[str], profiles: Sequence[Mapping[str, str]]) -> list[str]:
    candidates = matching.matching_people(strata, profiles)
    filled = matching.match(candidates)
    if None not in filled:
        return []
    people = {text: len(each) for text, each in zip(strata, candidates, strict=True)}
    lacking = [
        (
            ngettext(
                "each item needs %(number)d person; enrolled: %(people)d",
                "each item needs %(number)d people; enrolled: %(people)d",
                number,
            )
            if text == ANY
            else ngettext(
                "each item needs %(number)d person who matches “%(stratum)s”; enrolled: %(people)d",
                "each item needs %(number)d people who match “%(stratum)s”; enrolled: %(people)d",
                number,
            )
        )
        % {"number": number, "stratum": text, "people": people[text]}
        for text, number in Counter(strata).items()
        if people[text] < number
    ]
    return lacking or [
        gettext(
            "each item needs %(number)d different people for %(strata)s; those enrolled can fill "
            "%(filled)d, because the same people match several of these"
        )
        % {"number": len(strata), "strata": ", ".join(strata), "filled": len(strata) - filled.count(None)}
    ]
