"""The API of votes that become a source of the catalogue."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import refusals
from annotation.api.resource import Body, Resource
from metrics.core.studies import get_study_or_404
from metrics.votes import services
from metrics.votes.services import LONGEST_NAME, VotesRefused


class VotesSourceBody(Body):
    name = serializers.SlugField(
        required=False, default="", max_length=LONGEST_NAME, help_text="Of the source; default: STUDY-votes."
    )


class VotesSourceSerializer(serializers.Serializer[Any]):
    source = serializers.SlugField(source="name")
    title = serializers.CharField()


class VotesSource(Resource):
    """The votes of a closed study as a source of associations."""

    @extend_schema(
        operation_id="votes_source_create",
        description="Save the in-region and out-region votes of a closed study as a source.",
        request=VotesSourceBody,
        responses={
            201: VotesSourceSerializer,
            409: OpenApiResponse(description="The study is not closed, has no votes, or the name is taken."),
        },
        tags=["catalogue"],
    )
    def post(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        if not policies.may_create_studies(request.user):
            raise Http404
        with refusals(VotesRefused):
            chosen = self.body(VotesSourceBody)["name"]
            source = services.save_votes(study=study, name=chosen, by=request.user)
        return Response(VotesSourceSerializer(source).data, status=201)
