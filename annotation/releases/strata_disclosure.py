"""Whether strata can be published, and what readers can infer about people if they are withheld."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from annotation.core import strata
from annotation.models import Slot, Study
from annotation.releases.linkage import Linkage, linkage
from annotation.releases.request import responses

MAX_UNITS = 20_000
"""Units per task that are examined; more of them could only reveal more."""

Profiles = Mapping[int, Mapping[str, str]]
"""Annotator -> field -> value as the annotator entered it."""


def may_publish_strata(study: Study, published: Profiles) -> bool:
    """Whether every stratum discloses only what the published profiles say of the annotators who filled its
    slots.

    All or none: each unit has one slot of each stratum, so published ones would give away the others. If no
    annotator is known, a stratum describes an answer and not a person.
    """
    filled = responses(study).filter(slot__isnull=False).order_by()
    if not filled.filter(annotator__isnull=False).exists():
        return True
    pairs = filled.values_list("slot__stratum", "annotator_id").distinct()
    return all(
        strata.parse(text).matches(published.get(annotator, {})) for text, annotator in pairs.iterator()
    )


def find_linkage(study: Study, profiles: Profiles, published: Profiles) -> Linkage:
    """What readers can infer from who judged the same unit if strata are withheld.

    `profiles`: the full profiles, since these decided which slots annotators were given.
    """
    tasks = [task.pk for task in study.tasks.all() if any(text != strata.ANY for text in task.strata)]
    within = {"unit__task__in": tasks, "unit__position__lte": MAX_UNITS}
    slots: dict[int, list[str]] = defaultdict(list)
    for unit, text in Slot.objects.filter(**within).order_by().values_list("unit_id", "stratum"):
        slots[unit].append(text)
    annotators_of: dict[int, list[int]] = defaultdict(list)
    filled: dict[int, set[str]] = defaultdict(set)
    of_slots = responses(study).filter(**within, slot__isnull=False, annotator__isnull=False).order_by()
    for unit, annotator, text in of_slots.values_list("unit_id", "annotator_id", "slot__stratum"):
        annotators_of[unit].append(annotator)
        filled[annotator].add(text)
    texts = {text for each in slots.values() for text in each}
    # Profiles may have changed since, so the slots that annotators were given count as well
    matched = {
        one: frozenset({text for text in texts if strata.parse(text).matches(profiles.get(one, {}))} | own)
        for one, own in filled.items()
    }
    fields = {text: {clause.field for clause in strata.parse(text).clauses} for text in texts}
    known = {
        one: frozenset(text for text in texts if fields[text] <= published.get(one, {}).keys())
        for one in matched
    }
    units = ((tuple(annotators_of[unit]), tuple(slots[unit])) for unit in annotators_of)
    return linkage(units, matched, known)
