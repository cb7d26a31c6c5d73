"""Request bodies for planning runs, one per kind."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.resource import Body
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.recipes.askings import MOST_TIMES, MOST_TOKENS
from generation.recipes.checks import DTYPES, LONGEST_TEXT
from generation.recipes.limits import MOST_IN_FLIGHT
from generation.recipes.recipes import OFFLOADS, QUANTISATIONS
from generation.recipes.series import MOST_STRENGTHS, series_text

LARGEST_SEED = 2**63 - 1


def _text(most: int, help_text: str = "", **options: Any) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, max_length=most, help_text=help_text or None, **options
    )


def _number(least: int, most: int, help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=least, max_value=most, help_text=help_text)


class RunBody(Body):
    """Missing fields have the defaults of the page's form."""

    backend = serializers.CharField(required=False, max_length=40, help_text="Name of the backend.")
    dtype = serializers.ChoiceField(
        DTYPES,
        required=False,
        help_text="Default: auto, which is half precision on a GPU, float32 on a CPU.",
    )
    repeatable = serializers.BooleanField(
        required=False,
        help_text="On a GPU: slower settings, with which the same GPU and versions give the same bytes "
        "again. Default: false.",
    )
    model = _text(200, "A hub id, or a folder on the workers.")


class ImagesRunBody(RunBody):
    """Images of identity groups."""

    kind = serializers.ChoiceField(["images"])
    study = serializers.SlugField(
        required=False,
        max_length=80,
        help_text="A study that the account leads, for its groups and stereotypes.",
    )
    groups = serializers.ListField(
        child=serializers.CharField(max_length=120),
        required=False,
        max_length=2000,
        help_text="Names of identity groups. Default: all groups of the study.",
    )
    prompts = serializers.ChoiceField(list(PROMPT_CHOICES), required=False, help_text="Default: detection.")
    images_per_prompt = _number(1, 1000, "Default: 5 for detection, 1 for from_images, 15 for the others.")
    initial = _text(
        80, "Of the prompts from_images: the image set whose images are the beginnings. Needs `strengths`."
    )
    prompt = _text(500, "Of the prompts from_images. {group} stands for the identity with its article.")
    strengths = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=1),
        required=False,
        max_length=MOST_STRENGTHS,
        help_text="Of the prompts from_images: above 0 and at most 1, rising. One image at each.",
    )
    image_set = _text(80, "Default: the study's set, else a name from the model and the prompts.")
    seed = _number(0, LARGEST_SEED, "Default: 0.")
    server = _text(80, "Of the backend openai: a name in MODEL_SERVERS. Default: openai.")
    revision = _text(80)
    scheduler = _text(80, "A diffusers class. Empty: the model's own.")
    steps = serializers.IntegerField(required=False, min_value=1, max_value=1000, allow_null=True)
    guidance = serializers.FloatField(required=False, min_value=0, max_value=100, allow_null=True)
    width = _number(8, 4096, "pixels, a multiple of 8")
    height = _number(8, 4096, "pixels, a multiple of 8")
    compiled = serializers.BooleanField(required=False)
    safety = serializers.ChoiceField(["record", "block", "off"], required=False)
    negative_prompt = _text(500)
    variant = _text(40, "Of the weights' files, for example fp16.")
    lora = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=10,
        help_text="SOURCE[:FILE][@SCALE] each; SOURCE: a hub id, or a folder or file on the workers.",
    )
    quantisation = serializers.ChoiceField(["", *QUANTISATIONS], required=False)
    offload = serializers.ChoiceField(
        ["", *OFFLOADS], required=False, help_text="What waits in the machine's memory, not on the GPU."
    )


class CaptionsRunBody(RunBody):
    """Captions of the images of a set."""

    kind = serializers.ChoiceField(["captions"])
    image_set = serializers.SlugField(max_length=80)
    count = _number(1, 1000, "Captions per image. Default: 50.")
    seed = _number(0, LARGEST_SEED, "Default: 0.")
    revision = _text(80)
    options = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        required=False,
        help_text="Options of the backend.",
    )


class EmbeddingsRunBody(RunBody):
    """Embeddings of the images of a set, and of texts."""

    kind = serializers.ChoiceField(["embeddings"])
    image_set = serializers.SlugField(max_length=80)
    texts = serializers.ListField(
        child=serializers.RegexField(r"^[^\r\n]+\Z", max_length=LONGEST_TEXT),
        required=False,
        max_length=100_000,
        help_text="Embedded beside the images; each of one line.",
    )
    pretrained = _text(
        200,
        "open_clip: tag of the weights, or a file on the workers. transformers: a branch, tag or commit on "
        "the hub.",
    )


