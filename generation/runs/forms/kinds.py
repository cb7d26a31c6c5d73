"""A form for each kind of run, which gives a recipe and a plan. Forms write nothing."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import ImageSet, Study
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.plans.queries import identity_groups
from generation.plans.services import Plan
from generation.recipes.recipes import FAKE, CaptionRecipe, EmbeddingRecipe, ImageRecipe, Recipe
from generation.runs.forms.base import DTYPES, RunForm, set_choices

_SAFETY = [
    ("record", _("run the safety checker and record its verdict")),
    ("block", _("also make flagged images black")),
    ("off", _("do not run the safety checker")),
]
_COPIED_FIELDS = (
    *("backend", "revision", "scheduler", "steps", "guidance", "width", "height", "dtype", "compiled"),
    *("safety", "negative_prompt"),
)


class ImagesForm(RunForm):
    KIND = "images"
    title = _("Generate images")
    MAIN_FIELDS = ("study", "groups", "prompts", "images_per_prompt", "image_set", "seed")

    study = forms.ChoiceField(label=_("Study"), required=False)
    groups = forms.CharField(
        label=_("Identity groups"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One per line. Empty: all groups of the study."),
    )
    prompts = forms.ChoiceField(
        label=_("Prompts"), choices=[(key, one[0]) for key, one in PROMPT_CHOICES.items()]
    )
    images_per_prompt = forms.IntegerField(
        label=_("Images per prompt"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_("Empty: 5 for detection, 15 for pull, as in ViSAGe."),
    )
    image_set = forms.CharField(
        label=_("Image set"),
        required=False,
        max_length=80,
        help_text=_("Short name. Empty: the study’s set, else a name from the model and the prompts."),
    )
    seed = forms.IntegerField(label=_("Seed"), required=False, min_value=0, help_text=_("Empty: 0."))
    model = forms.CharField(
        label=_("Model"), required=False, max_length=200, help_text=_("A hub id, or a folder on the workers.")
    )
    revision = forms.CharField(
        label=_("Revision"), required=False, max_length=80, help_text=_("A branch, tag or commit on the hub.")
    )
    scheduler = forms.CharField(
        label=_("Scheduler"),
        required=False,
        max_length=80,
        help_text=_("A diffusers class. Empty: the model’s own."),
    )
    steps = forms.IntegerField(
        label=_("Steps"), required=False, min_value=1, max_value=1000, help_text=_("Empty: the model’s own.")
    )
    guidance = forms.FloatField(
        label=_("Guidance"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Empty: the model’s own."),
    )
    width = forms.IntegerField(label=_("Width, pixels"), min_value=8, max_value=4096)
    height = forms.IntegerField(label=_("Height, pixels"), min_value=8, max_value=4096)
    dtype = forms.ChoiceField(label=_("Numbers"), choices=DTYPES)
    compiled = forms.BooleanField(
        label=_("Compile the model first"),
        required=False,
        help_text=_("Takes minutes, then is faster on a GPU; the last bits of an image differ."),
    )
    safety = forms.ChoiceField(label=_("Safety checker"), choices=_SAFETY)
    negative_prompt = forms.CharField(label=_("Negative prompt"), required=False, max_length=500)

    def add_fields(self) -> None:
        led = policies.studies_led_by(self.user).order_by("title")
        self._studies = {each.name: each for each in led.select_related("stereotype_source")}
        set_choices(
            self,
            "study",
            [("", gettext("– none –")), *((name, each.title) for name, each in self._studies.items())],
        )

    def defaults(self) -> dict[str, Any]:
        return {**asdict(ImageRecipe()), "prompts": "detection", "images_per_prompt": None, "seed": None}

    def recipe(self) -> ImageRecipe:
        data = self.cleaned_data
        prompt_sets, per_prompt = PROMPT_CHOICES[data["prompts"]][1:]
        return ImageRecipe(
            **{name: data[name] for name in _COPIED_FIELDS},
            # The fake backend uses no model, whatever the field contains.
            model=FAKE if data["backend"] == FAKE else data["model"],
            prompt_sets=prompt_sets,
            images_per_prompt=data["images_per_prompt"] or per_prompt,
            seed=data["seed"] or 0,
        )

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, ImageRecipe)
        data = self.cleaned_data
        study: Study | None = self._studies.get(data["study"])
        names = [name.strip() for name in re.split(r"[\n,;]", data["groups"]) if name.strip()]
        if names:
            groups = identity_groups.groups_by_name(names)
        elif study is not None:
            groups = identity_groups.groups_of_study(study)
        elif found := ImageSet.objects.filter(name=data["image_set"]).first():
            groups = identity_groups.groups_of_image_set(found)
        else:
            raise PlanRefused(gettext("Choose a study, or name identity groups."))
        return plans.plan_images(recipe=recipe, groups=groups, image_set=data["image_set"], study=study)


class ImageSetRunForm(RunForm):
    """A run for the images of a set."""

    def add_fields(self) -> None:
        self._sets = {each.name: each for each in ImageSet.objects.order_by("title", "pk")}
        choices = [
            ("", gettext("– choose –")),
            *((name, f"{each.title} ({name})") for name, each in self._sets.items()),
        ]
        set_choices(self, "image_set", choices)

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, CaptionRecipe | EmbeddingRecipe)
        return plans.plan_captions_or_embeddings(
            recipe=recipe, image_set=self._sets[self.cleaned_data["image_set"]]
        )


class CaptionsForm(ImageSetRunForm):
    KIND = "captions"
    title = _("Write captions")
    MAIN_FIELDS = ("image_set", "count", "seed")

    image_set = forms.ChoiceField(label=_("Image set"))
    count = forms.IntegerField(label=_("Captions per image"), min_value=1, max_value=1000)
    seed = forms.IntegerField(label=_("Seed"), required=False, min_value=0, help_text=_("Empty: 0."))
    model = forms.CharField(
        label=_("Model"),
        required=False,
        max_length=200,
        help_text=_("A hub id or folder. Empty: the backend’s own."),
    )
    revision = forms.CharField(label=_("Revision"), required=False, max_length=80)
    dtype = forms.ChoiceField(label=_("Numbers"), choices=DTYPES)
    options = forms.CharField(
        label=_("Options of the backend"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One per line, as name=value; for example ngrams=/data/ngrams."),
    )

    def defaults(self) -> dict[str, Any]:
        return {**asdict(CaptionRecipe()), "seed": None, "options": ""}

    def clean_options(self) -> dict[str, Any]:
        """Values are JSON if they can be parsed, else text."""
        found: dict[str, Any] = {}
        for line in self.cleaned_data["options"].splitlines():
            if not line.strip():
                continue
            key, equals, value = (part.strip() for part in line.partition("="))
            if not (key and equals):
                raise forms.ValidationError(gettext("“%(line)s”: write name=value.") % {"line": line.strip()})
            try:
                found[key] = json.loads(value)
            except ValueError:
                found[key] = value
        return found

    def recipe(self) -> CaptionRecipe:
        data = self.cleaned_data
        plain = ("backend", "model", "revision", "count", "dtype", "options")
        return CaptionRecipe(**{name: data[name] for name in plain}, seed=data["seed"] or 0)


class EmbeddingsForm(ImageSetRunForm):
    KIND = "embeddings"
    title = _("Embed images")
    MAIN_FIELDS = ("image_set",)

    image_set = forms.ChoiceField(label=_("Image set"))
    model = forms.CharField(
        label=_("Model"),
        required=False,
        max_length=200,
        help_text=_("An open_clip architecture, or local-dir:/folder on the workers."),
    )
    pretrained = forms.CharField(
        label=_("Weights"),
        required=False,
        max_length=200,
        help_text=_("A tag, or a file on the workers."),
    )
    dtype = forms.ChoiceField(label=_("Numbers"), choices=DTYPES)

    def defaults(self) -> dict[str, Any]:
        return asdict(EmbeddingRecipe())

    def recipe(self) -> EmbeddingRecipe:
        data = self.cleaned_data
        return EmbeddingRecipe(**{name: data[name] for name in ("backend", "model", "pretrained", "dtype")})


FORMS: dict[str, type[RunForm]] = {form.KIND: form for form in (ImagesForm, CaptionsForm, EmbeddingsForm)}


def initial_from_recipe(recipe: Recipe) -> dict[str, Any]:
    """Initial form data for a recipe."""
    data = asdict(recipe)
    if isinstance(recipe, ImageRecipe):
        by_sets = {frozenset(one[1]): key for key, one in PROMPT_CHOICES.items()}
        data["prompts"] = by_sets.get(frozenset(recipe.prompt_sets), "detection")
    if isinstance(recipe, CaptionRecipe):
        data["options"] = "\n".join(
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in recipe.options.items()
        )
    return data
