"""Stored scores of a machine judge, for tests of what is shown of them."""

from __future__ import annotations

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Study
from generation.models import Run
from metrics.models import Score, ScoreRun
from metrics.score_runs import registry
from metrics.score_runs.queries import serialize_parameters

NOT_RANDOM = "People were not asked about a random part of the items"


def score_run(study: Study, run: Run, metric: str, rows=(), **chosen: str) -> ScoreRun:
    """A finished run with a score for each of `rows`: (name, part, value or (value, low, high), fields)."""
    of_metric = registry.get(metric)
    parameters = registry.parameters(of_metric, {"judge": run.name, **chosen})
    made = ScoreRun.objects.create(
        study=study,
        metric=metric,
        version=of_metric.version,
        variant="corrected",
        digest="0" * 64,
        resamples=0,
        intervals="clustered",
        parameters=serialize_parameters(parameters),
        state=JobState.DONE,
        finished_at=timezone.now(),
    )
    Score.objects.bulk_create(
        score(name, value, run=made, part=part, **more) for name, part, value, more in rows
    )
    return made


def score(name: str, value, **fields) -> Score:
    """`value`: with its interval or without."""
    value, low, high = value if isinstance(value, tuple) else (value, None, None)
    return Score(name=name, value=value, low=low, high=high, **{"n": 40, **fields})


def agreement(part: str, judge, people, difference, *, q: float | None = None, **fields) -> list[tuple]:
    """The rows of agreement of one part."""
    rows = [("judge_percentage", judge), ("people_percentage", people), ("percentage_difference", difference)]
    adjusted = [] if q is None else [("percentage_difference_q", q)]
    return [(name, part, value, fields) for name, value in [*rows, *adjusted]]
