"""Queries of stored scores."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, QuerySet, When
from django.db.models.functions import Coalesce

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Study
from metrics.models import RunIntervals, Score, ScoreRun
from metrics.score_runs import registry
from metrics.score_runs.evaluation import choose_intervals, inputs_digest
from metrics.score_runs.metric import Metric

ScoreRequest = tuple[str, str, Mapping[str, str]]
"""A metric, its variant and its chosen parameters."""
MAX_RUNS = 10
"""In the history of a group's scores."""
_MAX_FAILED = 5


@dataclass(frozen=True)
class LatestRun:
    """The newest finished run, if any. `stale`: the inputs have changed since, or there is no run."""

    run: ScoreRun | None
    stale: bool


@dataclass(frozen=True)
class PastRun:
    """The scores of a finished run. `comparable`: it has the version and rule of the newest run, so that
    differences come from the answers only."""

    run: ScoreRun
    scores: tuple[Score | None, ...]
    comparable: bool


def serialize_parameters(parameters: Mapping[str, str]) -> str:
    """The JSON of `ScoreRun.parameters`: equal parameters give equal text."""
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False)


def newest_run(
    study: Study, metric: str, variant: str, parameters: Mapping[str, str] | None = None
) -> ScoreRun | None:
    """The finished run of `metric`, at its present version, that last matched the answers: the one that a
    page shows. A run with the study's choice of intervals comes before others. One indexed query; call
    `is_stale` in a separate request (ADR 0005). Raises ValueError for an unknown metric, variant or
    parameter.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    return _finished(study, entry, variant, registry.parameters(entry, parameters)).first()


def is_stale(run: ScoreRun) -> bool:
    """Whether `run` has other inputs than the present ones, or an earlier version of its metric. Aggregates
    over the study's answers."""
    entry = registry.get(run.metric)
    if run.version != entry.version:
        return True
    return run.digest != inputs_digest(run.study, entry, json.loads(run.parameters))


def has_chosen_intervals(study: Study, run: ScoreRun) -> bool:
    """Whether the intervals of a run of `study` are computed as it has chosen. Others stay readable: those of
    earlier versions, and those that somebody requested as a check."""
    return run.intervals == choose_intervals(study, registry.get(run.metric)).name


def latest_run(
    study: Study, metric: str, variant: str, parameters: Mapping[str, str] | None = None
) -> LatestRun:
    """The newest finished run of `metric` at its present version, and whether it is stale. A run of the
    present inputs is preferred to a later run of others, and then one with the study's choice of intervals.
    Raises ValueError for an unknown metric, variant or parameter.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    chosen = registry.parameters(entry, parameters)
    finished = _finished(study, entry, variant, chosen)
    run = finished.filter(digest=inputs_digest(study, entry, chosen)).first()
    if run is not None:
        return LatestRun(run=run, stale=False)
    return LatestRun(run=finished.first(), stale=True)


def run_with_intervals(study: Study, metric: str, variant: str, digest: str) -> ScoreRun | None:
    """The finished run of the inputs `digest` that has intervals: of the study's choice, else of the other
    kind. One query."""
    entry = registry.get(metric)
    finished = _finished(study, entry, variant, registry.parameters(entry, None))
    return finished.filter(digest=digest).exclude(intervals=RunIntervals.NONE).first()


def _finished(study: Study, entry: Metric, variant: str, chosen: Mapping[str, str]) -> QuerySet[ScoreRun]:
    """Finished runs at the metric's present version: those with the study's choice of intervals first, and of
    these the one that last matched the answers."""
    chosen_intervals = choose_intervals(study, entry).name
    return ScoreRun.objects.filter(
        study=study,
        metric=entry.name,
        version=entry.version,
        variant=variant,
        parameters=serialize_parameters(chosen),
        state=JobState.DONE,
    ).order_by(
        Case(When(intervals=chosen_intervals, then=0), default=1),
        Coalesce("confirmed_at", "finished_at").desc(),
        "-pk",
    )


def scores_by_group(run: ScoreRun) -> Mapping[int, Mapping[str, Score]]:
    """{group id: {score name: score}} of the scores of whole groups, by name of the group. One query."""
    found: dict[int, dict[str, Score]] = {}
    rows = Score.objects.filter(run=run, group__isnull=False, attribute__isnull=True, part="")
    for score in rows.select_related("group").order_by("group__name", "group_id", "name"):
        found.setdefault(score.group_id or 0, {})[score.name] = score
    return found


def score_history(
    study: Study, group: IdentityGroup, *, metric: str, names: Sequence[str], variant: str
) -> list[PastRun]:
    """The scores `names` of `group` in the latest finished runs of `metric`, newest first. Two queries."""
    runs = list(
        ScoreRun.objects.filter(
            study=study, metric=metric, variant=variant, state=JobState.DONE, parameters="{}"
        ).order_by("-finished_at", "-pk")[:MAX_RUNS]
    )
    found = {
        (score.run_id, score.name): score
        for score in Score.objects.filter(
            run__in=[run.pk for run in runs],
            group=group,
            attribute__isnull=True,
            part="",
            name__in=list(names),
        )
    }
    return [
        PastRun(
            run=run,
            scores=tuple(found.get((run.pk, name)) for name in names),
            comparable=(run.version, run.rule) == (runs[0].version, runs[0].rule),
        )
        for run in runs
    ]


def failed_runs(study: Study) -> list[ScoreRun]:
    """Failed runs without a later successful run of the same scores, newest first."""
    runs = ScoreRun.objects.filter(study=study, state__in=[JobState.FAILED, JobState.DONE])
    return list(_still_failed(runs.order_by("-finished_at", "-pk")[:100]))[:_MAX_FAILED]


def _still_failed(runs: Iterable[ScoreRun]) -> Iterable[ScoreRun]:
    seen = set()
    for run in runs:
        scores = (run.metric, run.variant, run.parameters)
        if scores not in seen and run.state == JobState.FAILED:
            yield run
        seen.add(scores)
