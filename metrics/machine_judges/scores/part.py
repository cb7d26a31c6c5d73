"""The random part of a task's items that people were asked about (PROTOCOL §16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef

from annotation.models import Purpose, Slot, Task, Unit
from metrics.core.answers import counted_responses
from metrics.core.stats.checks import Bools, Ints
from metrics.machine_judges.data import Judge
from metrics.machine_judges.people import PeopleAnswers, read_people
from metrics.machine_judges.scores.clusters import clusters
from metrics.score_runs.metric import NothingToCompute

MOST_LACKING = 0.05
"""The share of the items that a judge may lack. The items that a run reached before it was stopped, or that a
server answered before it failed, can be others in the part than in the rest; so few change little."""


@dataclass(frozen=True)
class AskedPart:
    """What people answered about the part, the cluster of each option (O,), as in `clusters`, and whether it
    is in the part (O,)."""

    people: PeopleAnswers
    clusters: Ints
    inside: Bools


def check_part(task: Task) -> None:
    """Raise NothingToCompute where the part of a task was not drawn at random, or people have not answered
    all of it yet; the message says what to do. Six queries."""
    if task.people_share is None:
        raise NothingToCompute(
            "People were not asked about a random part of the items, so nothing says that the others are "
            "like those that they answered. Set people_share of the task when the study is set up."
        )
    units = Unit.objects.filter(task=task, purpose=Purpose.DATA).order_by()
    asked = units.filter(Exists(Slot.objects.filter(unit=OuterRef("pk"))))
    rest = units.exclude(pk__in=asked.values("pk"))
    if (number := asked.count()) and number != task.people_units:
        # an imported release has slots for answers only
        raise NothingToCompute(
            f"The random part has {_units(task)}, and {number} have slots here: it cannot be told which "
            "of the others were drawn and not answered. Compute it in the installation that asked people; "
            "give no unit slots of its own."
        )
    if not asked.exists() or not rest.exists():
        raise NothingToCompute(
            "People were asked about all items or none, so there is nothing to combine. "
            "Set another people_share of the task in a new study."
        )
    torn = asked.filter(image__isnull=False, image__in=rest.values("image"))
    if number := torn.values("image").distinct().count():
        raise NothingToCompute(
            f"People were asked about some items only of {number} images. A random part has whole ones. Draw "
            "it with people_share of the task, and give no single slots."
        )
    answered = counted_responses(task.study, task.kind).filter(unit=OuterRef("pk"))
    if waiting := asked.filter(~Exists(answered)).count():
        raise NothingToCompute(
            f"Items of the random part without an answer that counts: {waiting}. Those that are answered "
            "first are no random part. Wait until people have finished."
        )


def _units(task: Task) -> str:
    return "an unknown number of units" if task.people_units is None else f"{task.people_units} units"


def asked_part(judge: Judge) -> AskedPart:
    """The part of a judge's task. Raises NothingToCompute as `check_part`, and where the judge lacks
    answers."""
    items, task = judge.items, judge.task
    check_part(task)
    _check_judged(judge)
    slots = Slot.objects.filter(unit__task=task).order_by()
    inside = np.isin(items.units, list(slots.values_list("unit", flat=True).distinct()))
    # only answers that fill a slot count, so all of them are about the part
    return AskedPart(read_people(judge.study, task, items), clusters(judge), inside)


def _check_judged(judge: Judge) -> None:
    asked = np.unique(judge.items.units)
    lacking = len(np.setdiff1d(asked, judge.items.units[judge.verdicts().options]))
    if lacking > MOST_LACKING * len(asked):
        raise NothingToCompute(
            f"The judge has no readable answer about {lacking} of {len(asked)} items, and at most "
            f"{MOST_LACKING:.0%} may lack one. Let its run finish, or plan a judge that keeps to the form."
        )
