"""Forms of runs that ask models."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from generation.plans import services as plans
from generation.plans.askings import AboutImages, Asking, Askings, PromptsRefused, read_prompts
from generation.plans.plan import Plan
from generation.plans.queries.image_sets import images_with_files
from generation.plans.queries.runs import default_run_name
from generation.recipes.askings import (
    MOST_TIMES,
    MOST_TOKENS,
    ClassificationRecipe,
    CompletionRecipe,
    DescriptionRecipe,
)
from generation.recipes.limits import MOST_IN_FLIGHT, Limits
from generation.recipes.recipes import FAKE, AskingRecipe, Recipe
from generation.runs.planning_forms.base import (
    OptionsForm,
    dtype_field,
    image_set_choices,
    lines_field,
    number_field,
    repeatable_field,
    set_choices,
    text_field,
)

_MOST_TEXT = 2_000_000
LIMITS = {
    "in_flight": "in_flight",
    "tokens": "token_limit",
    "cost": "cost_limit",
    "price_in": "price_in",
    "price_out": "price_out",
}
"""Field of Limits -> field of the form."""


def _money(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(label=label, required=False, min_value=0, help_text=help_text)


class AskingForm(OptionsForm):
    """A run that asks a model."""

    PURPOSE: str
    PAIRS = False
    name = text_field(_("Name of the run"), 80, _("Empty: made of the kind and the model."))
    prompts = forms.CharField(
        label=_("Prompts"), max_length=_MOST_TEXT, widget=forms.Textarea(attrs={"rows": 6})
    )
    model = text_field(_("Model"), 200, _("A name on the server, a hub id, or a folder on the workers."))
    revision = text_field(_("Revision"), 80, _("A branch, tag or commit on the hub."))
    dtype = dtype_field()
    repeatable = repeatable_field()

    def clean_prompts(self) -> list[Asking]:
        try:
            return read_prompts(self.cleaned_data["prompts"].splitlines(), pairs=self.PAIRS)
        except PromptsRefused as refused:
            raise forms.ValidationError(str(refused)) from refused

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        # The fake backend uses no model, whatever the field contains.
        data["model"] = FAKE if data.get("backend") == FAKE else data.get("model")
        return data

    def recipe(self) -> Recipe:
        data = self.cleaned_data
        return self.RECIPE(
            **{each.name: data[each.name] for each in fields(self.RECIPE) if each.name in data}
        )

    def askings(self) -> Askings:
        prompts: list[Asking] = self.cleaned_data["prompts"]
        return prompts

    def set_asked_about(self) -> ImageSet | None:
        """The image set that the prompts are about."""
        return None

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, AskingRecipe)
        data = self.cleaned_data
        return plans.plan_askings(
            recipe=recipe,
            name=data["name"] or default_run_name(recipe, self.PURPOSE),
            askings=self.askings(),
            image_set=self.set_asked_about(),
            limits=Limits(**{name: data.get(field) for name, field in LIMITS.items()}),
        )


class _TextForm(AskingForm):
    """A run whose model writes text."""

    DEFAULTS: Mapping[str, Any] = {"options": "", "stop": "", "seed": None}

    times = forms.IntegerField(label=_("Answers to each prompt"), min_value=1, max_value=MOST_TIMES)
    seed = number_field(_("Seed"), 0, None, _("Empty: 0."))
    server = text_field(_("Server"), 80, _("Of the backend openai: a name in MODEL_SERVERS. Empty: openai."))
    chat = forms.BooleanField(
        label=_("Chat"),
        required=False,
        help_text=_("The prompt is a message to the model. Else the model continues its text."),
    )
    system = lines_field(_("System message"), 20_000, _("Empty: none."))
    temperature = forms.FloatField(
        label=_("Temperature"), min_value=0, max_value=2, help_text=_("0: always the likeliest word.")
    )
    top_p = forms.FloatField(label=_("Top p"), min_value=0, max_value=1)
    max_tokens = forms.IntegerField(
        label=_("Tokens of an answer, at most"), min_value=1, max_value=MOST_TOKENS
    )
    stop = lines_field(_("Texts that end an answer"), 400, _("One per line, at most 4. Empty: none."))
    in_flight = number_field(_("Askings at once"), 1, MOST_IN_FLIGHT, _("Empty: the backend’s own number."))
    token_limit = number_field(
        _("Limit of tokens"), 1, None, _("The run pauses before it is exceeded. Empty: none.")
    )
    cost_limit = _money(_("Limit of cost"), _("In the currency of the prices. Empty: none."))
    price_in = _money(_("Price of a million tokens in prompts"))
    price_out = _money(_("Price of a million tokens in answers"))

    def clean_stop(self) -> tuple[str, ...]:
        return tuple(line for line in self.cleaned_data["stop"].splitlines() if line)


_MAIN = ("times", "seed", "token_limit", "cost_limit", "price_in", "price_out")


class CompletionsForm(_TextForm):
    RECIPE = CompletionRecipe
    PURPOSE = "completions"
    title = _("Ask a language model")
    MAIN_FIELDS: tuple[str, ...] = ("name", "prompts", *_MAIN)

    def add_fields(self) -> None:
        self.fields["prompts"].help_text = _(
            'One per line. For a prompt of several lines write JSON: {"prompt": "…", "key": "…"}.'
        )


class DescriptionsForm(_TextForm):
    RECIPE = DescriptionRecipe
    PURPOSE = "descriptions"
    title = _("Ask about images")
    MAIN_FIELDS: tuple[str, ...] = ("name", "image_set", "prompts", *_MAIN)

    image_set = forms.ChoiceField(label=_("Image set"))

    def add_fields(self) -> None:
        self._sets, choices = image_set_choices()
        set_choices(self, "image_set", choices)
        if "prompts" in self.fields:
            self.fields["prompts"].help_text = _("One per line; each is asked about each image.")

    def set_asked_about(self) -> ImageSet:
        return self._sets[self.cleaned_data["image_set"]]

    def askings(self) -> Askings:
        return AboutImages(self.cleaned_data["prompts"], images_with_files(self.set_asked_about()))


class ClassificationsForm(AskingForm):
    RECIPE = ClassificationRecipe
    PURPOSE = "classifications"
    PAIRS = True
    title = _("Classify texts")
    MAIN_FIELDS = ("name", "prompts")
    DEFAULTS: Mapping[str, Any] = {"options": "", "labels": ""}

    labels = lines_field(
        _("Labels"), 2000, _("One per line, in the model’s order, if its configuration does not name them.")
    )

    def add_fields(self) -> None:
        self.fields["prompts"].label = _("Texts")
        self.fields["prompts"].help_text = _("One per line. Write || between the two texts of a pair.")

    def clean_labels(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.cleaned_data["labels"].splitlines() if line.strip())
