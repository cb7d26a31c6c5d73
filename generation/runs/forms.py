"""A form for each kind of run, which gives a recipe and a plan. Forms write nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import ImageSet, Study
from generation import backends
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.plans.queries.identity_groups import groups_by_name, groups_of
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import (
    FAKE,
    OFFLOADS,
    QUANTISATIONS,
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
    Recipe,
    option_value,
)

DTYPES = [
    ("auto", _("auto: half on a graphics card, float32 on a processor")),
    ("float32", "float32"),
    ("float16", _("float16 (half)")),
    ("bfloat16", _("bfloat16 (half)")),
]


class RunForm(forms.Form):
    """A form for one kind of run. Call `plan` after `is_valid`; it adds its errors to their fields."""

    RECIPE: type[Recipe]
    title: Promise
    # Shown first; the other fields are collapsed under "The model".
    MAIN_FIELDS: tuple[str, ...]
    # Where a field does not start with the recipe's own default.
    DEFAULTS: Mapping[str, Any] = {}

    def __init__(self, data: Any = None, *, user: User, initial: Mapping[str, Any] | None = None) -> None:
        self.user = user
        defaults = {**asdict(self.RECIPE()), **self.DEFAULTS}
        super().__init__(data, initial={**defaults, **(initial or {})}, label_suffix="")
        self.add_fields()
        labels = backends.names(self.RECIPE.kind)
        choices = [(name, gettext(label) if label else name) for name, label in labels.items()]
        self.fields["backend"] = forms.ChoiceField(label=gettext("Backend"), choices=choices)
        self.order_fields([*self.MAIN_FIELDS, "backend"])

    def add_fields(self) -> None:
        """Set the choices that come from the database."""

    def clean_seed(self) -> int:
        return self.cleaned_data["seed"] or 0

    def recipe(self) -> Recipe:
        return self.RECIPE(**{each.name: self.cleaned_data[each.name] for each in fields(self.RECIPE)})

    def build_plan(self, recipe: Recipe) -> Plan:
        raise NotImplementedError

    def plan(self) -> Plan | None:
        """The plan; None if an error was added to the form."""
        try:
            return self.build_plan(self.recipe())
        except (RecipeRefused, PlanRefused) as refused:
            match = re.fullmatch(r"recipe: (\w+)[^:]*: (.+)", str(refused), re.DOTALL)
            if match and match[1] in self.fields:
                self.add_error(match[1], match[2][0].upper() + match[2][1:])
            else:
                self.add_error(None, str(refused))
        return None

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name in self.MAIN_FIELDS]

    def model_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self.MAIN_FIELDS]

    def model_errors(self) -> bool:
        return any(field.errors for field in self.model_fields())


def set_choices(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


_SAFETY = [
    ("record", _("run the safety checker and record its verdict")),
    ("block", _("also make flagged images black")),
    ("off", _("do not run the safety checker")),
]


def _text(label: Any, most: int, help_text: Any = "") -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=most, help_text=help_text)


def _lines(label: Any, most: int, help_text: Any) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 3})
    return forms.CharField(label=label, required=False, max_length=most, help_text=help_text, widget=area)


def _option(label: Any, values: Sequence[str], help_text: Any) -> forms.ChoiceField:
    choices = [("", _("– no –")), *((name, name) for name in values)]
    return forms.ChoiceField(label=label, required=False, choices=choices, help_text=help_text)


def _number(label: Any, least: int, most: int | None, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=least, max_value=most, help_text=help_text
    )


def _dtype() -> forms.ChoiceField:
    return forms.ChoiceField(label=_("Numbers"), choices=DTYPES)


def _repeatable() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("Repeatable"),
        required=False,
        help_text=_(
            "On a graphics card: slower settings, with which the same card and versions give the same bytes "
            "again. A processor always does."
        ),
    )


class ImagesForm(RunForm):
    RECIPE = ImageRecipe
    title = _("Generate images")
    MAIN_FIELDS = ("study", "groups", "prompts", "images_per_prompt", "image_set", "seed")
    DEFAULTS = {"prompts": "detection", "images_per_prompt": None, "seed": None, "lora": ""}

    study = forms.ChoiceField(label=_("Study"), required=False)
    groups = _lines(_("Identity groups"), 50_000, _("One per line. Empty: all groups of the study."))
    prompts = forms.ChoiceField(
        label=_("Prompts"), choices=[(key, one[0]) for key, one in PROMPT_CHOICES.items()]
    )
    images_per_prompt = _number(
        _("Images per prompt"), 1, 1000, _("Empty: 5 for detection, 15 for pull, as in ViSAGe.")
    )
    image_set = _text(
        _("Image set"),
        80,
        _("Short name. Empty: the study’s set, else a name from the model and the prompts."),
    )
    seed = _number(_("Seed"), 0, None, _("Empty: 0."))
    model = _text(_("Model"), 200, _("A hub id, or a folder on the workers."))
    revision = _text(_("Revision"), 80, _("A branch, tag or commit on the hub."))
    scheduler = _text(_("Scheduler"), 80, _("A diffusers class. Empty: the model’s own."))
    steps = _number(_("Steps"), 1, 1000, _("Empty: the model’s own."))
    guidance = forms.FloatField(
        label=_("Guidance"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Empty: the model’s own."),
    )
    width = forms.IntegerField(label=_("Width, pixels"), min_value=8, max_value=4096)
    height = forms.IntegerField(label=_("Height, pixels"), min_value=8, max_value=4096)
    dtype = _dtype()
    repeatable = _repeatable()
    compiled = forms.BooleanField(
        label=_("Compile the model first"),
        required=False,
        help_text=_("Takes minutes, then is faster on a GPU; the last bits of an image differ."),
    )
    safety = forms.ChoiceField(label=_("Safety checker"), choices=_SAFETY)
    negative_prompt = _text(_("Negative prompt"), 500)
    variant = _text(_("Variant of the weights"), 40, _("For example fp16, if the model has such files."))
    lora = _lines(
        _("LoRAs"), 3000, _("One per line: a hub id, folder or file on the workers; then :FILE and @SCALE.")
    )
    quantisation = _option(_("Quantised weights"), QUANTISATIONS, _("Less memory; images differ a little."))
    offload = _option(_("Offloading"), OFFLOADS, _("Parts, or all layers but one, wait off the GPU. Slower."))

    def add_fields(self) -> None:
        led = policies.studies_led_by(self.user).order_by("title")
        self._studies = {each.name: each for each in led.select_related("stereotype_source")}
        set_choices(
            self,
            "study",
            [("", gettext("– none –")), *((name, each.title) for name, each in self._studies.items())],
        )

    def clean_lora(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.cleaned_data["lora"].splitlines() if line.strip())

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        _, data["prompt_sets"], per_prompt = PROMPT_CHOICES[data.get("prompts", "detection")]
        data["images_per_prompt"] = data.get("images_per_prompt") or per_prompt
        # The fake backend uses no model, whatever the field contains.
        data["model"] = FAKE if data.get("backend") == FAKE else data.get("model")
        return data

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, ImageRecipe)
        data = self.cleaned_data
        study: Study | None = self._studies.get(data["study"])
        names = [name.strip() for name in re.split(r"[\n,;]", data["groups"]) if name.strip()]
        groups = groups_by_name(names) or groups_of(study, data["image_set"])
        return plans.plan_images(recipe=recipe, groups=groups, image_set=data["image_set"], study=study)


class ImageSetRunForm(RunForm):
    """A run for the images of a set."""

    image_set = forms.ChoiceField(label=_("Image set"))

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
    RECIPE = CaptionRecipe
    title = _("Write captions")
    MAIN_FIELDS = ("image_set", "count", "seed")
    DEFAULTS = {"seed": None, "options": ""}

    count = forms.IntegerField(label=_("Captions per image"), min_value=1, max_value=1000)
    seed = _number(_("Seed"), 0, None, _("Empty: 0."))
    model = _text(_("Model"), 200, _("A hub id or folder. Empty: the backend’s own."))
    revision = _text(_("Revision"), 80)
    dtype = _dtype()
    repeatable = _repeatable()
    options = forms.CharField(
        label=_("Options of the backend"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One per line, as name=value; for example ngrams=/data/ngrams."),
    )

    def clean_options(self) -> dict[str, Any]:
        """Values are JSON if they can be parsed, else text."""
        found: dict[str, Any] = {}
        for line in self.cleaned_data["options"].splitlines():
            if not line.strip():
                continue
            key, equals, value = (part.strip() for part in line.partition("="))
            if not (key and equals):
                raise forms.ValidationError(gettext("“%(line)s”: write name=value.") % {"line": line.strip()})
            found[key] = option_value(value)
        return found


class EmbeddingsForm(ImageSetRunForm):
    RECIPE = EmbeddingRecipe
    title = _("Embed images")
    MAIN_FIELDS = ("image_set",)

    model = _text(_("Model"), 200, _("An open_clip architecture, or local-dir:/folder on the workers."))
    pretrained = _text(_("Weights"), 200, _("A tag, or a file on the workers."))
    dtype = _dtype()
    repeatable = _repeatable()


FORMS: dict[str, type[RunForm]] = {
    "images": ImagesForm,
    "captions": CaptionsForm,
    "embeddings": EmbeddingsForm,
}
