"""Merging and erasing people, for admins. Neither can be undone."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.api.accounts import REFUSED, AdminResource, operation, require_annotator
from annotation.accounts.queries import accounts
from annotation.accounts.services import erasure, merging
from annotation.api.errors import Refused, refusals
from annotation.api.resource import Body, Query
from annotation.models import Annotator, EnrolmentStatus


class StudyPlanSerializer(serializers.Serializer):
    """What merging does in one of the duplicate's studies."""

    study = serializers.SlugField(source="study.name")
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices, help_text="Their status afterwards.")
    answers = serializers.IntegerField(help_text="Answers that are transferred.")
    twice = serializers.IntegerField(
        help_text="Units that both answered. The second answer becomes a surplus."
    )
    held = serializers.IntegerField(help_text="Items in progress of both, which go back to the queue.")
    skips = serializers.IntegerField()


class MergeSerializer(serializers.Serializer):
    """What merging does, or did."""

    studies = StudyPlanSerializer(many=True)
    added = serializers.ListField(
        child=serializers.CharField(), help_text="Profile fields taken from the duplicate."
    )
    dropped = serializers.ListField(
        child=serializers.CharField(),
        help_text="Profile fields that both answered. The kept annotator's answers stay.",
    )
    account = serializers.ChoiceField(
        choices=["none", "taken over", "deleted", "switched off"],
        help_text="What happens to the duplicate's account.",
    )


_DUPLICATE = "Pseudonym of the annotator who is merged into this one."


class MergeQuery(Query):
    duplicate = serializers.CharField(max_length=80, help_text=_DUPLICATE)


class MergeBody(Body):
    """The annotator to merge into this person."""

    duplicate = serializers.CharField(max_length=80, help_text=_DUPLICATE)


class ErasedSerializer(serializers.Serializer):
    """What erasing deletes, or deleted."""

    studies = serializers.IntegerField(help_text="Studies that they are withdrawn from.")
    answers = serializers.IntegerField()
    slots_reopened = serializers.IntegerField(help_text="Slots that are open again.")
    skips = serializers.IntegerField()
    consents = serializers.IntegerField()
    profile_fields = serializers.IntegerField()
    account = serializers.BooleanField()
    led = serializers.IntegerField(help_text="Studies that lose a lead.")


_MERGE = {200: MergeSerializer, **REFUSED}
_ERASED = {200: ErasedSerializer, **REFUSED}


class Merge(AdminResource):
    """Merge two annotators who are one person."""

    @operation(operation_id="accounts_merge_preview", parameters=[MergeQuery], responses=_MERGE)
    def get(self, request: Request, who: str) -> Response:
        """What merging would do. Changes nothing."""
        kept = require_annotator(accounts.person(who))
        duplicate = _annotator_by_pseudonym(self.query(MergeQuery)["duplicate"])
        with refusals(merging.MergeRefused):
            plan = merging.preview(kept=kept, duplicate=duplicate)
        return Response(MergeSerializer(plan).data)

    @operation(operation_id="accounts_merge", request=MergeBody, responses=_MERGE)
    def post(self, request: Request, who: str) -> Response:
        """Merge the duplicate into this annotator, permanently. If both answered a unit, the first answer
        stays and the second becomes a surplus."""
        kept = require_annotator(accounts.person(who))
        duplicate = _annotator_by_pseudonym(self.body(MergeBody)["duplicate"])
        with refusals(merging.MergeRefused):
            plan = merging.merge(kept=kept, duplicate=duplicate, by=request.user)
        return Response(MergeSerializer(plan).data)


class Erasure(AdminResource):
    """Erase a person: their answers and everything that identifies them."""

    @operation(operation_id="accounts_erase_preview", responses=_ERASED)
    def get(self, request: Request, who: str) -> Response:
        """What erasing would delete. Changes nothing."""
        person = accounts.person(who)
        with refusals(erasure.ErasureRefused):
            preview = erasure.preview(annotator=person.annotator, user=person.user)
        return Response(ErasedSerializer(preview).data)

    @operation(operation_id="accounts_erase", request=None, responses=_ERASED)
    def post(self, request: Request, who: str) -> Response:
        """Erase the person permanently. An audit record with numbers but no name stays. Earlier exports,
        releases and backups are not changed."""
        person = accounts.person(who)
        with refusals(erasure.ErasureRefused):
            erased = erasure.erase(annotator=person.annotator, user=person.user, by=request.user)
        return Response(ErasedSerializer(erased).data)


def _annotator_by_pseudonym(pseudonym: str) -> Annotator:
    found = accounts.person_by_pseudonym(pseudonym)
    if found is None or found.annotator is None:
        raise Refused("duplicate: nobody has this pseudonym. Copy it from the list of accounts.")
    return found.annotator
