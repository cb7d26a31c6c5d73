"""Forms of the results of a run: comparing two sides, and planning judgements of its pairs."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from annotation.core.leases import JobState
from generation.plans.plan import Plan
from generation.recipes.limits import Limits
from generation.recipes.recipes import Recipe
from generation.runs.planning_forms.askings import LIMITS, AskingForm, ClassificationsForm, CompletionsForm
from metrics.associations.askings import Modality, settings_of
from metrics.associations.comparison import Side
from metrics.associations.judgements import (
    LEVEL,
    LEVEL_PROMPT,
    SENTIMENT,
    TOXICITY,
    JudgementRecipe,
    default_recipe,
    plan_judgements,
)
from metrics.models import AssociationList, Variant

VARIANTS = [(Variant.CORRECTED.value, _("corrected")), (Variant.PUBLISHED.value, _("published"))]
"""The default first."""
_PLACES = [
    ("", _("all settings")),
    *(
        (
            modality.upper(),
            [
                (modality.value, modality.upper()),
                *((one.value, one.value) for one in settings_of(modality)),
            ],
        )
        for modality in Modality
    ),
]


def variant_of(text: str | None) -> str:
    """A variant of an address; the corrected one for anything else."""
    return text if text in Variant.values else Variant.CORRECTED.value


class _RunField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A run whose associations are found, by its id."""

    def __init__(self, label: Any) -> None:
        super().__init__(AssociationList.objects.none(), to_field_name="run", label=label)

    def label_from_instance(self, obj: AssociationList) -> str:
        return f"{obj.run.name} · {obj.run.model}"


class CompareForm(forms.Form):
    """Two runs whose associations are found, and what of each is compared."""

    here = _RunField(_("Run"))
    here_setting = forms.ChoiceField(choices=_PLACES, required=False, label=_("Setting"))
    there = _RunField(_("Other run"))
    there_setting = forms.ChoiceField(choices=_PLACES, required=False, label=_("Its setting"))
    variant = forms.ChoiceField(choices=VARIANTS, required=False, label=_("Significant in the variant"))

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        lists = AssociationList.objects.filter(state=JobState.DONE).select_related("run").order_by("-run_id")
        for name in ("here", "there"):
            field = self.fields[name]
            assert isinstance(field, _RunField)
            field.queryset = lists

    def clean_variant(self) -> str:
        return variant_of(self.cleaned_data["variant"])

    def sides(self) -> tuple[Side, Side]:
        data = self.cleaned_data
        return Side(data["here"], data["here_setting"]), Side(data["there"], data["there_setting"])


class _JudgementForm(AskingForm):
    """A run of askings about the pairs of a list, instead of about prompts that somebody writes."""

    WHAT: str
    prompts = None  # type: ignore[assignment]
    all_pairs = forms.BooleanField(
        required=False,
        label=_("Also pairs that are not significant"),
        help_text=_("Otherwise those that are significant in at least one variant."),
    )

    def __init__(self, data: Any = None, *, found: AssociationList, user: User, what: str) -> None:
        self.found, self.what = found, what
        recipe = default_recipe(what)
        initial = {
            name: getattr(recipe, name) for name in recipe.__dataclass_fields__ if name in self.base_fields
        }
        initial |= {
            "options": "",
            "labels": "",
            "stop": "",
            "prompt": LEVEL_PROMPT,
            "backend": recipe.backend,
        }
        super().__init__(data, user=user, initial=initial)

    def add_fields(self) -> None:
        self.fields["name"].help_text = _("Empty: made of the run, what is asked, and the model.")

    def build_plan(self, recipe: Recipe) -> Plan:
        data = self.cleaned_data
        return plan_judgements(
            self.found,
            self.what,
            cast(JudgementRecipe, recipe),
            all_pairs=data["all_pairs"],
            prompt=data.get("prompt") or LEVEL_PROMPT,
            name=data["name"],
            limits=Limits(**{name: data.get(field) for name, field in LIMITS.items()}),
        )


class ClassifierForm(_JudgementForm, ClassificationsForm):
    """Sentiment or toxicity, by a classifier or a lexicon."""

    MAIN_FIELDS = ("name", "all_pairs")


class LevelForm(_JudgementForm, CompletionsForm):
    """The bias level, by a language model."""

    MAIN_FIELDS = ("name", "prompt", "all_pairs", *CompletionsForm.MAIN_FIELDS[2:])
    prompt = forms.CharField(
        max_length=20_000,
        label=_("Prompt"),
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_("{sentence} stands for the sentence of a pair. The first number from 1 to 5 is read."),
    )


FORMS: dict[str, type[ClassifierForm] | type[LevelForm]] = {
    SENTIMENT: ClassifierForm,
    TOXICITY: ClassifierForm,
    LEVEL: LevelForm,
}
"""What is asked -> its form."""
