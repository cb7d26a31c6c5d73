"""Requests and responses of the annotation API."""

from django.conf import settings
from django.urls import resolve, reverse
from rest_framework import serializers

from annotation.annotate.limits import DAY_MS, MAX_BOXES, MAX_ID, MAX_ITEMS, MAX_OPTIONS
from annotation.api.resource import Body
from annotation.models import SkipReason, TaskKind


class NextBody(Body):
    """A request for the next items."""

    wanted = serializers.IntegerField(
        min_value=1, max_value=MAX_ITEMS, default=1, help_text="How many items the client wants to hold."
    )
    have = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=1000,
        default=list,
        help_text="Keys of items that the client has already; they are left out.",
    )


class ShownOptionSerializer(serializers.Serializer):
    """An option of an item, in the order in which this annotator sees it."""

    id = serializers.IntegerField()
    position = serializers.IntegerField(help_text="Position from 1. Show it there, and send it back.")
    text = serializers.CharField(help_text="The attribute; empty for none of the above.")
    none = serializers.BooleanField(help_text="Whether it is none of the above, which excludes the rest.")


class ImageUrlField(serializers.CharField):
    """Converts the page's URL of an image, for logged-in users, to the API's, for tokens."""

    def to_representation(self, value: str) -> str:
        return reverse("api:image_file", args=[resolve(value).kwargs["pk"]]) if value else ""


class ShownImageSerializer(serializers.Serializer):
    """The image to judge."""

    url = ImageUrlField(help_text="Path of the file; empty if the file is not stored here.")
    width = serializers.IntegerField(help_text="pixels")
    height = serializers.IntegerField(help_text="pixels")


class ItemSerializer(serializers.Serializer):
    """A unit, as an annotator sees it."""

    unit = serializers.IntegerField(help_text="Number of the unit.")
    client_key = serializers.UUIDField(help_text="The key to send its answer under.")
    kind = serializers.ChoiceField(choices=TaskKind.choices)
    training = serializers.BooleanField(help_text="Whether its answer gets feedback and counts in no score.")
    statement = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        help_text="The wording in parts: [kind, text]; kind is text, attribute or identity.",
    )
    language = serializers.CharField(help_text="The language of the statement.")
    attribute = serializers.CharField()
    identity = serializers.CharField()
    options = ShownOptionSerializer(many=True)
    image = ShownImageSerializer(allow_null=True)
    page = serializers.IntegerField(help_text="Page of an image's options, from 1.")
    pages = serializers.IntegerField(help_text="How many pages the image has.")


class NextItemsSerializer(serializers.Serializer):
    """The items assigned to an annotator."""

    held = serializers.ListField(child=serializers.UUIDField(), help_text="Keys of all their items.")
    items = ItemSerializer(many=True, help_text="The items that the client does not have, in order.")
    answered = serializers.IntegerField(help_text="How many items they have answered.")


class JudgementBody(Body):
    """The judgement of one option."""

    option = serializers.IntegerField(
        source="option_id", min_value=1, max_value=MAX_ID, help_text="Number of the option."
    )
    value = serializers.IntegerField(
        min_value=-1000, max_value=1000, help_text="On the scale of the task (docs/protocol.md)."
    )
    position = serializers.IntegerField(
        min_value=1, max_value=MAX_OPTIONS, help_text="Position at which it was shown, from 1."
    )
    justification = serializers.CharField(
        max_length=2000, default="", allow_blank=True, help_text="The annotator's reason."
    )
    whole_image = serializers.BooleanField(default=False, help_text="Visible in the image as a whole.")
    boxes = serializers.ListField(
        child=serializers.ListField(
            child=serializers.FloatField(min_value=-1e9, max_value=1e9), min_length=4, max_length=4
        ),
        max_length=MAX_BOXES,
        default=list,
        help_text="x0, y0, x1, y1 in pixels of the natural image.",
    )


class AnswerBody(Body):
    """An answer to one item, with a judgement of every option shown."""

    unit = serializers.IntegerField(
        source="unit_id", min_value=1, max_value=MAX_ID, help_text="Number of the unit."
    )
    client_key = serializers.UUIDField(help_text="The key that came with the item.")
    # Not `many=True`: the schema would not say that the list must not be empty.
    answers = serializers.ListField(child=JudgementBody(), min_length=1, max_length=MAX_OPTIONS)
    started_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="When the item was shown; null: when it was assigned."
    )
    active_ms = serializers.IntegerField(
        min_value=0, max_value=DAY_MS, default=None, allow_null=True, help_text="Active time in milliseconds."
    )
    idle_ms = serializers.IntegerField(
        min_value=0, max_value=DAY_MS, default=None, allow_null=True, help_text="Idle time in milliseconds."
    )
    language = serializers.CharField(
        max_length=10,
        default=settings.LANGUAGE_CODE,
        allow_blank=True,
        help_text="The language in which the statement was shown.",
    )


class SkipBody(Body):
    """Skipping an item."""

    unit = serializers.IntegerField(
        source="unit_id", min_value=1, max_value=MAX_ID, help_text="Number of the unit."
    )
    client_key = serializers.UUIDField(help_text="The key that came with the item.")
    reason = serializers.ChoiceField(choices=SkipReason.choices)
    note = serializers.CharField(max_length=2000, default="", allow_blank=True)


class AnswerResultSerializer(serializers.Serializer):
    """The result of sending an answer."""

    outcome = serializers.ChoiceField(
        source="public_outcome",
        choices=["kept", "surplus", "repeat"],
        help_text="surplus: stored, but the item had enough answers; repeat: it was stored already.",
    )
    correct = serializers.BooleanField(allow_null=True, help_text="For training items only.")
    feedback = serializers.CharField(help_text="For training items only.")


class LastJudgementSerializer(serializers.Serializer):
    """The judgement of one option in an earlier answer."""

    option = serializers.IntegerField()
    value = serializers.IntegerField()
    position = serializers.IntegerField(help_text="Position at which it was shown.")
    justification = serializers.CharField()
    whole_image = serializers.BooleanField()
    boxes = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))


class LastAnswerSerializer(serializers.Serializer):
    """An earlier answer. `item.client_key` is the key for a correction."""

    item = ItemSerializer()
    submitted_at = serializers.DateTimeField(allow_null=True)
    answers = LastJudgementSerializer(many=True)


class LastAnswersSerializer(serializers.Serializer):
    """The annotator's last answers, newest first."""

    answers = LastAnswerSerializer(many=True)
