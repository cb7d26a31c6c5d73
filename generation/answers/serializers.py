"""The API's representation of answers."""

from typing import Any

from rest_framework import serializers

_MANY = "the beginning of a long one"


class AnswerSerializer(serializers.Serializer[Any]):
    """An asking and its answer. Long texts are cut, and `characters` says how long the answer is; the
    answer's own address has all of it."""

    job = serializers.IntegerField(help_text="The number of the asking.")
    key = serializers.CharField(help_text="What it is for, within its run.")
    number = serializers.IntegerField(help_text="Of the sample, from 1.")
    prompt = serializers.CharField(source="prompt.start", help_text=f"What was asked; {_MANY}.")
    text_pair = serializers.CharField(
        source="text_pair.start", allow_blank=True, help_text="The second of two texts to classify."
    )
    image = serializers.IntegerField(
        source="picture.pk", default=None, allow_null=True, help_text="The image it is about, by number."
    )
    group = serializers.CharField(allow_null=True)
    attribute = serializers.CharField(allow_null=True)
    seed = serializers.IntegerField(allow_null=True)
    text = serializers.CharField(
        source="text.start",
        allow_blank=True,
        help_text=f"What was answered; {_MANY}. Of a classification: the likeliest label.",
    )
    characters = serializers.IntegerField(source="text.length", help_text="Of the whole answer.")
    ended = serializers.CharField(
        allow_blank=True, help_text="Why it ended: stop, length, filter ...; empty: not known."
    )
    tokens_in = serializers.IntegerField(allow_null=True)
    tokens_out = serializers.IntegerField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    probabilities = serializers.DictField(
        child=serializers.FloatField(), allow_null=True, help_text="Label: probability."
    )
    finished_at = serializers.DateTimeField(allow_null=True)


class OneAnswerSerializer(serializers.Serializer[Any]):
    """An answer, whole, with the run's recipe: everything that was sent."""

    asking = AnswerSerializer(source="row")
    extra = serializers.DictField(
        source="found.extra",
        help_text="Further fields of an answer made elsewhere; `reason`: what a server says of its filter.",
    )
    worker = serializers.CharField(source="found.worker", allow_blank=True)
    attempts = serializers.IntegerField(source="found.attempts")
    run = serializers.IntegerField(source="run.pk")
    recipe = serializers.DictField(source="run.recipe")
