"""Metrics, and the scores that were computed of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, Refused, refusals
from annotation.api.pages import page, page_of
from annotation.api.resource import Resource
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_study_or_404
from metrics.models import RunState, Score, ScoreRun
from metrics.score_runs import queries, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.metric import VARIANTS, Metric
from metrics.score_runs.permitted_parameters import permitted_parameters
from metrics.score_runs.serializers.requests import (
    METRICS_BY_PARAMETER,
    RunScoresQuery,
    ScoreQuery,
    ScoreRunBody,
    ScoreRunQuery,
)
from metrics.score_runs.serializers.responses import MetricSerializer, ScoreRunSerializer, ScoreSerializer
from metrics.score_runs.tasks import enqueue

TAGS = ["scores"]
ScorePageSerializer = page_of(ScoreSerializer)


class ScoresSerializer(ScorePageSerializer):  # type: ignore[misc, valid-type]
    """A page of scores, and the run that they are of. `run` is null as long as nothing was computed;
    `stale`: answers have changed since, or there is no run. Ask for a new one with POST score-runs."""

    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField(help_text="Some answers were made by a program, not by people.")


class MetricsSerializer(serializers.Serializer[Any]):
    results = MetricSerializer(many=True)


def metric_data(metric: Metric) -> dict[str, Any]:
    """What the API says of a metric."""
    return {
        **{name: getattr(metric, name) for name in ("name", "version", "title", "definition", "unit")},
        "computed_from": registry.describe_source(metric),
        "direction": metric.direction,
        "variants": VARIANTS,
        "variants_note": metric.variants_note,
        "scores": [{"name": name, "meaning": meaning} for name, meaning in metric.names],
        "parts": metric.parts,
        "parameters": metric.parameters,
        "interval": f"95 %, {metric.resampling}" if metric.interval else None,
        "reference": f"PROTOCOL {metric.section}; {metric.reference}",
        "caveats": metric.caveats,
    }


class Metrics(Resource):
    """Every metric that there is."""

    @extend_schema(operation_id="metrics_list", responses=MetricsSerializer, tags=TAGS)
    def get(self, request: Request) -> Response:
        return Response(
            MetricsSerializer({"results": [metric_data(metric) for metric in registry.metrics()]}).data
        )


class OneMetric(Resource):
    """One metric: formula, unit, variants, reference."""

    @extend_schema(operation_id="metrics_read", responses=MetricSerializer, tags=TAGS)
    def get(self, request: Request, metric: str) -> Response:
        try:
            found = registry.get(metric)
        except ValueError as error:
            raise Http404 from error
        return Response(MetricSerializer(metric_data(found)).data)


class Scores(Resource):
    """The scores of a metric, from its newest finished run, each with n and interval."""

    @extend_schema(
        operation_id="scores_list",
        parameters=[ScoreQuery],
        responses={
            200: ScoresSerializer,
            422: OpenApiResponse(description="The metric has no such parameter."),
        },
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        query = self.query(ScoreQuery)
        metric = registry.get(query["metric"])
        given = {each: query[each] for each in METRICS_BY_PARAMETER if each in query}
        with refusals(ValueError, status=422):
            parameters = permitted_parameters(request.user, study, metric, given)
        try:
            latest = queries.latest_run(study, metric.name, query["variant"], parameters)
        except ValueError as error:  # such embeddings, or sides, there are not
            raise Refused(str(error)) from error
        rows = filter_scores(latest.run, query) if latest.run is not None else Score.objects.none()
        answer = page(request, rows, query=query, kind=ScoreQuery, row=ScoreSerializer)
        run = ScoreRunSerializer(latest.run).data if latest.run is not None else None
        simulated = has_simulated_answers(study)
        answer.data = {"run": run, "stale": latest.stale, "simulated": simulated, **answer.data}
        return answer


class ScoreRuns(Resource):
    """Computations of scores."""

    @extend_schema(
        operation_id="score_runs_list",
        parameters=[ScoreRunQuery],
        responses=page_of(ScoreRunSerializer),
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        query = self.query(ScoreRunQuery)
        rows = ScoreRun.objects.filter(study=study)
        rows = rows.filter(**{each: query[each] for each in ("metric", "variant", "state") if each in query})
        return page(request, rows, query=query, kind=ScoreRunQuery, row=ScoreRunSerializer)

    @extend_schema(
        operation_id="score_runs_create",
        description="Ask for scores of today's answers. The run is computed in the background: read it until "
        "its state is done or failed.",
        request=ScoreRunBody,
        responses={
            200: OpenApiResponse(ScoreRunSerializer, "The scores of these very answers are there."),
            202: OpenApiResponse(ScoreRunSerializer, "It waits, or is being computed."),
            409: OpenApiResponse(description="It failed for these very answers: retry that run."),
            422: OpenApiResponse(description="It has no such parameter, or nothing is embedded."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        asked = self.body(ScoreRunBody)
        with refusals(ValueError, status=422):
            parameters = permitted_parameters(
                request.user, study, registry.get(asked["metric"]), asked.get("parameters", {})
            )
        try:
            run = score_runs.request(
                study=study,
                metric=asked["metric"],
                variant=asked["variant"],
                resamples=asked.get("resamples"),
                seed=asked["seed"],
                parameters=parameters,
            )
        except ValueError as error:
            raise Refused(str(error)) from error
        if run.state == RunState.FAILED:
            raise Conflict(f"Run {run.pk} failed for these very answers: {run.error} Retry that run.")
        enqueue(run)
        return Response(ScoreRunSerializer(run).data, status=200 if run.state == RunState.DONE else 202)


class OneScoreRun(Resource):
    """A computation: its state, and everything needed to repeat it."""

    @extend_schema(operation_id="score_runs_read", responses=ScoreRunSerializer, tags=TAGS)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(ScoreRunSerializer(_run(request, name, number)).data)


class RunScores(Resource):
    """The scores of this very run, whatever was computed since."""

    @extend_schema(
        operation_id="score_runs_scores",
        parameters=[RunScoresQuery],
        responses=ScorePageSerializer,
        tags=TAGS,
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        run = _run(request, name, number)
        query = self.query(RunScoresQuery)
        return page(request, filter_scores(run, query), query=query, kind=RunScoresQuery, row=ScoreSerializer)


class RetryScoreRun(Resource):
    """Another three tries for a run that failed."""

    @extend_schema(
        operation_id="score_runs_retry",
        request=None,
        responses={
            202: ScoreRunSerializer,
            409: OpenApiResponse(description="It has not failed."),
            422: OpenApiResponse(description="The embeddings that it read are not there any more."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str, number: int) -> Response:
        run = _run(request, name, number)
        try:
            retried = score_runs.retry(run_id=run.pk)
        except ValueError as error:
            raise Refused(str(error)) from error
        if not retried:
            raise Conflict(f"Run {run.pk} is {run.state}; only one that failed is retried.")
        run.refresh_from_db()
        enqueue(run)
        return Response(ScoreRunSerializer(run).data, status=202)


def filter_scores(run: ScoreRun, query: Mapping[str, Any]) -> QuerySet[Score]:
    """The scores of a run that were asked for."""
    rows = run.scores.select_related("group", "attribute")
    return rows.filter(
        **{each: query[each] for each in ("name", "part", "group", "attribute") if each in query}
    )


def _run(request: Request, name: str, number: int) -> ScoreRun:
    study: Study = get_study_or_404(request, name)
    run = get_object_or_404(ScoreRun, pk=number, study=study)
    with refusals(ValueError, status=422):
        registry.get(run.metric).check_readable(request.user, json.loads(run.parameters))
    return run
