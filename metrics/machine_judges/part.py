"""The random part of a task's items that people were asked about (PROTOCOL §16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.models import Purpose, Slot
from metrics.core.stats.checks import Bools, Ints
from metrics.machine_judges.clusters import clusters
from metrics.machine_judges.data import Judge
from metrics.machine_judges.people import PeopleAnswers, read_people
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


def asked_part(judge: Judge) -> AskedPart:
    """The part of a judge's task. Raises NothingToCompute where it was not drawn at random, is not answered
    yet, or the judge lacks answers; the message says what to do."""
    items, task = judge.items, judge.task
    if task.people_share is None:
        raise NothingToCompute(
            "People were not asked about a random part of the items, so nothing says that the others are "
            "like those that they answered. Set people_share of the task when the study is set up."
        )
    slots = Slot.objects.filter(unit__task=task, unit__purpose=Purpose.DATA).order_by()
    inside = np.isin(items.units, list(slots.values_list("unit", flat=True).distinct()))
    about = clusters(judge)
    _check_whole(about, inside)
    people = read_people(judge.study, task, items)
    waiting = len(np.setdiff1d(items.units[inside], items.units[people.options]))
    if waiting:
        raise NothingToCompute(
            f"Items of the random part without an answer that counts: {waiting}. Those that are answered "
            "first are no random part. Wait until people have finished."
        )
    _check_judged(judge)
    return AskedPart(people.only(inside[people.options]), about, inside)


def _check_whole(about: Ints, inside: Bools) -> None:
    """Raise NothingToCompute unless each cluster is in the part as a whole or not at all, and some are in it
    and some are not."""
    if torn := len(np.intersect1d(about[inside], about[~inside])):
        raise NothingToCompute(
            f"People were asked about some items only of {torn} images (or whatever the items are about). "
            "A random part has whole ones. Draw it with people_share of the task, and give no single slots."
        )
    if not inside.any() or inside.all():
        raise NothingToCompute(
            "People were asked about all items or none, so there is nothing to combine. "
            "Set another people_share of the task in a new study."
        )


def _check_judged(judge: Judge) -> None:
    asked = np.unique(judge.items.units)
    lacking = len(np.setdiff1d(asked, judge.items.units[judge.verdicts().options]))
    if lacking > MOST_LACKING * len(asked):
        raise NothingToCompute(
            f"The judge has no readable answer about {lacking} of {len(asked)} items, and at most "
            f"{MOST_LACKING:.0%} may lack one. Let its run finish, or plan a judge that keeps to the form."
        )
