"""Forms that plan what models are asked for associations. They write nothing."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from generation.plans.plan import Plan
from generation.recipes.askings import MOST_TOKENS, CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.prompts import PromptSet
from generation.recipes.recipes import ImageRecipe, Recipe
from generation.runs.planning_forms.askings import LIMITS, CompletionsForm, DescriptionsForm
from generation.runs.planning_forms.base import number_field, text_field
from generation.runs.planning_forms.images import ImagesForm
from metrics.associations import planning
from metrics.associations.askings import Modality, Setting, settings_of
from metrics.associations.list_form import ListForm, WordingForm
from metrics.associations.prompts import Instruction, prompt_name

SETTING_LABELS: Mapping[Setting, Promise] = {
    Setting.SINGULAR: _("about one person: “An older person is [a__].”"),
    Setting.PLURAL: _("about several: “Older people are [a__].”"),
    Setting.ADJECTIVE: _("an adjective: “This older person is [a__].”"),
    Setting.NOUN: _("a noun: “This older person is a/an [a__].”"),
    Setting.VERB: _("a verb in -ing: “This older person is [a__].”"),
    Setting.IMAGES_OF_ONE: _("one person"),
    Setting.IMAGES_OF_SEVERAL: _("several people"),
    Setting.SUBJECTIVE: _("feelings, opinions and emotions"),
    Setting.IMPLICIT: _("the first words that come to mind"),
    Setting.LEXICAL: _("a noun, an adjective and a verb"),
    Setting.STEREOTYPICAL: _("stereotypes that could be associated with it"),
}
_INSTRUCTIONS = [
    (Instruction.STRAIGHTFORWARD.value, _("straightforward: describe it objectively")),
    (Instruction.MODERATE.value, _("moderate: only facts that can be verified")),
    (Instruction.COMPREHENSIVE.value, _("comprehensive: with rules and an example")),
]
_TOKENS = _("Empty: as the prompts say, 100 for a word and 200 for a text.")


def _labels(settings: Iterable[Setting]) -> list[tuple[str, Promise]]:
    return [(setting.value, SETTING_LABELS[setting]) for setting in settings]


class WordsForm(ListForm, CompletionsForm):
    """T2T."""

    title = _("Words that a language model completes")
    MODALITY = "t2t"
    MAIN_FIELDS = (
        *("name", "settings", "source", "descriptors", "file", "dimensions", "wording", "times", "seed"),
        *("token_limit", "cost_limit", "price_in", "price_out"),
    )
    DEFAULTS: Mapping[str, Any] = {
        **CompletionsForm.DEFAULTS,
        "settings": [setting.value for setting in settings_of(Modality.T2T)],
        "times": planning.TIMES,
        "temperature": planning.TEMPERATURE,
        "top_p": planning.TOP_P,
        "max_tokens": None,
    }
    settings = forms.MultipleChoiceField(
        label=_("Settings"),
        choices=_labels(settings_of(Modality.T2T)),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each asks for a word with every letter from a to z."),
    )
    prompts = None  # type: ignore[assignment]  # the field of other runs
    max_tokens = number_field(_("Tokens of an answer, at most"), 1, MOST_TOKENS, _TOKENS)

    def add_fields(self) -> None:
        self.fields["times"].label = _("Runs")
        self.fields["times"].help_text = _("How often everything is asked, each time with another seed.")

    def prompt_names(self) -> list[str]:
        return [setting.value for setting in settings_of(Modality.T2T)]

    def recipe(self) -> Recipe:
        settings = [Setting(name) for name in self.cleaned_data["settings"]]
        used = planning.words_used(settings, self.cleaned_data["wording"])
        _fill(self.cleaned_data, used)
        return super().recipe()

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, CompletionRecipe)
        data = self.cleaned_data
        return planning.plan_words(
            recipe=recipe,
            name=data["name"],
            settings=[Setting(name) for name in data["settings"]],
            listed=self.list_or_refuse(),
            prompts=data["wording"],
            limits=_limits(data),
        )


class _TextsForm(WordingForm, DescriptionsForm):
    """A form about the images of a set."""

    MODALITY: str
    MAIN_FIELDS: tuple[str, ...]
    DEFAULTS: Mapping[str, Any] = {
        **DescriptionsForm.DEFAULTS,
        "temperature": planning.TEMPERATURE,
        "top_p": planning.TOP_P,
        "max_tokens": None,
    }
    prompts = None  # type: ignore[assignment]  # the field of other runs
    max_tokens = number_field(_("Tokens of an answer, at most"), 1, MOST_TOKENS, _TOKENS)

    def add_fields(self) -> None:
        super().add_fields()
        self.fields["times"].label = _("Answers about each image")
        self.fields["image_set"].help_text = _("Each image must belong to the group that it was made for.")

    def chosen(self) -> tuple[list[Setting], Instruction]:
        raise NotImplementedError

    def recipe(self) -> Recipe:
        _fill(self.cleaned_data, planning.texts_used(*self.chosen(), self.cleaned_data["wording"]))
        return super().recipe()

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, DescriptionRecipe)
        settings, instruction = self.chosen()
        image_set: ImageSet = self.set_asked_about()
        return planning.plan_texts(
            recipe=recipe,
            name=self.cleaned_data["name"],
            settings=settings,
            image_set=image_set,
            prompts=self.cleaned_data["wording"],
            instruction=instruction,
            limits=_limits(self.cleaned_data),
        )


_LIMITS_SHOWN = ("times", "seed", "token_limit", "cost_limit", "price_in", "price_out")


class DescribedForm(_TextsForm):
    """T2I: what the images show."""

    title = _("Descriptions of images that were made for descriptors")
    MODALITY = "t2i"
    MAIN_FIELDS = ("name", "image_set", "setting", "instruction", "wording", *_LIMITS_SHOWN)
    DEFAULTS: Mapping[str, Any] = {
        **_TextsForm.DEFAULTS,
        "setting": Setting.IMAGES_OF_ONE.value,
        "instruction": Instruction.STRAIGHTFORWARD.value,
    }
    setting = forms.ChoiceField(label=_("The images show"), choices=_labels(settings_of(Modality.T2I)))
    instruction = forms.ChoiceField(label=_("Instruction"), choices=_INSTRUCTIONS)

    def chosen(self) -> tuple[list[Setting], Instruction]:
        data = self.cleaned_data
        return [Setting(data["setting"])], Instruction(data["instruction"])

    def prompt_names(self) -> list[str]:
        return [prompt_name(Setting.IMAGES_OF_ONE, instruction) for instruction in Instruction]


class InterpretedForm(_TextsForm):
    """I2T: what a model sees in the images."""

    title = _("What a model associates with images")
    MODALITY = "i2t"
    MAIN_FIELDS = ("name", "image_set", "settings", "wording", *_LIMITS_SHOWN)
    DEFAULTS: Mapping[str, Any] = {
        **_TextsForm.DEFAULTS,
        "settings": [setting.value for setting in settings_of(Modality.I2T)],
    }
    settings = forms.MultipleChoiceField(
        label=_("Settings"), choices=_labels(settings_of(Modality.I2T)), widget=forms.CheckboxSelectMultiple
    )

    def chosen(self) -> tuple[list[Setting], Instruction]:
        return [Setting(name) for name in self.cleaned_data["settings"]], Instruction.STRAIGHTFORWARD

    def prompt_names(self) -> list[str]:
        return [setting.value for setting in settings_of(Modality.I2T)]


class DescriptorImagesForm(ListForm, ImagesForm):
    """Images to describe."""

    title = _("Images of descriptors")
    MODALITY = "images"
    MAIN_FIELDS = (
        *("setting", "source", "descriptors", "file", "dimensions"),
        *("wording", "images_per_prompt", "image_set", "seed"),
    )
    DEFAULTS: Mapping[str, Any] = {
        "setting": Setting.IMAGES_OF_ONE.value,
        "images_per_prompt": planning.TIMES,
        "seed": None,
        "lora": "",
    }
    study = groups = prompts = None  # type: ignore[assignment]  # the fields of ImagesForm
    initial = prompt = strengths = None  # type: ignore[assignment]
    setting = forms.ChoiceField(label=_("The images show"), choices=_labels(settings_of(Modality.T2I)))
    images_per_prompt = forms.IntegerField(label=_("Images of each descriptor"), min_value=1, max_value=1000)
    image_set = text_field(
        _("Image set"), 80, _("Short name. Empty: from the model; one person and several have one each.")
    )

    def add_fields(self) -> None:
        """There is no study to choose."""

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        data["prompt_sets"] = (PromptSet.DESCRIPTORS.value,)
        data["initial"], data["strengths"] = "", ()
        return data

    def prompt_names(self) -> list[str]:
        return ["images-singular", "images-plural"]

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, ImageRecipe)
        data = self.cleaned_data
        return planning.plan_images(
            recipe=recipe,
            setting=Setting(data["setting"]),
            listed=self.list_or_refuse(),
            prompts=data["wording"],
            image_set=data["image_set"],
        )


FORMS: Mapping[str, type[WordingForm]] = {
    form.MODALITY: form for form in (WordsForm, DescriptorImagesForm, DescribedForm, InterpretedForm)
}


def _fill(data: dict[str, Any], used: Mapping[str, Any]) -> None:
    """What the form leaves empty is as the prompts say."""
    for name, value in used.items():
        data[name] = data.get(name) or value


def _limits(data: Mapping[str, Any]) -> Limits:
    return Limits(**{name: data.get(field) for name, field in LIMITS.items()})
