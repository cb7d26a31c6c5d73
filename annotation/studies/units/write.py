"""Writing planned units: rows of units, options and slots, batch by batch (DESIGN §3, §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from django.db import transaction
from django.db.models import Max

from annotation.core.table_statistics import analyze_tables
from annotation.models import Attribute, Option, Slot, Task, Unit
from annotation.studies.units.planned import PlannedUnit

# Rows a statement: enough to be quick, few enough to keep memory flat at a million units.
BATCH = 2000


def make_units(
    *,
    task: Task,
    planned: Iterable[PlannedUnit],
    progress: Callable[[int], None] = lambda made: None,
) -> int:
    """Give `task` its units with their options and slots, in order; the number of units made.

    Slots queue unit by unit, behind those that the study has already, so that units are finished one
    after the other and an unfinished study has whole answers. `progress` is told how many more units were
    made. Attributes not known yet are added. The strata of the slots are kept on the task.
    """
    with transaction.atomic():
        position = 0
        queue = Slot.objects.filter(study=task.study_id).aggregate(last=Max("queue"))["last"] or 0
        different: set[str] = set()
        for batch in _batches(planned):
            ids = _attribute_ids(batch)
            units = Unit.objects.bulk_create(
                Unit(
                    task=task,
                    position=position + number,
                    attribute_id=ids[each.attribute] if each.attribute is not None else None,
                    association_id=each.association_id,
                    image_id=each.image_id,
                    page=each.page,
                    repeat=each.repeat,
                    purpose=each.purpose,
                    feedback=each.feedback,
                )
                for number, each in enumerate(batch, 1)
            )
            Option.objects.bulk_create(
                Option(
                    unit=unit,
                    attribute_id=ids[option.attribute] if option.attribute is not None else None,
                    role=option.role,
                    position=place,
                    expected=list(option.expected) if option.expected is not None else None,
                )
                for unit, each in zip(units, batch, strict=True)
                for place, option in enumerate(each.options, 1)
            )
            slots = [
                Slot(study_id=task.study_id, unit=unit, index=index, stratum=stratum, queue=queue + number)
                for number, (unit, index, stratum) in enumerate(_wanted(units, batch), 1)
            ]
            Slot.objects.bulk_create(slots)
            different.update(slot.stratum for slot in slots)
            position += len(units)
            queue += len(slots)
            progress(len(units))
        task.slot_strata = sorted(different)
        task.save(update_fields=["slot_strata"])
        analyze_tables(Attribute, Unit, Option, Slot, rows=queue)
    return position


def remove_units(*, task: Task) -> None:
    """Take away all units of a task that nobody has answered, batch by batch."""
    units = Unit.objects.filter(task=task)
    last = units.aggregate(last=Max("position"))["last"] or 0
    for start in range(0, last, BATCH):
        units.filter(position__gt=start, position__lte=start + BATCH).delete()


def _batches(planned: Iterable[PlannedUnit]) -> Iterator[list[PlannedUnit]]:
    left = iter(planned)
    while batch := list(islice(left, BATCH)):
        yield batch


def _wanted(units: Sequence[Unit], batch: Sequence[PlannedUnit]) -> Iterator[tuple[Unit, int, str]]:
    for unit, each in zip(units, batch, strict=True):
        for index, stratum in enumerate(each.strata):
            yield unit, index, stratum


def _attribute_ids(batch: Sequence[PlannedUnit]) -> dict[str, int]:
    texts = {option.attribute for each in batch for option in each.options if option.attribute is not None}
    texts |= {each.attribute for each in batch if each.attribute is not None}
    ids = dict(Attribute.objects.filter(text__in=texts).values_list("text", "pk"))
    missing = sorted(texts - ids.keys())
    if missing:
        Attribute.objects.bulk_create([Attribute(text=text) for text in missing], ignore_conflicts=True)
        ids.update(Attribute.objects.filter(text__in=missing).values_list("text", "pk"))
    return ids
