"""Queries of stored scores."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, F, Q, QuerySet, Value, When, Window
from django.db.models.functions import Coalesce, RowNumber

from annotation import policies
from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Study
from metrics.models import RunIntervals, Score, ScoreRun
from metrics.score_runs import registry
from metrics.score_runs.evaluation import choose_intervals, inputs_digest
from metrics.score_runs.metric import Metric, Parameters

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


def newest_runs(study: Study, metrics: Iterable[str], variant: str) -> dict[str, ScoreRun]:
    """`newest_run` of each of `metrics` with default parameters, {metric: run}, in their order; metrics
    without a finished run are left out. One query."""
    entries = [registry.get(name) for name in metrics]
    if not entries:
        return {}
    wanted, chosen = Q(), []
    for entry in entries:
        registry.check_variant(entry, variant)
        parameters = serialize_parameters(registry.parameters(entry, None))
        wanted |= Q(metric=entry.name, version=entry.version, parameters=parameters)
        chosen.append(When(metric=entry.name, intervals=choose_intervals(study, entry).name, then=Value(0)))
    place = Window(
        RowNumber(),
        partition_by="metric",
        order_by=[
            Case(*chosen, default=Value(1)).asc(),
            Coalesce("confirmed_at", "finished_at").desc(),
            F("pk").desc(),
        ],
    )
    finished = ScoreRun.objects.filter(wanted, study=study, variant=variant, state=JobState.DONE)
    found = {run.metric: run for run in finished.annotate(place=place).filter(place=1)}
    return {entry.name: found[entry.name] for entry in entries if entry.name in found}


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


def runs_to_list(user: policies.User, study: Study) -> QuerySet[ScoreRun]:
    """The runs of `study`, without those that name other studies which `user` does not lead. One query
    of their own, and another if any names a study."""
    runs = ScoreRun.objects.filter(study=study)
    chosen = [metric.name for metric in registry.metrics() if metric.parameters]
    given = runs.filter(metric__in=chosen).order_by().values_list("metric", "parameters").distinct()
    return runs.exclude(parameters__in=_of_others(user, given))


def failed_runs(user: policies.User, study: Study) -> list[ScoreRun]:
    """Failed runs of `runs_to_list` without a later successful run of the same scores, newest first."""
    runs = ScoreRun.objects.filter(study=study, state__in=[JobState.FAILED, JobState.DONE])
    failed = list(_still_failed(runs.order_by("-finished_at", "-pk")[:100]))
    hidden = _of_others(user, [(run.metric, run.parameters) for run in failed])
    return [run for run in failed if run.parameters not in hidden][:_MAX_FAILED]


def other_studies(metric: Metric, parameters: Parameters) -> list[Study]:
    """The studies that the parameters of a metric name. A query if there are any."""
    names = metric.other_studies(parameters)
    return list(Study.objects.filter(name__in=names)) if names else []


def _of_others(user: policies.User, given: Iterable[tuple[str, str]]) -> set[str]:
    """Which parameters, each with the metric that they are of, name studies that `user` does not lead. A
    query if any names a study."""
    metrics = {metric.name: metric for metric in registry.metrics()}
    named: dict[str, set[str]] = {}
    for name, text in given:
        if name in metrics:
            named.setdefault(text, set()).update(metrics[name].other_studies(json.loads(text)))
    names = set[str]().union(*named.values())
    if not names:
        return set()
    known = set(policies.studies_led_by(user).filter(name__in=names).values_list("name", flat=True))
    return {text for text, those in named.items() if not those <= known}


def _still_failed(runs: Iterable[ScoreRun]) -> Iterable[ScoreRun]:
    seen = set()
    for run in runs:
        scores = (run.metric, run.variant, run.parameters)
        if scores not in seen and run.state == JobState.FAILED:
            yield run
        seen.add(scores)
