"""Units with their options and progress, for leads."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Option, Slot, SlotState, Unit


@dataclass(frozen=True)
class UnitRow:
    """A unit with its options and the number of its slots: all (`wanted`), `filled` and `leased`."""

    unit: Unit
    options: tuple[Option, ...]
    wanted: int
    filled: int
    leased: int

    @property
    def stimulus(self) -> str:
        """What is judged, as text."""
        if self.unit.image is not None:
            return str(self.unit.image)
        if self.unit.association is not None:
            return f"{self.unit.association.group.name}: {self.unit.association.attribute.text}"
        return self.unit.attribute.text if self.unit.attribute is not None else ""


def rows(*, units: Sequence[int]) -> list[UnitRow]:
    """The units with these primary keys, in that order, in three queries."""
    found = Unit.objects.select_related(
        "task", "attribute", "association__group", "association__attribute", "image__group"
    ).in_bulk(units)
    options: defaultdict[int, list[Option]] = defaultdict(list)
    for option in Option.objects.filter(unit__in=units).select_related("attribute").order_by("position"):
        options[option.unit_id].append(option)
    states: defaultdict[int, dict[str, int]] = defaultdict(dict)
    counted = Slot.objects.filter(unit__in=units).order_by().values_list("unit", "state")
    for unit, state, number in counted.annotate(number=Count("pk")):
        states[unit][state] = number
    return [
        UnitRow(
            unit=found[pk],
            options=tuple(options[pk]),
            wanted=sum(states[pk].values()),
            filled=states[pk].get(SlotState.FILLED, 0),
            leased=states[pk].get(SlotState.LEASED, 0),
        )
        for pk in units
        if pk in found
    ]
