"""Writing the rows of planned units, options and slots, batch by batch (DESIGN §3, §4)."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from django.db.models import Max

from annotation.core.table_statistics import analyze_tables
from annotation.models import Attribute, Option, Slot, Task, Unit
from annotation.studies.units.planned import PlannedUnit

# Units per batch: large enough to be fast, small enough to keep memory flat with a million units.
BATCH = 2000


def create_units(
    *, task: Task, planned: Iterable[PlannedUnit], progress: Callable[[int], None] = lambda made: None
) -> None:
    """Create the units of `task` with their options and slots, in order. Call it in a transaction.

    Slots are queued unit by unit after the study's existing slots, so that units are completed one after the
    other. `progress` is called with the number of units of each batch. New attributes are added. The distinct
    strata of the slots are stored on the task, and the number of its units for people if they judge a part.
    """
    position = 0
    queue = Slot.objects.filter(study=task.study_id).aggregate(last=Max("queue"))["last"] or 0
    slot_strata: set[str] = set()
    for_people = 0
    left = iter(planned)
    while batch := list(islice(left, BATCH)):
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
        places = (
            (unit, index, stratum)
            for unit, each in zip(units, batch, strict=True)
            for index, stratum in enumerate(each.strata)
        )
        slots = [
            Slot(study_id=task.study_id, unit=unit, index=index, stratum=stratum, queue=queue + number)
            for number, (unit, index, stratum) in enumerate(places, 1)
        ]
        Slot.objects.bulk_create(slots)
        slot_strata.update(slot.stratum for slot in slots)
        for_people += sum(bool(each.strata) for each in batch)
        position += len(units)
        queue += len(slots)
        progress(len(units))
    task.slot_strata = sorted(slot_strata)
    task.people_units = None if task.people_share is None else for_people
    task.save(update_fields=["slot_strata", "people_units"])
    analyze_tables(Attribute, Unit, Option, Slot, rows=queue)


def delete_units(*, task: Task) -> None:
    """Delete all units of a task that nobody has answered, batch by batch."""
    units = Unit.objects.filter(task=task)
    last = units.aggregate(last=Max("position"))["last"] or 0
    for start in range(0, last, BATCH):
        units.filter(position__gt=start, position__lte=start + BATCH).delete()


def _attribute_ids(batch: Sequence[PlannedUnit]) -> dict[str, int]:
    texts = {option.attribute for each in batch for option in each.options if option.attribute is not None}
    texts |= {each.attribute for each in batch if each.attribute is not None}
    ids = dict(Attribute.objects.filter(text__in=texts).values_list("text", "pk"))
    missing = sorted(texts - ids.keys())
    if missing:
        Attribute.objects.bulk_create([Attribute(text=text) for text in missing], ignore_conflicts=True)
        ids.update(Attribute.objects.filter(text__in=missing).values_list("text", "pk"))
    return ids
