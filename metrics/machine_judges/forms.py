"""The form that plans a machine judge of a study. It writes nothing."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Study, TaskKind
from generation.plans.plan import Plan
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import Recipe
from generation.runs.planning_forms.askings import LIMITS, CompletionsForm
from generation.runs.planning_forms.base import lines_field, set_choices
from metrics.machine_judges.design import Boxes
from metrics.machine_judges.planning import (
    AGAIN,
    MAX_TOKENS,
    TEMPERATURE,
    Choice,
    JudgeRecipe,
    judge_backends,
    languages_of,
    plan_judge,
    recipe_kind,
)

_MOST_AGAIN = 1_000_000
_BOXES = {
    Boxes.NONE: _("not asked for"),
    Boxes.PIXELS: _("in pixels of the image"),
    Boxes.THOUSANDTHS: _("in thousandths of the image, from 0 to 1000"),
}


class JudgeForm(CompletionsForm):
    """Call `plan` after `is_valid`; it adds its errors to their fields."""

    title = _("Plan a machine judge")
    MAIN_FIELDS = (
        *("task", "backend", "server", "model", "revision", "temperature", "times", "boxes"),
        *("again", "wording", "languages", "seed", "name"),
        *("token_limit", "cost_limit", "price_in", "price_out"),
    )
    prompts = None  # type: ignore[assignment]  # made of the items
    task = forms.ChoiceField(label=_("Task"))
    boxes = forms.ChoiceField(
        label=_("Boxes"),
        required=False,
        choices=[(each.value, label) for each, label in _BOXES.items()],
        help_text=_("Of what an image depicts: only if the model can give coordinates."),
    )
    again = forms.IntegerField(
        label=_("Items asked about again"),
        min_value=0,
        max_value=_MOST_AGAIN,
        help_text=_("With the options in another order, and as below: how stable the answers are. 0: none."),
    )
    wording = lines_field(
        _("Another wording"),
        2000,
        _("Of the statement or question, with [attr] and [id] as in the study’s. Empty: none."),
    )
    languages = forms.MultipleChoiceField(
        label=_("Other languages"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The items asked about again are also asked about in these."),
    )

    def __init__(
        self, data: Any = None, *, study: Study, user: User, initial: Mapping[str, Any] | None = None
    ) -> None:
        self.study = study
        defaults = {
            "temperature": TEMPERATURE,
            "max_tokens": MAX_TOKENS,
            "boxes": Boxes.NONE.value,
            "again": AGAIN,
        }
        super().__init__(data, user=user, initial={**defaults, **(initial or {})})
        # the tasks of a study may need models of both kinds
        kinds = {recipe_kind(task.kind): task.kind for task in study.tasks.all()}
        labels: dict[str, dict[type[JudgeRecipe], str]] = {}
        for kind, task in kinds.items():
            for name, label in judge_backends(task).items():
                labels.setdefault(name, {})[kind] = gettext(label) if label else name
        set_choices(self, "backend", [(name, _label(of_kinds)) for name, of_kinds in labels.items()])

    def add_fields(self) -> None:
        tasks = {task.kind: task for task in self.study.tasks.order_by("kind", "version")}
        choices = [(kind, gettext(TaskKind(kind).label)) for kind in tasks]
        set_choices(self, "task", choices)
        translated = sorted({code for task in tasks.values() for code in languages_of(task)})
        names = dict(settings.LANGUAGES)
        set_choices(self, "languages", [(code, names.get(code, code)) for code in translated])
        # what this study has no use for is not shown, and refused all the same
        self._unused = {
            *(() if TaskKind.DEPICTION in tasks else ("boxes",)),
            *(() if translated else ("languages",)),
        }
        self.fields["times"].label = _("Samples of each item")
        self.fields["times"].help_text = _("The most frequent answer counts; several need a temperature.")
        self.fields["name"].help_text = _("Empty: made of study, task, model and settings.")

    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in super().main_fields() if field.errors or field.name not in self._unused]

    def clean_boxes(self) -> str:
        return self.cleaned_data["boxes"] or Boxes.NONE.value

    def recipe(self) -> JudgeRecipe:
        data = self.cleaned_data
        kind = recipe_kind(data["task"])
        return kind(**{each.name: data[each.name] for each in fields(kind) if each.name in data})

    def build_plan(self, recipe: Recipe) -> Plan:
        data = self.cleaned_data
        return plan_judge(
            recipe=recipe,  # type: ignore[arg-type]  # of `recipe` above
            choice=Choice(
                study=self.study,
                task=data["task"],
                boxes=data["boxes"],
                again=data["again"],
                wording=data["wording"],
                languages=data["languages"],
                seed=data["seed"],
            ),
            name=data["name"].strip(),
            limits=Limits(**{name: data.get(field) for name, field in LIMITS.items()}),
        )


def _label(of_kinds: Mapping[type[JudgeRecipe], str]) -> str:
    """What a backend is; both, if it is one for tasks with images and another for those without."""
    if len(of_kinds) == 1:
        return next(iter(of_kinds.values()))
    return gettext("Tasks without images: %(words)s Tasks with images: %(images)s") % {
        "words": of_kinds[CompletionRecipe],
        "images": of_kinds[DescriptionRecipe],
    }
