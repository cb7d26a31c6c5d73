"""Finished score runs whose numbers are planted: what pages and sentences make of them is known."""

from __future__ import annotations

import itertools
from typing import Any

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Study
from metrics.models import RunIntervals, Score, ScoreRun, Variant
from metrics.score_runs import queries, registry

_numbers = itertools.count(1)
INFINITE = float("inf")


def run(study: Study, metric: str, *, version: int | None = None, **fields: Any) -> ScoreRun:
    """A finished run of `metric` without scores, of inputs of its own."""
    entry = registry.get(metric)
    return ScoreRun.objects.create(
        study=study,
        metric=metric,
        version=version or entry.version,
        digest=f"{next(_numbers):064x}",
        parameters=queries.serialize_parameters(registry.parameters(entry, None)),
        **{
            "variant": Variant.CORRECTED,
            "intervals": RunIntervals.CLUSTERED if entry.clustering else RunIntervals.NONE,
            "resamples": 0,
            "state": JobState.DONE,
            "finished_at": timezone.now(),
            **fields,
        },
    )


def score(
    of: ScoreRun,
    name: str,
    value: float | None,
    interval: tuple[float, float] | None = None,
    *,
    group: IdentityGroup | None = None,
    part: str = "",
    n: int = 8,
    k: int | None = None,
) -> Score:
    low, high = interval or (None, None)
    return Score.objects.create(
        run=of, name=name, value=value, low=low, high=high, group=group, part=part, n=n, k=k
    )
