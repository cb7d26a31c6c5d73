"""Store what classifiers and models said of a run's associations (PROTOCOL §16: apart from people)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q

from generation.models import Answer, Run
from metrics.associations.judgements import (
    FIELDS,
    LEVEL,
    SIGNIFICANT,
    judging_run,
    labels_that_count,
    pair_key,
)
from metrics.associations.labels import level_of
from metrics.models import AssociationList, ModelAssociation

_AT_ONCE = 2000
Value = bool | float | None


@transaction.atomic
def apply(found: AssociationList) -> None:
    """Fill `negative`, `toxic` and `model_level` of the list's pairs from the newest judging run of each
    kind, and empty them where that run has no answer. Memory does not grow with the pairs.

    Raises LabelsRefused for a classifier without a label that means negative or toxic.
    """
    runs = {what: judging_run(found.run, what) for what in FIELDS}
    counted = {
        what: labels_that_count(run, what) for what, run in runs.items() if run is not None and what != LEVEL
    }
    last = 0
    rows = _rows_to_look_at(found, runs)
    fields = list(FIELDS.values())
    while batch := list(
        rows.filter(pk__gt=last)
        .order_by("pk")
        .values_list("pk", "setting", "group", "word", *fields)[:_AT_ONCE]
    ):
        last = batch[-1][0]
        keys = {pair_key(setting, group, word): pk for pk, setting, group, word, *_ in batch}
        for place, (what, field) in enumerate(FIELDS.items(), start=4):
            before = {row[0]: row[place] for row in batch}
            _store(field, before, _values(what, runs[what], counted.get(what, frozenset()), keys))


def _rows_to_look_at(found: AssociationList, runs: Mapping[str, Run | None]) -> Any:
    """The rows that a run may have judged, and those that hold a judgement."""
    if any(run is not None and run.recipe["design"].get("pairs") == "all" for run in runs.values()):
        return found.associations.all()
    filled = Q(negative__isnull=False) | Q(toxic__isnull=False) | Q(model_level__isnull=False)
    return found.associations.filter(SIGNIFICANT | filled)


def _values(
    what: str, run: Run | None, labels: frozenset[str], keys: Mapping[str, int]
) -> dict[int, bool | float]:
    """Row -> what the run said of it; a level is the mean of those that could be read."""
    if run is None:
        return {}
    answers = Answer.objects.filter(run=run, job__key__in=list(keys)).order_by()
    texts: dict[int, list[str]] = defaultdict(list)
    for key, text in answers.values_list("job__key", "text"):
        texts[keys[key]].append(text)
    if what != LEVEL:
        return {pk: given[0] in labels for pk, given in texts.items()}
    levels = {pk: [level for text in given if (level := level_of(text))] for pk, given in texts.items()}
    return {pk: sum(given) / len(given) for pk, given in levels.items() if given}


def _store(field: str, before: Mapping[int, Value], values: Mapping[int, bool | float]) -> None:
    """One statement for each value that changes: there are few."""
    changed: dict[Value, list[int]] = defaultdict(list)
    for pk, value in before.items():
        if values.get(pk) != value:
            changed[values.get(pk)].append(pk)
    for value, pks in changed.items():
        _update(pks, field, value)


def _update(pks: Sequence[int], field: str, value: Value) -> None:
    ModelAssociation.objects.filter(pk__in=pks).update(**{field: value})
