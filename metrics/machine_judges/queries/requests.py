"""Which judge a page is about, which scores it asks for, and why some cannot be computed."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from django.http import Http404

from annotation.core.leases import JobState
from annotation.models import Study
from generation.models import Run, RunState
from metrics.agreement.queries import BY
from metrics.machine_judges.data import judge_runs
from metrics.models import ScoreRun, Variant
from metrics.score_runs import registry
from metrics.score_runs.queries import ScoreRequest, serialize_parameters

AGREEMENT = "judge_agreement"
ALTERNATIVE = "judge_alternative_annotator"
SCORES = "judge_scores"
COMBINED = "judge_combined"
METRICS = (AGREEMENT, ALTERNATIVE, SCORES, COMBINED)


def judge_or_404(study: Study, number: int) -> Run:
    """The run of a machine judge about items of `study`; Http404 otherwise."""
    run = judge_runs(study).select_related("image_set").filter(pk=number).first()
    if run is None:
        raise Http404("This study has no such machine judge.")
    return run


def judge_requests(run: Run, by: str = BY[0]) -> list[ScoreRequest]:
    """The scores that a judge's page shows. `by`: one of BY."""
    judge = {"judge": run.name}
    chosen = judge if by == BY[0] else {**judge, "by": by}
    return [(name, Variant.CORRECTED, chosen if name == AGREEMENT else judge) for name in METRICS]


@dataclass(frozen=True)
class Wanted:
    """Of `judge_requests`: those that can be computed now (`due`), and why others cannot: metric ->
    reason (`refused`)."""

    due: list[ScoreRequest]
    refused: dict[str, str]


def wanted_scores(study: Study, run: Run, by: str = BY[0]) -> Wanted:
    """Nothing is due while the judge still answers: each answer would make the scores out of date."""
    if run.state in {RunState.PLANNED, RunState.RUNNING}:
        return Wanted([], {})
    requests = judge_requests(run, by)
    refused = {request[0]: reason for request in requests if (reason := _refusal(study, request))}
    return Wanted([request for request in requests if request[0] not in refused], refused)


def refusals(study: Study, wanted: Wanted, stored: Container[str]) -> dict[str, str]:
    """Why metrics have no scores: {metric: reason}, for those that cannot be computed, and those that are not
    `stored` because their last run failed."""
    missing = [request for request in wanted.due if request[0] not in stored]
    failed = {request[0]: error for request in missing if (error := _failure(study, request))}
    return {**wanted.refused, **failed}


def _refusal(study: Study, request: ScoreRequest) -> str:
    entry = registry.get(request[0])
    try:
        entry.check_inputs(study, registry.parameters(entry, request[2]))
    except ValueError as refused:
        return str(refused)
    return ""


def _failure(study: Study, request: ScoreRequest) -> str:
    """The error of the last run, if it failed."""
    entry = registry.get(request[0])
    chosen = serialize_parameters(registry.parameters(entry, request[2]))
    runs = ScoreRun.objects.filter(study=study, metric=entry.name, parameters=chosen)
    last = runs.order_by("-pk").first()
    return last.error if last is not None and last.state == JobState.FAILED else ""


def parameters_of(metric: str, run: Run) -> dict[str, str]:
    """The parameters with which the page shows a metric."""
    [chosen] = [chosen for name, _, chosen in judge_requests(run) if name == metric]
    return registry.parameters(registry.get(metric), chosen)
