"""The API of associations that models make."""

from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import refusals, refused_form
from annotation.api.pages import documents_list, page
from annotation.api.resource import Resource
from annotation.core.leases import JobState
from annotation.models import ImageSet, Study
from generation.models import Run
from metrics.associations import queries
from metrics.associations.evaluation import AssociationsRefused, check_run
from metrics.associations.serializers import (
    AssociationListSerializer,
    AssociationSentencesSerializer,
    AssociationsQuery,
    AssociationStudyBody,
    ModelAssociationSerializer,
)
from metrics.associations.services import lists
from metrics.associations.study_forms import StudyForm
from metrics.associations.tasks import enqueue
from metrics.core.serializers import MadeStudySerializer
from metrics.models import AssociationList, ModelAssociation, Variant

operation = partial(extend_schema, tags=["associations"])
_CHOICE = ("setting", "modality", "dimension", "group", "descriptor", "word", "significant", "new")


class OneAssociationList(Resource):
    """What was found in the answers of a run."""

    @operation(
        operation_id="association_list_read",
        responses={
            200: AssociationListSerializer,
            404: OpenApiResponse(description="The answers of the run were not read yet."),
        },
    )
    def get(self, request: Request, number: int) -> Response:
        return Response(_list_data(_list(request, number)))

    @operation(
        operation_id="association_list_find",
        description="Let a worker read the answers, unless they were read as they are now. A list that "
        "failed is tried again.",
        request=None,
        responses={
            202: OpenApiResponse(AssociationListSerializer, "A worker will read the answers."),
            200: OpenApiResponse(AssociationListSerializer, "The associations of these answers are here."),
        },
    )
    def post(self, request: Request, number: int) -> Response:
        run = _run(request, number)
        lists.retry(run=run)
        found = lists.request(run=run)
        enqueue(found)
        return Response(_list_data(found), status=200 if found.state == JobState.DONE else 202)


class Associations(Resource):
    """The associations of a run, in both variants."""

    @documents_list(
        "association_pairs_list", query=AssociationsQuery, row=ModelAssociationSerializer, tag="associations"
    )
    def get(self, request: Request, number: int) -> Response:
        found = _list(request, number)
        query = self.query(AssociationsQuery)
        fields = {name: query[name] for name in _CHOICE if name in query}
        choice = queries.Choice(**fields, variant=Variant(query["variant"]))
        rows = queries.chosen(found, choice)
        if found.state != JobState.DONE:
            rows = rows.none()
        return page(request, rows, query=query, kind=AssociationsQuery, row=ModelAssociationSerializer)


class OneAssociation(Resource):
    """The sentences behind a word."""

    @operation(operation_id="association_pair_read", responses=AssociationSentencesSerializer)
    def get(self, request: Request, number: int, pair: int) -> Response:
        rows = ModelAssociation.objects.select_related("group", "association_list__run")
        one = get_object_or_404(
            rows.annotate(known=queries.is_known()),
            association_list__run=_run(request, number),
            pk=pair,
        )
        data = {"association": one, "answers": queries.answers_with(one)}
        return Response(AssociationSentencesSerializer(data).data)


class AssociationStudy(Resource):
    """From associations to a study."""

    @operation(
        operation_id="association_study",
        description="Store the significant associations as a source without votes, and create the draft of a "
        "study that asks people about them.",
        request=AssociationStudyBody,
        responses={
            201: MadeStudySerializer,
            409: OpenApiResponse(description="The name is taken, or no association is chosen."),
            422: OpenApiResponse(description="Not possible: for example an unknown image set."),
        },
    )
    def post(self, request: Request, number: int) -> Response:
        found = _list(request, number)
        body = self.body(AssociationStudyBody)
        data = {**body, "image_set": None, "visual": None}
        for name, table in (("image_set", ImageSet), ("visual", Study)):
            if body.get(name):
                # an unknown name becomes 0, which the form refuses
                data[name] = table.objects.filter(name=body[name]).values_list("pk", flat=True).first() or 0
        form = StudyForm(data, run=found.run)
        if not form.is_valid():
            raise refused_form(form)
        with refusals(AssociationsRefused):
            study = form.create(found=found, by=request.user)
        return Response(MadeStudySerializer(study).data, status=201)


def _list_data(found: AssociationList) -> Any:
    done = found.state == JobState.DONE
    settings = queries.settings_of(found) if done else []
    data = {
        "list": found,
        "stale": lists.is_stale(found),
        "settings": [{"setting": setting.value, **facts} for setting, facts in settings],
    }
    return AssociationListSerializer(data).data


def _run(request: Request, number: int) -> Run:
    """A run with associations; Http404 for other runs, and for accounts that may not see them."""
    if not policies.may_make_images(request.user):
        raise Http404
    run = get_object_or_404(Run, pk=number)
    try:
        check_run(run)
    except AssociationsRefused as refused:
        raise Http404 from refused
    return run


def _list(request: Request, number: int) -> AssociationList:
    return get_object_or_404(AssociationList.objects.select_related("run"), run=_run(request, number))
