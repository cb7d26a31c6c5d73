"""Forms of runs that make, caption or embed images."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import Study
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.from_images import plan_images_from
from generation.plans.plan import Plan
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.plans.queries.identity_groups import groups_by_name, groups_of
from generation.plans.texts import read_texts
from generation.recipes.recipes import (
    FAKE,
    HUB_ENCODERS,
    OFFLOADS,
    QUANTISATIONS,
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
    Recipe,
)
from generation.recipes.series import parse_series
from generation.runs.planning_forms.base import (
    OptionsForm,
    RunForm,
    dtype_field,
    image_set_choices,
    lines_field,
    number_field,
    option_field,
    repeatable_field,
    set_choices,
    text_field,
)

_SAFETY = [
    ("record", _("run the safety checker and record its verdict")),
    ("block", _("also make flagged images black")),
    ("off", _("do not run the safety checker")),
]


class ImagesForm(RunForm):
    RECIPE = ImageRecipe
    title = _("Generate images")
    MAIN_FIELDS: tuple[str, ...] = (
        *("study", "groups", "prompts", "initial", "prompt", "strengths"),
        *("images_per_prompt", "image_set", "seed"),
    )
    DEFAULTS: Mapping[str, Any] = {
        "prompts": "detection",
        "images_per_prompt": None,
        "seed": None,
        "lora": "",
        "strengths": "",
    }

    study = forms.ChoiceField(label=_("Study"), required=False)
    groups = lines_field(
        _("Identity groups"),
        50_000,
        _("One per line. Empty: all groups of the study, or of the initial images."),
    )
    prompts = forms.ChoiceField(
        label=_("Prompts"), choices=[(key, one[0]) for key, one in PROMPT_CHOICES.items()]
    )
    initial = forms.ChoiceField(  # type: ignore[assignment]  # the field of this name
        label=_("Initial images"), required=False, help_text=_("Only for the prompts “From images”.")
    )
    prompt = text_field(
        _("Your prompt"),
        500,
        _("Only for “From images”, for example: an American person. {group} is replaced: an Indian."),
    )
    strengths = text_field(
        _("Strengths"),
        1000,
        _("Only for “From images”: above 0, at most 1, for example 0.2, 0.4, 0.6, 0.8. One image at each."),
    )
    images_per_prompt = number_field(
        _("Images per prompt"),
        1,
        1000,
        _("Empty: 5 for detection, 15 for pull, as in ViSAGe. From images: of each initial image; empty: 1."),
    )
    image_set = text_field(
        _("Image set"),
        80,
        _("Short name. Empty: the study’s set, else a name from the model and the prompts."),
    )
    seed = number_field(_("Seed"), 0, None, _("Empty: 0."))
    model = text_field(_("Model"), 200, _("A hub id, or a folder on the workers."))
    server = text_field(_("Server"), 80, _("Of the backend openai: a name in MODEL_SERVERS. Empty: openai."))
    revision = text_field(_("Revision"), 80, _("A branch, tag or commit on the hub."))
    scheduler = text_field(_("Scheduler"), 80, _("A diffusers class. Empty: the model’s own."))
    steps = number_field(_("Steps"), 1, 1000, _("Empty: the model’s own."))
    guidance = forms.FloatField(
        label=_("Guidance"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Empty: the model’s own."),
    )
    width = forms.IntegerField(label=_("Width, pixels"), min_value=8, max_value=4096)
    height = forms.IntegerField(label=_("Height, pixels"), min_value=8, max_value=4096)
    dtype = dtype_field()
    repeatable = repeatable_field()
    compiled = forms.BooleanField(
        label=_("Compile the model first"),
        required=False,
        help_text=_("Takes minutes, then is faster on a GPU; the last bits of an image differ."),
    )
    safety = forms.ChoiceField(label=_("Safety checker"), choices=_SAFETY)
    negative_prompt = text_field(_("Negative prompt"), 500)
    variant = text_field(_("Variant of the weights"), 40, _("For example fp16, if the model has such files."))
    lora = lines_field(
        _("LoRAs"), 3000, _("One per line: a hub id, folder or file on the workers; then :FILE and @SCALE.")
    )
    quantisation = option_field(
        _("Quantised weights"), QUANTISATIONS, _("Less memory; images differ a little.")
    )
    offload = option_field(
        _("Offloading"), OFFLOADS, _("Parts, or all layers but one, wait off the GPU. Slower.")
    )

    def add_fields(self) -> None:
        led = policies.studies_led_by(self.user).order_by("title")
        self._studies = {each.name: each for each in led.select_related("stereotype_source")}
        set_choices(
            self,
            "study",
            [("", gettext("– none –")), *((name, each.title) for name, each in self._studies.items())],
        )
        self._sets, choices = image_set_choices()
        set_choices(self, "initial", [("", gettext("– none –")), *choices[1:]])

    def clean_lora(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.cleaned_data["lora"].splitlines() if line.strip())

    def clean_strengths(self) -> tuple[float, ...]:
        try:
            return parse_series(self.cleaned_data["strengths"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        self._check_from_images()
        _, data["prompt_sets"], per_prompt = PROMPT_CHOICES[data.get("prompts", "detection")]
        data["images_per_prompt"] = data.get("images_per_prompt") or per_prompt
        # The fake backend uses no model, whatever the field contains.
        data["model"] = FAKE if data.get("backend") == FAKE else data.get("model")
        return data

    def _check_from_images(self) -> None:
        """What images from images need, and other images do not have."""
        data = self.cleaned_data
        wanted = data.get("prompts") == "from_images"
        needed = {
            "initial": _("Choose the set of the initial images."),
            "prompt": _("Write what the images are to show."),
            "strengths": _("Give at least one, for example 0.2, 0.4, 0.6, 0.8."),
        }
        for name, cure in needed.items():
            if wanted and name in data and not data[name]:
                self.add_error(name, cure)
            elif not wanted and data.get(name):
                self.add_error(name, _("Leave it empty, or choose the prompts “From images”."))
        if wanted and data.get("study"):
            self.add_error("study", _("Images from images belong to no study. Leave it empty."))

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, ImageRecipe)
        data = self.cleaned_data
        study: Study | None = self._studies.get(data["study"])
        names = [name.strip() for name in re.split(r"[\n,;]", data["groups"]) if name.strip()]
        if recipe.initial:
            return plan_images_from(
                recipe=recipe,
                initial_set=self._sets[recipe.initial],
                prompts=[data["prompt"]],
                groups=groups_by_name(names),
                image_set=data["image_set"],
            )
        groups = groups_by_name(names) or groups_of(study, data["image_set"])
        return plans.plan_images(recipe=recipe, groups=groups, image_set=data["image_set"], study=study)


class ImageSetRunForm(RunForm):
    """A run for the images of a set."""

    image_set = forms.ChoiceField(label=_("Image set"))

    def add_fields(self) -> None:
        self._sets, choices = image_set_choices()
        set_choices(self, "image_set", choices)

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, CaptionRecipe | EmbeddingRecipe)
        return plans.plan_captions_or_embeddings(
            recipe=recipe,
            image_set=self._sets[self.cleaned_data["image_set"]],
            texts=self.cleaned_data.get("texts", ()),
        )


class CaptionsForm(ImageSetRunForm, OptionsForm):
    RECIPE = CaptionRecipe
    title = _("Write captions")
    MAIN_FIELDS = ("image_set", "count", "seed")
    DEFAULTS = {"seed": None, "options": ""}

    count = forms.IntegerField(label=_("Captions per image"), min_value=1, max_value=1000)
    seed = number_field(_("Seed"), 0, None, _("Empty: 0."))
    model = text_field(_("Model"), 200, _("A hub id or folder. Empty: the backend’s own."))
    revision = text_field(_("Revision"), 80)
    dtype = dtype_field()
    repeatable = repeatable_field()


class EmbeddingsForm(ImageSetRunForm):
    RECIPE = EmbeddingRecipe
    title = _("Embed images and texts")
    MAIN_FIELDS = ("image_set", "texts")
    DEFAULTS: Mapping[str, Any] = {"texts": ""}

    texts = lines_field(_("Texts"), 2_000_000, _("One per line. Empty: images only."))
    model = text_field(
        _("Model"),
        200,
        _("An open_clip architecture or local-dir:/folder; for transformers a hub id or folder."),
    )
    pretrained = text_field(
        _("Weights"),
        200,
        _("A tag, or a file on the workers; for transformers a branch, tag or commit on the hub, or empty."),
    )
    dtype = dtype_field()
    repeatable = repeatable_field()

    def clean_texts(self) -> tuple[str, ...]:
        try:
            return read_texts(self.cleaned_data["texts"].split("\n"))
        except PlanRefused as refused:
            raise forms.ValidationError(str(refused)) from refused

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        # What the form starts with are weights of open_clip, which are no revision of another model.
        if data.get("backend") in HUB_ENCODERS and data.get("pretrained") == EmbeddingRecipe.pretrained:
            data["pretrained"] = ""
        return data
