"""Sources from one's own pairs, for programs."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Refused, refusals
from annotation.api.resource import Body
from annotation.catalogue.serializers import SourceSerializer
from annotation.catalogue.services import SourceDetails, SourceForbidden, SourceRefused
from annotation.imports.api.access import EditorResource
from annotation.imports.readers import pairs
from annotation.imports.services.pairs import add_source, check_pairs
from annotation.models import Axis

MOST_ERRORS = 200


def _votes_field(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=pairs.MOST_VOTES),
        min_length=3,
        max_length=3,
        required=False,
        allow_null=True,
        help_text=f"{help_text}: Stereotypical, Non-stereotypical, Unsure; null: nobody was asked.",
    )


class PairBody(Body):
    """One pair, with votes and ratings if there are any."""

    identity = serializers.CharField(
        max_length=pairs.LONGEST_NAME, help_text="Name of an identity group, in any case."
    )
    attribute = serializers.CharField(max_length=pairs.LONGEST_ATTRIBUTE, help_text="Stored in lower case.")
    in_votes = _votes_field("Of in-region annotators")
    out_votes = _votes_field("Of out-region annotators")
    offensiveness = serializers.ListField(
        child=serializers.FloatField(min_value=pairs.LOWEST, max_value=pairs.HIGHEST),
        max_length=pairs.MOST_RATINGS,
        required=False,
        help_text="All ratings, -1 to 4; their mean is computed.",
    )


class NewGroupBody(Body):
    """An identity group to create."""

    name = serializers.CharField(max_length=pairs.LONGEST_NAME)
    demonym = serializers.CharField(max_length=120, help_text="Completes 'a ... person'.")


class PairsBody(Body):
    """A new source of one's own pairs."""

    title = serializers.CharField(max_length=200)
    licence = serializers.CharField(required=False, allow_blank=True, default="", max_length=80)
    origin = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="Where it comes from: a URL or a text.",
    )
    citation = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)
    axis = serializers.ChoiceField(
        choices=Axis.choices, default=Axis.NATIONALITY.value, help_text="The axis of the identities."
    )
    pairs = serializers.ListField(child=PairBody(), min_length=1)
    create_groups = serializers.BooleanField(
        default=False, help_text="true: create unknown identities; false: refuse them."
    )
    new_groups = NewGroupBody(
        many=True,
        required=False,
        help_text="Demonyms of unknown identities; without one, a new group is called by its name.",
    )
    check_only = serializers.BooleanField(default=False, help_text="true: store nothing, only check.")


class LineErrorSerializer(serializers.Serializer):
    """What is wrong with one pair."""

    row = serializers.IntegerField(help_text="Its number in the list, from 1.")
    column = serializers.CharField(help_text="The field; empty if the whole pair is meant.")
    problem = serializers.CharField()
    cure = serializers.CharField()


class UnknownIdentitySerializer(serializers.Serializer):
    """An identity that no group on the axis is called."""

    name = serializers.CharField()
    row = serializers.IntegerField(help_text="The first pair with it.")
    nearest = serializers.CharField(help_text="The known name most like it; may be empty.")
    demonym = serializers.CharField(help_text="That it would be created with.")


class CheckedSerializer(serializers.Serializer):
    """What storing the pairs does, or what is wrong with them."""

    stored = serializers.BooleanField()
    associations = serializers.IntegerField()
    groups = serializers.IntegerField()
    attributes = serializers.IntegerField()
    new_attributes = serializers.IntegerField()
    repeated = serializers.IntegerField(help_text="Pairs that say the same as an earlier one.")
    wrong = serializers.IntegerField(help_text="How many pairs are wrong.")
    errors = LineErrorSerializer(many=True, help_text=f"The first {MOST_ERRORS} of them.")
    unknown = UnknownIdentitySerializer(many=True)
    source = SourceSerializer(allow_null=True)


class SourcePairs(EditorResource):
    """One's own pairs as a source."""

    @extend_schema(
        operation_id="sources_create",
        request=PairsBody,
        responses={
            200: CheckedSerializer,
            201: CheckedSerializer,
            409: OpenApiResponse(description="The name is taken or cannot be used."),
            422: OpenApiResponse(
                description="Pairs are wrong; nothing was stored. With check_only they are all listed."
            ),
        },
        tags=["catalogue"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Create the source `name` from pairs: all of them, or none if one is wrong. For more than the
        largest body: manage.py import_pairs."""
        body = self.body(PairsBody)
        axis = Axis(body["axis"])
        checked = check_pairs(
            pairs.read_given(body["pairs"]),
            axis=axis,
            create_groups=body["create_groups"],
            demonyms={group["name"]: group["demonym"] for group in body.get("new_groups", ())},
        )
        source = None
        if not body["check_only"]:
            if checked.errors:
                raise Refused(_wrong_pairs(checked.errors))
            details = SourceDetails(body["title"], body["licence"], body["origin"], body["citation"])
            with refusals(SourceRefused, forbidden=SourceForbidden):
                source = add_source(name=name, details=details, axis=axis, checked=checked, by=request.user)
        told = {
            "stored": source is not None,
            "associations": len(checked.pairs),
            "groups": checked.groups,
            "attributes": checked.attributes,
            "new_attributes": checked.new_attributes,
            "repeated": checked.repeated,
            "wrong": len(checked.errors),
            "errors": checked.errors[:MOST_ERRORS],
            "unknown": checked.unknown,
            "source": source,
        }
        return Response(CheckedSerializer(told).data, status=201 if source else 200)


def _wrong_pairs(errors: tuple[pairs.LineError, ...]) -> str:
    shown = " ".join(f"Pair {error.row}: {error.problem} {error.cure}" for error in errors[:10])
    more = f" And {len(errors) - 10} more: send check_only to see them." if len(errors) > 10 else ""
    return f"{len(errors)} pairs are wrong; nothing was stored. {shown}{more}"
