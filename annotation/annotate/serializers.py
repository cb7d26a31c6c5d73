"""What front ends of one's own send and are sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import resolve, reverse
from rest_framework import serializers

from annotation.annotate.services.responses import Answer
from annotation.api.resource import Body
from annotation.models import SkipReason, TaskKind

LARGEST = 2**63 - 1
MOST_AT_HAND = 12
MOST_OPTIONS = 200
_DAY_MS = 24 * 60 * 60 * 1000


class NextBody(Body):
    """How much is wanted."""

    wanted = serializers.IntegerField(
        min_value=1, max_value=MOST_AT_HAND, default=1, help_text="Items to have at hand."
    )
    have = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=1000,
        default=list,
        help_text="Keys of items that the client has already: they are not described again.",
    )


class ShownOptionSerializer(serializers.Serializer):
    """What can be judged on an item, in the order in which this annotator is to see it."""

    id = serializers.IntegerField()
    position = serializers.IntegerField(help_text="Its place, from 1. Show it there, and send it back.")
    text = serializers.CharField(help_text="The attribute; empty for none of the above.")
    none = serializers.BooleanField(help_text="It is none of the above, which excludes the rest.")


class FileAddress(serializers.CharField):
    """Where a token opens the file that a page shows to who is logged in."""

    def to_representation(self, value: str) -> str:
        return reverse("api:image_file", args=[resolve(value).kwargs["pk"]]) if value else ""


class ShownImageSerializer(serializers.Serializer):
    """The image to judge."""

    url = FileAddress(help_text="Path of the file; empty if it is not kept here.")
    width = serializers.IntegerField(help_text="pixels")
    height = serializers.IntegerField(help_text="pixels")


class ItemSerializer(serializers.Serializer):
    """What an annotator sees at once."""

    unit = serializers.IntegerField(help_text="Number of the unit.")
    client_key = serializers.UUIDField(help_text="The key under which its answer is sent.")
    kind = serializers.ChoiceField(choices=TaskKind.choices)
    training = serializers.BooleanField(help_text="Its answer gets feedback, and counts in no score.")
    statement = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        help_text="The wording in parts: [kind, words], of kinds text, attribute and identity.",
    )
    language = serializers.CharField(help_text="In which the statement is written.")
    attribute = serializers.CharField()
    identity = serializers.CharField()
    options = ShownOptionSerializer(many=True)
    image = ShownImageSerializer(allow_null=True)
    page = serializers.IntegerField(help_text="Page of options of an image, from 1.")
    pages = serializers.IntegerField(help_text="How many pages the image has.")


class WorkSerializer(serializers.Serializer):
    """What is in an annotator's hands."""

    held = serializers.ListField(child=serializers.UUIDField(), help_text="Keys of everything they hold.")
    items = ItemSerializer(many=True, help_text="Those of it that the client does not have, in order.")
    answered = serializers.IntegerField(help_text="How many items they have answered.")


class JudgementBody(Body):
    """What is said of one option."""

    option = serializers.IntegerField(min_value=1, max_value=LARGEST, help_text="Number of the option.")
    value = serializers.IntegerField(
        min_value=-1000, max_value=1000, help_text="On the scale of the task (docs/protocol.md)."
    )
    position = serializers.IntegerField(
        min_value=1, max_value=MOST_OPTIONS, help_text="Where it was shown, from 1."
    )
    justification = serializers.CharField(
        max_length=2000, default="", allow_blank=True, help_text="Why, in the annotator's words."
    )
    whole_image = serializers.BooleanField(default=False, help_text="Visible in the image as a whole.")
    boxes = serializers.ListField(
        child=serializers.ListField(
            child=serializers.FloatField(min_value=-1e9, max_value=1e9), min_length=4, max_length=4
        ),
        max_length=MOST_OPTIONS,
        default=list,
        help_text="x0, y0, x1, y1 in pixels of the natural image.",
    )


class AnswerBody(Body):
    """An answer to one item: something of every option shown."""

    unit = serializers.IntegerField(min_value=1, max_value=LARGEST, help_text="Number of the unit.")
    client_key = serializers.UUIDField(help_text="The key that came with the item.")
    # a list, and not `many`, of which the schema would not say that it may not be empty
    answers = serializers.ListField(child=JudgementBody(), min_length=1, max_length=MOST_OPTIONS)
    started_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="When the item was shown; null: when it was given out."
    )
    active_ms = serializers.IntegerField(
        min_value=0, max_value=_DAY_MS, default=None, allow_null=True, help_text="Milliseconds of activity."
    )
    idle_ms = serializers.IntegerField(
        min_value=0, max_value=_DAY_MS, default=None, allow_null=True, help_text="Milliseconds without."
    )
    language = serializers.CharField(
        max_length=10,
        default=settings.LANGUAGE_CODE,
        allow_blank=True,
        help_text="In which the statement was shown.",
    )


class SkipBody(Body):
    """Passing over an item."""

    unit = serializers.IntegerField(min_value=1, max_value=LARGEST, help_text="Number of the unit.")
    client_key = serializers.UUIDField(help_text="The key that came with the item.")
    reason = serializers.ChoiceField(choices=SkipReason.choices)
    note = serializers.CharField(max_length=2000, default="", allow_blank=True)


class TakenSerializer(serializers.Serializer):
    """What became of an answer."""

    outcome = serializers.ChoiceField(
        choices=["kept", "surplus", "repeat"],
        help_text="surplus: kept, but all wanted answers were there; repeat: it was here already.",
    )
    correct = serializers.BooleanField(allow_null=True, help_text="Of training items only.")
    feedback = serializers.CharField(help_text="Of training items only.")


class SaidSerializer(serializers.Serializer):
    """What was said of one option."""

    option = serializers.IntegerField()
    value = serializers.IntegerField()
    position = serializers.IntegerField(help_text="Where it was shown when it was answered.")
    justification = serializers.CharField()
    whole_image = serializers.BooleanField()
    boxes = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))


class LastAnswerSerializer(serializers.Serializer):
    """An answer of one's own. `item.client_key` is the key of a correction."""

    item = ItemSerializer()
    submitted_at = serializers.DateTimeField(allow_null=True)
    answers = SaidSerializer(many=True)


class LastAnswersSerializer(serializers.Serializer):
    """One's own last answers, the newest first."""

    answers = LastAnswerSerializer(many=True)


def as_answer(said: Mapping[str, Any]) -> Answer:
    """What was sent of one option, as the services take it."""
    return Answer(
        option_id=said["option"],
        value=said["value"],
        position=said["position"],
        justification=said["justification"],
        whole_image=said["whole_image"],
        boxes=[(one[0], one[1], one[2], one[3]) for one in said["boxes"]],
    )
