"""Comparison of the stored units of a task with a plan, batch by batch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from annotation.models import Option, Task, Unit
from annotation.studies.units.planned import Plan, PlannedOption, PlannedUnit
from annotation.studies.units.write import BATCH


def units_match(*, task: Task, plan: Plan) -> bool:
    """Whether the units of `task` are those of `plan`, in the same order. Strata are not compared, because
    they follow from the task's strata, seed and share of people, and from the groups."""
    return all(
        planned is not None and stored is not None and replace(planned, strata=()) == stored
        for planned, stored in zip_longest(plan.units(), stored_units(task=task))
    )


def stored_units(*, task: Task, excluding: str = "") -> Iterator[PlannedUnit]:
    """The stored units of a task as planned units without strata. `excluding`: a purpose to leave out."""
    fields = ("association_id", "image_id", "page", "repeat", "purpose", "feedback")
    units = Unit.objects.filter(task=task).exclude(purpose=excluding).order_by("position")
    rows = units.values("pk", "position", "attribute__text", *fields)
    last = 0
    while batch := list(rows.filter(position__gt=last)[:BATCH]):
        options: dict[int, list[PlannedOption]] = {}
        shown = Option.objects.filter(unit__in=[row["pk"] for row in batch]).order_by("unit", "position")
        for unit, text, role, expected in shown.values_list("unit", "attribute__text", "role", "expected"):
            options.setdefault(unit, []).append(
                PlannedOption(text, role=role, expected=tuple(expected) if expected is not None else None)
            )
        for row in batch:
            pk, last, text = row.pop("pk"), row.pop("position"), row.pop("attribute__text")
            yield PlannedUnit(options=tuple(options.get(pk, ())), strata=(), attribute=text, **row)
