"""For whom places were reserved: whether that can be told, and what follows of it where it is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from annotation.core import strata
from annotation.models import Slot, Study
from annotation.releases.linkage import Linkage, linkage
from annotation.releases.request import responses

MOST_UNITS = 20_000
"""Units of a task that are looked at; more of them could only tell more."""

Told = Mapping[int, Mapping[str, str]]
"""Annotator -> what is told of them as they said it."""


def strata_told(study: Study, told: Told) -> bool:
    """Whether every stratum says of whoever filled its slots only what is told of them anyway.

    All or none: a unit has one slot of each, so that those which are told would give away the others. Where
    nobody is known, a stratum is of an answer and not of a person.
    """
    filled = responses(study).filter(slot__isnull=False).order_by()
    if not filled.filter(annotator__isnull=False).exists():
        return True
    pairs = filled.values_list("slot__stratum", "annotator_id").distinct()
    return all(strata.parse(text).matches(told.get(annotator, {})) for text, annotator in pairs.iterator())


def linkage_of(study: Study, profiles: Mapping[int, Mapping[str, str]], told: Told) -> Linkage:
    """What follows from who judged the same unit, where strata are not told. `profiles`: what each annotator
    said, published or not, since it decided which places they were given."""
    tasks = [task.pk for task in study.tasks.all() if any(text != strata.ANY for text in task.strata)]
    within = {"unit__task__in": tasks, "unit__position__lte": MOST_UNITS}
    slots: dict[int, list[str]] = defaultdict(list)
    for unit, text in Slot.objects.filter(**within).order_by().values_list("unit_id", "stratum"):
        slots[unit].append(text)
    who: dict[int, list[int]] = defaultdict(list)
    filled: dict[int, set[str]] = defaultdict(set)
    given = responses(study).filter(**within, slot__isnull=False, annotator__isnull=False).order_by()
    for unit, annotator, text in given.values_list("unit_id", "annotator_id", "slot__stratum"):
        who[unit].append(annotator)
        filled[annotator].add(text)
    texts = {text for each in slots.values() for text in each}
    # what people said may have changed since: the places they were given count, too
    matched = {
        one: frozenset({text for text in texts if strata.parse(text).matches(profiles.get(one, {}))} | mine)
        for one, mine in filled.items()
    }
    fields = {text: {clause.field for clause in strata.parse(text).clauses} for text in texts}
    known = {
        one: frozenset(text for text in texts if fields[text] <= told.get(one, {}).keys()) for one in matched
    }
    return linkage(((tuple(who[unit]), tuple(slots[unit])) for unit in who), matched, known)


__all__ = ["linkage_of", "strata_told"]
