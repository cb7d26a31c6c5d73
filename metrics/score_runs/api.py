"""API of metrics, score runs and scores."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, Refused, refusals
from annotation.api.pages import documents_list, filtered_page, page, page_serializer
from annotation.api.resource import Resource
from annotation.core.leases import JobState
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404
from metrics.models import Score, ScoreRun
from metrics.score_runs import queries, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.metric import VARIANTS, Metric
from metrics.score_runs.serializers import (
    METRICS_BY_PARAMETER,
    MetricSerializer,
    RunScoresQuery,
    ScoreQuery,
    ScoreRunBody,
    ScoreRunQuery,
    ScoreRunSerializer,
    ScoreSerializer,
)
from metrics.score_runs.tasks import enqueue

operation = partial(extend_schema, tags=["scores"])
ScorePageSerializer = page_serializer(ScoreSerializer)


class ScoresSerializer(ScorePageSerializer):  # type: ignore[misc, valid-type]
    """A page of scores, and the run that computed them. `run` is null until scores are computed; `stale`:
    answers have changed since, or there is no run. Request a new run with POST score-runs."""

    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField(help_text="A program, not people, made some of the answers.")


class MetricsSerializer(serializers.Serializer[Any]):
    results = MetricSerializer(many=True)


def metric_data(metric: Metric) -> dict[str, Any]:
    """The data of `MetricSerializer`."""
    return {
        **vars(metric),
        "computed_from": registry.describe_source(metric),
        "variants": VARIANTS,
        "scores": [{"name": name, "meaning": meaning} for name, meaning in metric.names],
        "interval": registry.describe_interval(metric),
        "reference": f"PROTOCOL {metric.section}; {metric.reference}",
    }


class Metrics(Resource):
    """All metrics."""

    @operation(operation_id="metrics_list", responses=MetricsSerializer)
    def get(self, request: Request) -> Response:
        return Response(
            MetricsSerializer({"results": [metric_data(metric) for metric in registry.metrics()]}).data
        )


class OneMetric(Resource):
    """One metric: formula, unit, variants, reference."""

    @operation(operation_id="metrics_read", responses=MetricSerializer)
    def get(self, request: Request, metric: str) -> Response:
        try:
            found = registry.get(metric)
        except ValueError as error:
            raise Http404 from error
        return Response(MetricSerializer(metric_data(found)).data)


class Scores(Resource):
    """The scores of a metric from its newest finished run, each with n and interval."""

    @operation(
        operation_id="scores_list",
        parameters=[ScoreQuery],
        responses={
            200: ScoresSerializer,
            422: OpenApiResponse(description="The metric has no such parameter."),
        },
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        query = self.query(ScoreQuery)
        metric = registry.get(query["metric"])
        given = {name: query[name] for name in METRICS_BY_PARAMETER if name in query}
        with refusals(ValueError, status=422):
            parameters = registry.permitted_parameters(request.user, study, metric, given)
        try:
            latest = queries.latest_run(study, metric.name, query["variant"], parameters)
        except ValueError as error:  # no such embeddings, or nothing to compare with
            raise Refused(str(error)) from error
        if latest.run is not None:
            with refusals(ValueError, status=422):
                metric.check_run(request.user, latest.run)
        rows = filter_scores(latest.run, query) if latest.run is not None else Score.objects.none()
        extra = {
            "run": ScoreRunSerializer(latest.run).data if latest.run is not None else None,
            "stale": latest.stale,
            "simulated": has_simulated_answers(study, *queries.other_studies(metric, parameters)),
        }
        return page(request, rows, query=query, kind=ScoreQuery, row=ScoreSerializer, extra=extra)


class ScoreRuns(Resource):
    """Computations of scores."""

    @documents_list("score_runs_list", query=ScoreRunQuery, row=ScoreRunSerializer, tag="scores")
    def get(self, request: Request, name: str) -> Response:
        rows = queries.runs_to_list(request.user, get_study_or_404(request, name))
        return filtered_page(self, rows, kind=ScoreRunQuery, row=ScoreRunSerializer)

    @operation(
        operation_id="score_runs_create",
        description="Request scores of the present answers. The run is computed in the background: "
        "poll it until its state is done or failed.",
        request=ScoreRunBody,
        responses={
            200: OpenApiResponse(ScoreRunSerializer, "The scores of these answers exist already."),
            202: OpenApiResponse(ScoreRunSerializer, "The run is waiting or being computed."),
            409: OpenApiResponse(description="The run for these answers failed: retry that run."),
            422: OpenApiResponse(
                description="The metric has no such parameter, there are no embeddings, or resamples or a "
                "seed were given with clustered intervals."
            ),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        body = self.body(ScoreRunBody)
        with refusals(ValueError, status=422):
            parameters = registry.permitted_parameters(
                request.user, study, registry.get(body["metric"]), body.get("parameters", {})
            )
        try:
            run = score_runs.request(
                study=study,
                metric=body["metric"],
                variant=body["variant"],
                resamples=body.get("resamples"),
                seed=body["seed"],
                parameters=parameters,
                intervals=body.get("intervals"),
            )
        except ValueError as error:
            raise Refused(str(error)) from error
        if run.state == JobState.FAILED:
            raise Conflict(f"Run {run.pk} failed for these answers: {run.error} Retry that run.")
        enqueue(run)
        return Response(ScoreRunSerializer(run).data, status=200 if run.state == JobState.DONE else 202)


class OneScoreRun(Resource):
    """A score run: its state, and everything needed to repeat it."""

    @operation(operation_id="score_runs_read", responses=ScoreRunSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(ScoreRunSerializer(_run(request, name, number)).data)


class RunScores(Resource):
    """The scores of this run, even if newer runs exist."""

    @operation(operation_id="score_runs_scores", parameters=[RunScoresQuery], responses=ScorePageSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        run = _run(request, name, number)
        query = self.query(RunScoresQuery)
        return page(request, filter_scores(run, query), query=query, kind=RunScoresQuery, row=ScoreSerializer)


class RetryScoreRun(Resource):
    """Give a failed run three more attempts."""

    @operation(
        operation_id="score_runs_retry",
        request=None,
        responses={
            202: ScoreRunSerializer,
            409: OpenApiResponse(description="The run has not failed."),
            422: OpenApiResponse(description="The embeddings that it needs no longer exist."),
        },
    )
    def post(self, request: Request, name: str, number: int) -> Response:
        run = _run(request, name, number)
        try:
            retried = score_runs.retry(run_id=run.pk)
        except ValueError as error:
            raise Refused(str(error)) from error
        if not retried:
            raise Conflict(f"Run {run.pk} is {run.state}; only a failed run can be retried.")
        run.refresh_from_db()
        enqueue(run)
        return Response(ScoreRunSerializer(run).data, status=202)


def filter_scores(run: ScoreRun, query: Mapping[str, Any]) -> QuerySet[Score]:
    """The scores of a run that match the query."""
    rows = run.scores.select_related("group", "attribute")
    return rows.filter(
        **{each: query[each] for each in ("name", "part", "group", "attribute") if each in query}
    )


def _run(request: Request, name: str, number: int) -> ScoreRun:
    study: Study = get_study_or_404(request, name)
    run = get_object_or_404(queries.runs_to_list(request.user, study), pk=number)
    with refusals(ValueError, status=422):
        metric = registry.get(run.metric)
        metric.check_readable(request.user, json.loads(run.parameters))
        metric.check_run(request.user, run)
    return run
