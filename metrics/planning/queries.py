"""Reads for planning: the study that is planned, a pilot's answers, and plans that were made already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import cache
from django.db.models import Count, QuerySet
from django.http import Http404

from annotation import policies
from annotation.core import replica
from annotation.core.code_version import code_version
from annotation.models import Study, TaskKind
from annotation.setup import services as setup
from annotation.studies.queries import fill
from metrics.core.answers import has_simulated_answers
from metrics.core.stats.differences import AnswerSet
from metrics.depiction.data import read_depiction
from metrics.planning import pilot
from metrics.planning.curves import Costs, PlanResult, make_plan
from metrics.planning.sentences import Pilot
from metrics.planning.stats import Assumptions
from metrics.quality.data import speeds

_MOST_ANSWERS = 20_000
"""A pilot is read group by group until there are so many answers."""
_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Planned:
    """A study that is planned: one that there is, or what somebody has filled in so far (`study` None)."""

    name: str
    title: str
    study: Study | None
    document: Mapping[str, Any]


def planned_or_404(user: User | AnonymousUser, name: str) -> Planned:
    """A study that the account leads, or is setting up; Http404 otherwise."""
    with replica.from_primary():
        study = (
            Study.objects.select_related("stereotype_source")
            .prefetch_related("tasks")
            .filter(name=name)
            .first()
        )
        if study is not None and policies.leads(user, study):
            return Planned(name, study.title, study, {})
        if study is None and isinstance(user, User) and policies.may_create_studies(user):
            document = setup.documents(user=user).get(name)
            if document is not None:
                return Planned(name, str(document.get("title") or name), None, document)
    raise Http404


def initial(planned: Planned) -> dict[str, int]:
    """The numbers of the form that the study says already."""
    if planned.study is None:
        tasks = [task for task in planned.document.get("tasks", []) if task.get("kind") == TaskKind.DEPICTION]
        found = (
            {"overlap": len(tasks[0].get("strata", [])), "page_size": tasks[0].get("page_size", 0)}
            if tasks
            else {}
        )
        return {name: value for name, value in found.items() if isinstance(value, int) and value > 0}
    task = next((one for one in planned.study.tasks.all() if one.kind == TaskKind.DEPICTION), None)
    if task is None:
        return {}
    by_group = list(
        fill.units_for_people(task=task)
        .filter(image__isnull=False)
        .order_by()
        .values("image__group")
        .annotate(images=Count("image", distinct=True))
        .values_list("images", flat=True)
    )
    of_task = {"overlap": task.overlap, "page_size": task.page_size}
    if not by_group:
        return of_task
    return {**of_task, "groups": len(by_group), "images": max(round(sum(by_group) / len(by_group)), 3)}


def pilots(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies about what images depict that the account may estimate from."""
    led = policies.studies_led_by(user).filter(tasks__kind=TaskKind.DEPICTION)
    return led.distinct().order_by("title", "pk")


def read_pilot(study: Study) -> Pilot:
    """What the answers of `study` say. Raises PilotRefused."""
    groups, answers = [], 0
    for frame in read_depiction(study, by_response=True):
        kept = frame.without_none_of_above()
        side = AnswerSet(kept.k, kept.n, kept.answers, kept.images, kept.annotators)
        groups.append((side, kept.stereotypical))
        answers += len(kept.answers)
        if answers >= _MOST_ANSWERS:
            break
    speed = speeds(study).get((0, TaskKind.DEPICTION))
    return Pilot(
        study.title,
        pilot.estimate(groups),
        simulated=has_simulated_answers(study),
        seconds=None if speed is None else speed.active / 1000,
    )


def plan(
    assumptions: Assumptions,
    costs: Costs,
    measures: Sequence[str],
    *,
    seed: int,
    studies: int | None = None,
) -> PlanResult:
    """`make_plan`, or its result if the same was asked before."""
    asked = repr((assumptions, costs, tuple(measures), seed, studies, code_version()))
    key = f"plan:{hashlib.sha256(asked.encode()).hexdigest()}"
    found: PlanResult | None = cache.get(key)
    if found is None:
        found = make_plan(assumptions, costs, measures, seed=seed, studies=studies)
        cache.set(key, found, _CACHE_SECONDS)
    return found
