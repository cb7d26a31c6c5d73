"""The items that a machine judge answered, the most disagreement with people first (PROTOCOL §16).

The ranking is cached until there are other answers, of the judge or of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.core.cache import cache
from django.http import Http404

from annotation.models import Attribute, IdentityGroup, Study, Task, TaskKind
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint
from metrics.core.stats.checks import Ints
from metrics.machine_judges.data import NONE_OF_ABOVE, Judge, answers_stamp, read_judge
from metrics.machine_judges.disagreement import Ranking, rank
from metrics.machine_judges.people import read_people
from metrics.machine_judges.queries.requests import judge_or_404

PER_PAGE = 20
LEVELS: dict[str, tuple[int, ...]] = {
    TaskKind.VISUAL_NATURE: (1, 2, 4, 5),
    TaskKind.OFFENSIVENESS: (-1, 1, 2, 3, 4),
    TaskKind.ASSOCIATION: (1, 2, 3, 4, 5),
}
"""Of each scale, the values that have a place on it: all but Unsure."""
_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class ItemFilters:
    """`group`, `attribute`: ids; 0 for all. `differ`: only where somebody's answer is not the judge's."""

    group: int = 0
    attribute: int = 0
    region: str = ""
    differ: bool = False


@dataclass(frozen=True)
class Choices:
    """What the items can be filtered by."""

    groups: tuple[IdentityGroup, ...]
    regions: tuple[str, ...]


def answered_judge_or_404(study: Study, number: int) -> Judge:
    """The judge of `study` whose run has that number, with its answers; Http404 if there is none, or its task
    is gone."""
    try:
        return read_judge(judge_or_404(study, number), study)
    except Task.DoesNotExist as gone:
        raise Http404("The task that this judge was asked about no longer exists.") from gone


def ranking(judge: Judge) -> Ranking:
    """The items that the judge answered usably, without none of the above. Cached until there are other
    answers, of the judge or of people."""
    people = fingerprint(counted_responses(judge.study, judge.task.kind))
    stamp = ".".join(map(str, [*answers_stamp(judge.run), len(judge.items.options), *people]))
    key = f"machine-judge-items-1:{stamp}"
    found: Ranking | None = cache.get(key)
    if found is None:
        judged = judge.verdicts()
        items = judge.items.attributes[judged.options] != NONE_OF_ABOVE
        answers = read_people(judge.study, judge.task, judge.items)
        found = rank(
            judged.options[items],
            judged.values[items],
            answers.options,
            answers.values,
            levels=LEVELS.get(judge.task.kind, ()),
        )
        cache.set(key, found, _CACHE_SECONDS)
    return found


def matching(judge: Judge, ranked: Ranking, filters: ItemFilters) -> Ints:
    """The places in `ranked` of the items that match, in its order."""
    chosen = np.ones(len(ranked.places), dtype=np.bool_)
    if filters.group:
        chosen &= judge.items.groups[ranked.places] == filters.group
    if filters.attribute:
        chosen &= judge.items.attributes[ranked.places] == filters.attribute
    if filters.region:
        chosen &= np.array(judge.items.regions, dtype=np.str_)[ranked.places] == filters.region
    if filters.differ:
        chosen &= ranked.differing > 0
    return np.flatnonzero(chosen)


def choices(judge: Judge) -> Choices:
    """One query."""
    found = IdentityGroup.objects.filter(pk__in=np.unique(judge.items.groups).tolist())
    return Choices(tuple(found.order_by("name", "pk")), tuple(sorted(set(judge.items.regions) - {""})))


def judged_attribute(judge: Judge, pk: int) -> Attribute | None:
    """An attribute of the judge's items; None for another."""
    return Attribute.objects.filter(pk=pk).first() if pk and pk in judge.items.attributes else None
