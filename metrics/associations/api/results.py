"""The API of the results of a run's associations: shares, levels, figures, comparisons and judgements."""

from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict
from annotation.api.resource import Body, FileResource, Resource, file_of
from annotation.core.leases import JobState
from generation.runs.bodies import as_form_data
from generation.runs.planning_api import planned_response
from generation.runs.serializers import PlannedSerializer, PlanQuery
from metrics.associations.comparison import LISTS, Side, compare
from metrics.associations.figures import FIGURES, association_figure
from metrics.associations.judgements import FIELDS, LEVEL, SENTIMENT, TOXICITY
from metrics.associations.results_forms import FORMS
from metrics.associations.results_serializers import (
    AssociationClassifierBody,
    AssociationComparisonQuery,
    AssociationComparisonSerializer,
    AssociationLevelBody,
    AssociationResultsSerializer,
    AssociationVariantQuery,
    results_data,
)
from metrics.associations.summary import Summary, summary
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.models import AssociationList

operation = partial(extend_schema, tags=["associations"])


class AssociationResults(Resource):
    """Shares of negative and toxic pairs, and bias levels, by dimension and setting."""

    @operation(
        operation_id="association_results_read",
        parameters=[AssociationVariantQuery],
        responses=AssociationResultsSerializer,
    )
    def get(self, request: Request, number: int) -> Response:
        found, variant = _list(request, number), self.query(AssociationVariantQuery)["variant"]
        rows = _summary(found, variant)
        return Response(results_data(found.run_id, variant, rows.shares, rows.levels))


class AssociationFigure(FileResource):
    """A figure of a run as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="association_figures_file",
        parameters=[
            OpenApiParameter("figure", str, OpenApiParameter.PATH, enum=list(FIGURES)),
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=list(CONTENT_TYPES)),
            AssociationVariantQuery,
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            409: OpenApiResponse(description="Nothing was judged for this figure yet."),
        },
    )
    def get(self, request: Request, number: int, figure: str, file_format: str) -> Response:
        found = _list(request, number)
        if figure not in FIGURES or file_format not in CONTENT_TYPES:
            raise Http404
        variant = self.query(AssociationVariantQuery)["variant"]
        drawn = association_figure(found, _summary(found, variant), figure, variant=variant)
        if drawn is None:
            raise Conflict("Nothing was judged for this figure yet.")
        return api_figure(drawn, file_format, filename=f"{found.run.name}-{figure}-{variant}")


class AssociationComparison(Resource):
    """The significant pairs of two models, modalities or settings: shared, only here, only there."""

    @operation(
        operation_id="association_comparison_read",
        parameters=[AssociationComparisonQuery],
        responses=AssociationComparisonSerializer,
    )
    def get(self, request: Request) -> Response:
        query = self.query(AssociationComparisonQuery)
        here, there = (
            Side(_list(request, query[name]), query[f"{name}_setting"]) for name in ("here", "there")
        )
        found = compare(here, there, variant=query["variant"])
        which, after = query["list"], query["after"]
        pairs = found.pairs(which, after, query["limit"])
        end = after + len(pairs)
        data = {
            "here": found.here,
            "there": found.there,
            **{name: len(found.lists[name]) for name in LISTS},
            "jaccard": found.jaccard,
            "pairs": pairs,
            "after": end if end < len(found.lists[which]) else None,
        }
        return Response(AssociationComparisonSerializer(data).data)


_PLANNED = {
    200: OpenApiResponse(PlannedSerializer, "What the plan would ask (`dry_run`)."),
    201: OpenApiResponse(PlannedSerializer, "The planned run."),
    409: OpenApiResponse(description="The state of the run does not allow it."),
    422: OpenApiResponse(description="Not possible: for example no significant pair."),
}
_HOW = (
    " It does not start by itself: start it with POST runs/{number}/start. The same plan again gives the "
    "same run. With `dry_run=true` nothing is written."
)


class _Judgements(Resource):
    """A run that judges a run's significant pairs."""

    body_kind: type[Body]

    def planned(self, number: int, what: str) -> Response:
        found = _list(self.request, number)
        if what not in FIELDS:
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"]
        return planned_response(self._form(found, what), dry_run=dry_run, by=self.request.user)

    def _form(self, found: AssociationList, what: str) -> Any:
        body = self.body(self.body_kind)
        defaults = FORMS[what](found=found, user=self.request.user, what=what).initial
        data = as_form_data(body, defaults)
        return FORMS[what](data, found=found, user=self.request.user, what=what)


class AssociationJudgements(_Judgements):
    """Sentiment and toxicity of a run's associations, by a classifier or a lexicon."""

    body_kind = AssociationClassifierBody

    @operation(
        operation_id="association_judgements_plan",
        description="Plan a run in which a classifier says of each significant pair whether it is negative "
        "(`sentiment`) or toxic (`toxicity`)." + _HOW,
        parameters=[
            OpenApiParameter("what", str, OpenApiParameter.PATH, enum=[SENTIMENT, TOXICITY]),
            PlanQuery,
        ],
        request=AssociationClassifierBody,
        responses=_PLANNED,
    )
    def post(self, request: Request, number: int, what: str) -> Response:
        return self.planned(number, what)


class AssociationLevels(_Judgements):
    """The bias level of a run's associations, by a language model."""

    body_kind = AssociationLevelBody

    @operation(
        operation_id="association_levels_plan",
        description="Plan a run in which a language model says of each significant pair how biased it is, 1 "
        "to 5. Its answers are kept apart from people's." + _HOW,
        parameters=[PlanQuery],
        request=AssociationLevelBody,
        responses=_PLANNED,
    )
    def post(self, request: Request, number: int) -> Response:
        return self.planned(number, LEVEL)


def _list(request: Request, number: int) -> AssociationList:
    """The list of a run whose associations are found; Http404 for accounts that may not see it."""
    if not policies.may_make_images(request.user):
        raise Http404
    return get_object_or_404(AssociationList.objects.select_related("run"), run=number, state=JobState.DONE)


def _summary(found: AssociationList, variant: str) -> Summary:
    return summary(found, variant=variant)
