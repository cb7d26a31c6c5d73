"""The form that plans questions about the images of a set. It writes nothing."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from generation.plans.plan import Plan
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import Recipe
from generation.runs.planning_forms.askings import LIMITS, DescriptionsForm
from metrics.visual_questions.question_file import Question, QuestionsRefused, read_questions, shipped_text
from metrics.visual_questions.services import MAX_TOKENS, TEMPERATURE, plan_questions


class VisualQuestionsForm(DescriptionsForm):
    """Call `plan` after `is_valid`."""

    title = _("Ask questions about images")
    MAIN_FIELDS = (
        *("name", "image_set", "questions", "times", "seed"),
        *("token_limit", "cost_limit", "price_in", "price_out"),
    )
    prompts = None  # type: ignore[assignment]  # the field of other runs
    questions = forms.CharField(
        label=_("Questions"),
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false"}),
        help_text=_(
            "TOML: a table [[question]] for each, with name, text and perhaps answers. Or plain text, a "
            "question in each line."
        ),
    )

    def __init__(self, *args: Any, initial: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        defaults = {
            "backend": "blip",
            "questions": shipped_text(),
            "temperature": TEMPERATURE,
            "max_tokens": MAX_TOKENS,
        }
        super().__init__(*args, initial={**defaults, **(initial or {})}, **kwargs)

    def add_fields(self) -> None:
        super().add_fields()
        self.fields["times"].label = _("Answers to each question about each image")
        self.fields["image_set"].help_text = _("Each image must belong to the group of the person in it.")

    def clean_questions(self) -> tuple[Question, ...]:
        try:
            return read_questions(self.cleaned_data["questions"])
        except QuestionsRefused as refused:
            raise forms.ValidationError(str(refused)) from refused

    def build_plan(self, recipe: Recipe) -> Plan:
        assert isinstance(recipe, DescriptionRecipe)
        data = self.cleaned_data
        return plan_questions(
            recipe=recipe,
            image_set=self.set_asked_about(),
            questions=data["questions"],
            name=data["name"].strip(),
            limits=Limits(**{name: data.get(field) for name, field in LIMITS.items()}),
        )
