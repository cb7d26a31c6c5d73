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

from annotation.api.errors import Conflict, Refused
from annotation.api.pages import page, page_of
from annotation.api.resource import Resource
from annotation.models import Study
from metrics import frames, queries, registry, tasks
from metrics.api.access import check_groups, chosen
from metrics.api.asked import (
    OF_METRICS,
    AgreementQuery,
    RunScoresQuery,
    ScoreQuery,
    ScoreRunBody,
    ScoreRunQuery,
)
from metrics.api.serializers import (
    AgreementSerializer,
    MetricSerializer,
    ScoreRunSerializer,
    ScoreSerializer,
)
from metrics.led import led_study
from metrics.models import RunState, Score, ScoreRun, Variant
from metrics.queries_pages.agreement import DIFFERENCE
from metrics.services import score_runs

TAGS = ["scores"]
MEASURES = ("alpha", "fleiss_kappa", "percentage", "cross_kappa", "box_iou")
DIFFERENCES = tuple(f"{name}_difference{end}" for name in ("alpha", "percentage") for end in ("", "_p", "_q"))
ScorePageSerializer = page_of(ScoreSerializer)


class ScoresSerializer(ScorePageSerializer):  # type: ignore[misc, valid-type]
    """A page of scores, and the run that they are of. `run` is null as long as nothing was computed;
    `stale`: answers have changed since, or there is no run. Ask for a new one with POST score-runs."""

    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField(help_text="Some answers were made by a program, not by people.")


class MetricsSerializer(serializers.Serializer[Any]):
    results = MetricSerializer(many=True)


def told(metric: registry.Metric) -> dict[str, Any]:
    """What the API says of a metric."""
    return {
        **{name: getattr(metric, name) for name in ("name", "version", "title", "definition", "unit")},
        "computed_from": registry.source_in_words(metric),
        "direction": metric.direction,
        "variants": registry.VARIANTS,
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
        return Response(MetricsSerializer({"results": [told(metric) for metric in registry.METRICS]}).data)


class OneMetric(Resource):
    """One metric: formula, unit, variants, reference."""

    @extend_schema(operation_id="metrics_read", responses=MetricSerializer, tags=TAGS)
    def get(self, request: Request, metric: str) -> Response:
        try:
            found = registry.get(metric)
        except ValueError as error:
            raise Http404 from error
        return Response(MetricSerializer(told(found)).data)


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
        study = led_study(request, name)
        query = self.query(ScoreQuery)
        metric = registry.get(query["metric"])
        given = {each: query[each] for each in OF_METRICS if each in query}
        parameters = chosen(request, study, metric, given)
        try:
            latest = queries.latest_run(study, metric.name, query["variant"], parameters)
        except ValueError as error:  # such embeddings, or sides, there are not
            raise Refused(str(error)) from error
        rows = of(latest.run, query) if latest.run is not None else Score.objects.none()
        answer = page(request, rows, query=query, kind=ScoreQuery, row=ScoreSerializer)
        run = ScoreRunSerializer(latest.run).data if latest.run is not None else None
        simulated = frames.holds_simulated(study)
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
        study = led_study(request, name)
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
        study = led_study(request, name)
        asked = self.body(ScoreRunBody)
        parameters = chosen(request, study, registry.get(asked["metric"]), asked.get("parameters", {}))
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
        tasks.ring(run)
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
        return page(request, of(run, query), query=query, kind=RunScoresQuery, row=ScoreSerializer)


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
        tasks.ring(run)
        return Response(ScoreRunSerializer(run).data, status=202)


class Agreement(Resource):
    """How far annotators agree, over the study as a whole, from the newest finished run. For each attribute
    or identity group: GET scores with metric=agreement."""

    @extend_schema(
        operation_id="agreement_read",
        parameters=[AgreementQuery],
        responses={200: AgreementSerializer, 422: OpenApiResponse(description="`by` is for admins.")},
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        study = led_study(request, name)
        query = self.query(AgreementQuery)
        parameters = chosen(request, study, registry.get("agreement"), query)
        latest = queries.latest_run(study, "agreement", Variant.CORRECTED, parameters)
        parts: dict[str, dict[str, Any]] = {}
        if latest.run is not None:
            whole = latest.run.scores.filter(group__isnull=True, attribute__isnull=True)
            for score in whole.order_by("part", "pk"):
                empty = {"part": score.part, **dict.fromkeys((*MEASURES, *DIFFERENCES))}
                parts.setdefault(score.part, empty)[score.name] = score
        said = {
            "run": latest.run,
            "stale": latest.stale,
            "simulated": frames.holds_simulated(study),
            "results": [row for part, row in parts.items() if DIFFERENCE not in part],
            "differences": [row for part, row in parts.items() if DIFFERENCE in part],
        }
        return Response(AgreementSerializer(said).data)


def of(run: ScoreRun, query: Mapping[str, Any]) -> QuerySet[Score]:
    """The scores of a run that were asked for."""
    rows = run.scores.select_related("group", "attribute")
    return rows.filter(
        **{each: query[each] for each in ("name", "part", "group", "attribute") if each in query}
    )


def _run(request: Request, name: str, number: int) -> ScoreRun:
    study: Study = led_study(request, name)
    run = get_object_or_404(ScoreRun, pk=number, study=study)
    check_groups(request, run.metric, json.loads(run.parameters))
    return run