_PROMPTS_HELP = (
    "Each a text, or an object with `prompt` and perhaps `key`, its name in the run, unique there; "
)


class _Prompt(serializers.JSONField):
    """A text or an object; plans/askings.py checks what is in it."""


class AskingRunBody(RunBody):
    """What all runs share that ask models."""

    name = _text(80, "Default: made of the kind and the model.")
    revision = _text(80)
    options = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        required=False,
        help_text="Options of the backend.",
    )


class TextRunBody(AskingRunBody):
    """Settings of models that write text, and the limits of the run."""

    prompts = serializers.ListField(
        child=_Prompt(), max_length=100_000, help_text=_PROMPTS_HELP + "by default the prompt."
    )
    times = _number(1, MOST_TIMES, "Answers to each prompt. Default: 1.")
    seed = _number(0, LARGEST_SEED, "Default: 0.")
    server = _text(80, "A name in MODEL_SERVERS. Default: openai.")
    chat = serializers.BooleanField(
        required=False, help_text="A prompt is a message; else the model continues its text. Default: true."
    )
    system = _text(20_000, "A system message.")
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    top_p = serializers.FloatField(required=False, min_value=0, max_value=1)
    max_tokens = _number(1, MOST_TOKENS, "Of an answer. Default: 100.")
    stop = serializers.ListField(child=serializers.CharField(max_length=80), required=False, max_length=4)
    in_flight = _number(1, MOST_IN_FLIGHT, "Askings at once. Default: the backend's own number.")
    token_limit = _number(1, LARGEST_SEED, "The run pauses before it takes more tokens.")
    cost_limit = serializers.FloatField(required=False, min_value=0, help_text="Needs both prices.")
    price_in = serializers.FloatField(
        required=False, min_value=0, help_text="Price of a million tokens in prompts."
    )
    price_out = serializers.FloatField(
        required=False, min_value=0, help_text="Price of a million tokens in answers."
    )


class CompletionsRunBody(TextRunBody):
    """Prompts to a language model."""

    kind = serializers.ChoiceField(["completions"])


class DescriptionsRunBody(TextRunBody):
    """Prompts about the images of a set, to a vision-language model."""

    kind = serializers.ChoiceField(["descriptions"])
    image_set = serializers.SlugField(max_length=80)


class ClassificationsRunBody(AskingRunBody):
    """Texts, or pairs of texts, to a classifier."""

    kind = serializers.ChoiceField(["classifications"])
    prompts = serializers.ListField(
        child=_Prompt(),
        max_length=100_000,
        help_text=_PROMPTS_HELP + "`text_pair` is the second text of a pair.",
    )
    labels = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        max_length=1000,
        help_text="In the model's order, if its configuration does not name them.",
    )


BODIES: dict[str, type[RunBody]] = {
    "images": ImagesRunBody,
    "captions": CaptionsRunBody,
    "embeddings": EmbeddingsRunBody,
    "completions": CompletionsRunBody,
    "descriptions": DescriptionsRunBody,
    "classifications": ClassificationsRunBody,
}


def _limit(field: type[serializers.Field], help_text: str, **options: Any) -> serializers.Field:
    return field(required=False, allow_null=True, help_text=help_text, **options)


class LimitsBody(Body):
    """Limits of a run; each may be missing or null."""

    tokens = _limit(serializers.IntegerField, "Of prompts and answers together.", min_value=1)
    cost = _limit(serializers.FloatField, "In the currency of the prices; needs both prices.", min_value=0)
    price_in = _limit(serializers.FloatField, "Price of a million tokens in prompts.", min_value=0)
    price_out = _limit(serializers.FloatField, "Price of a million tokens in answers.", min_value=0)
    in_flight = _limit(
        serializers.IntegerField,
        "Askings at once, by each worker.",
        min_value=1,
        max_value=MOST_IN_FLIGHT,
    )


def as_form_data(body: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A request body as data for the page's form, with the form's defaults for missing fields."""
    merged = {**defaults, **{name: value for name, value in body.items() if name != "kind"}}
    if isinstance(merged.get("prompts"), list):
        merged["prompts"] = "\n".join(
            json.dumps(each if isinstance(each, Mapping) else {"prompt": each}) for each in merged["prompts"]
        )
    for name in ("groups", "lora", "stop", "labels", "texts"):
        if isinstance(merged.get(name), list):
            merged[name] = "\n".join(merged[name])
    if isinstance(merged.get("options"), Mapping):
        merged["options"] = "\n".join(
            f"{key}={json.dumps(value)}" for key, value in merged["options"].items()
        )
    if isinstance(merged.get("strengths"), list):
        merged["strengths"] = series_text(merged["strengths"])
    return {name: value for name, value in merged.items() if value is not None}
