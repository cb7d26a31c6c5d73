"""People who came twice made one, and people who are erased. For admins; neither can be undone."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.api.accounts import REFUSED, SCOPES, TAGS, require_annotator, get_person
from annotation.accounts.queries import accounts
from annotation.accounts.services import erasure, merging
from annotation.api.errors import Refused, refusals
from annotation.api.resource import Body, Query, Resource
from annotation.models import Annotator, EnrolmentStatus


class StudyPlanSerializer(serializers.Serializer):
    """What merging does in a study where the duplicate is."""

    study = serializers.SlugField(source="study.name")
    status = serializers.ChoiceField(
        choices=EnrolmentStatus.choices, help_text="How they stand in it afterwards."
    )
    answers = serializers.IntegerField(help_text="Answers that change hands.")
    twice = serializers.IntegerField(
        help_text="Units that both answered: the second answer becomes a surplus."
    )
    held = serializers.IntegerField(help_text="Items in hand of the two, which go back to the queue.")
    skips = serializers.IntegerField()


class MergeSerializer(serializers.Serializer):
    """What merging does, or did."""

    studies = StudyPlanSerializer(many=True)
    added = serializers.ListField(
        child=serializers.CharField(), help_text="Fields of the profile taken from the duplicate."
    )
    dropped = serializers.ListField(
        child=serializers.CharField(), help_text="Fields that both filled in: the kept one's stay."
    )
    account = serializers.ChoiceField(
        choices=["none", "taken over", "deleted", "switched off"],
        help_text="What becomes of the duplicate's account.",
    )


_DUPLICATE = "Pseudonym of the annotator who becomes part of this one."


class MergeQuery(Query):
    duplicate = serializers.CharField(max_length=80, help_text=_DUPLICATE)


class MergeBody(Body):
    """Whom to make one with this person."""

    duplicate = serializers.CharField(max_length=80, help_text=_DUPLICATE)


class ErasedSerializer(serializers.Serializer):
    """What erasing deletes, or deleted."""

    studies = serializers.IntegerField(help_text="Studies that they are withdrawn from.")
    answers = serializers.IntegerField()
    slots_reopened = serializers.IntegerField(help_text="Places in studies that open again.")
    skips = serializers.IntegerField()
    consents = serializers.IntegerField()
    profile_fields = serializers.IntegerField()
    account = serializers.BooleanField()
    led = serializers.IntegerField(help_text="Studies that lose a lead.")


class Merge(Resource):
    """Somebody who came twice made one annotator again."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_merge_preview",
        parameters=[MergeQuery],
        responses={200: MergeSerializer, **REFUSED},
        tags=TAGS,
    )
    def get(self, request: Request, who: str) -> Response:
        """What merging would do; nothing is changed."""
        kept = require_annotator(get_person(request, who))
        duplicate = _called(self.query(MergeQuery)["duplicate"])
        with refusals(merging.MergeRefused):
            plan = merging.preview(kept=kept, duplicate=duplicate)
        return Response(MergeSerializer(plan).data)

    @extend_schema(
        operation_id="accounts_merge",
        request=MergeBody,
        responses={200: MergeSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        """Make the duplicate part of this annotator, for good. Of two answers to one unit the first stands,
        the second becomes a surplus."""
        kept = require_annotator(get_person(request, who))
        duplicate = _called(self.body(MergeBody)["duplicate"])
        with refusals(merging.MergeRefused):
            plan = merging.merge(kept=kept, duplicate=duplicate, by=request.user)
        return Response(MergeSerializer(plan).data)


class Erasure(Resource):
    """Erasing a person: all that they said, and all that says who they are."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_erase_preview", responses={200: ErasedSerializer, **REFUSED}, tags=TAGS
    )
    def get(self, request: Request, who: str) -> Response:
        """What erasing would delete; nothing is changed."""
        person = get_person(request, who)
        with refusals(erasure.ErasureRefused):
            would = erasure.preview(annotator=person.annotator, user=person.user)
        return Response(ErasedSerializer(would).data)

    @extend_schema(
        operation_id="accounts_erase",
        request=None,
        responses={200: ErasedSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        """Erase them for good. A record with numbers and no name stays, and what exports, releases and
        backups made before hold."""
        person = get_person(request, who)
        with refusals(erasure.ErasureRefused):
            done = erasure.erase(annotator=person.annotator, user=person.user, by=request.user)
        return Response(ErasedSerializer(done).data)


def _called(pseudonym: str) -> Annotator:
    found = accounts.person_by_pseudonym(pseudonym)
    if found is None or found.annotator is None:
        raise Refused("duplicate: nobody has that pseudonym. Copy it from the list of accounts.")
    return found.annotator
