"""What the forms of all kinds of runs share. A form gives a recipe and a plan, and writes nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from generation import backends
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import Recipe, option_value

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
            field = getattr(refused, "field", "")
            match = re.fullmatch(r"recipe: (\w+)[^:]*: (.+)", str(refused), re.DOTALL)
            if match and match[1] in self.fields:
                self.add_error(match[1], match[2][0].upper() + match[2][1:])
            else:
                self.add_error(field if field in self.fields else None, str(refused))
        return None

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name in self.MAIN_FIELDS]

    def model_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self.MAIN_FIELDS]

    def model_errors(self) -> bool:
        return any(field.errors for field in self.model_fields())


class OptionsForm(RunForm):
    """A run of a backend with options of its own."""

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


def image_set_choices() -> tuple[dict[str, ImageSet], list[tuple[str, str]]]:
    """Image sets by name, and the choices of a field for one of them."""
    sets = {each.name: each for each in ImageSet.objects.order_by("title", "pk")}
    choices = [(name, f"{each.title} ({name})") for name, each in sets.items()]
    return sets, [("", gettext("– choose –")), *choices]


def set_choices(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def text_field(label: Any, most: int, help_text: Any = "") -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=most, help_text=help_text)


def lines_field(label: Any, most: int, help_text: Any) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 3})
    return forms.CharField(label=label, required=False, max_length=most, help_text=help_text, widget=area)


def option_field(label: Any, values: Sequence[str], help_text: Any) -> forms.ChoiceField:
    choices = [("", _("– no –")), *((name, name) for name in values)]
    return forms.ChoiceField(label=label, required=False, choices=choices, help_text=help_text)


def number_field(label: Any, least: int, most: int | None, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=least, max_value=most, help_text=help_text
    )


def dtype_field() -> forms.ChoiceField:
    return forms.ChoiceField(label=_("Numbers"), choices=DTYPES)


def repeatable_field() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("Repeatable"),
        required=False,
        help_text=_(
            "On a graphics card: slower settings, with which the same card and versions give the same bytes "
            "again. A processor always does."
        ),
    )
