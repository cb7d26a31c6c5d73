"""Alerts for leads, computed from the answers so far."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q

from annotation.core import strata
from annotation.models import Judgement, Response, Study, Task, TaskKind
from annotation.studies.queries.fill import enrolled_profiles

_UNSURE = Q(response__unit__task__kind=TaskKind.VISUAL_NATURE, value=3)
_UNSURE |= Q(response__unit__task__kind=TaskKind.PREVALENCE, value=-1)
_UNSURE |= Q(response__unit__task__kind=TaskKind.OFFENSIVENESS, value=0)
_UNSURE |= Q(response__unit__task__kind=TaskKind.ASSOCIATION, value=0)
# An attribute is unclear if at least this many answers, and at least half of all, are Unsure.
_MIN_UNSURE = 2
# Fast is less than a third of the usual time, over at least _MIN_ANSWERS recent answers, if there are at
# least _MIN_ANNOTATORS such annotators.
_FAST_FACTOR = 3
_MIN_ANSWERS = 10
_MIN_ANNOTATORS = 3
_RECENT_ANSWERS = 2000
_MAX_ALERTS = 5


@dataclass(frozen=True)
class Alert:
    """`kind` determines what the numbers mean:

    unsure   `k` of `n` answers about attribute `key`, called `name`, are Unsure
    fast     annotator `name` takes `seconds`, of usually `usual`, over `n` answers
    stratum  `n` slots of the stratum `name` are open; each item needs `needed` such people, `k` are enrolled
    """

    kind: str
    name: str
    key: int = 0
    k: int = 0
    n: int = 0
    needed: int = 0
    seconds: float = 0.0
    usual: float = 0.0


def unclear_attributes(study: Study) -> list[Alert]:
    """The attributes most often answered with Unsure, in tasks that rate attributes. One query."""
    rated = (
        Judgement.objects.filter(
            response__unit__task__study=study,
            response__unit__task__kind__in=[
                TaskKind.VISUAL_NATURE,
                TaskKind.PREVALENCE,
                TaskKind.OFFENSIVENESS,
                TaskKind.ASSOCIATION,
            ],
            response__current=True,
            response__withdrawn_at__isnull=True,
        )
        .order_by()
        .values_list("option__attribute", "option__attribute__text")
        .annotate(unsure=Count("pk", filter=_UNSURE), asked=Count("pk"))
        .filter(unsure__gte=_MIN_UNSURE, asked__lte=2 * F("unsure"))
        .order_by("-unsure", "option__attribute__text")
    )
    return [
        Alert("unsure", text, key=pk, k=unsure, n=asked) for pk, text, unsure, asked in rated[:_MAX_ALERTS]
    ]


def fast_annotators(study: Study) -> list[Alert]:
    """Annotators who take less than a third of the usual time, by the most recent answers. One query."""
    last = Response.objects.filter(
        unit__task__study=study, annotator__isnull=False, active_ms__isnull=False, withdrawn_at__isnull=True
    ).order_by("-pk")
    times: dict[str, list[int]] = defaultdict(list)
    for pseudonym, active in last.values_list("annotator__pseudonym", "active_ms")[:_RECENT_ANSWERS]:
        times[pseudonym].append(active or 0)
    usual = {who: statistics.median(each) for who, each in times.items() if len(each) >= _MIN_ANSWERS}
    if len(usual) < _MIN_ANNOTATORS:
        return []
    middle = statistics.median(usual.values())
    fast = sorted((median, who) for who, median in usual.items() if _FAST_FACTOR * median < middle)
    return [
        Alert("fast", who, n=len(times[who]), seconds=median / 1000, usual=middle / 1000)
        for median, who in fast[:_MAX_ALERTS]
    ]


def unfillable_strata(study: Study, open_slots: Sequence[tuple[Task, str, int]]) -> list[Alert]:
    """The strata with open slots and fewer enrolled people than an item needs. Two queries."""
    waiting = [(task, stratum, number) for task, stratum, number in open_slots if number]
    if not waiting:
        return []
    profiles = enrolled_profiles(study=study)
    found = []
    for task, stratum, number in waiting:
        matches = strata.parse(stratum).matches
        people = sum(matches(profile) for profile in profiles)
        needed = max(1, task.strata.count(stratum))
        if people < needed:
            found.append(Alert("stratum", stratum, key=task.pk, k=people, n=number, needed=needed))
    return found
