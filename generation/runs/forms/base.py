"""The base class of the forms for runs: backend, recipe, plan, and errors beside their fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from generation import backends
from generation.plans.errors import PlanRefused
from generation.plans.services import Plan
from generation.recipes.recipes import Recipe, RecipeRefused

if TYPE_CHECKING:
    from django.contrib.auth.models import User

DTYPES = [("float32", "float32"), ("float16", _("float16 (half)")), ("bfloat16", "bfloat16")]


class RunForm(forms.Form):
    """A form for one kind of run. Call `plan` after `is_valid`; it adds its errors to their fields."""

    KIND: str
    title: Promise
    # Shown first; the other fields are collapsed under "The model".
    MAIN_FIELDS: tuple[str, ...]

    def __init__(self, data: Any = None, *, user: User, initial: Mapping[str, Any] | None = None) -> None:
        self.user = user
        super().__init__(data, initial={**self.defaults(), **(initial or {})}, label_suffix="")
        self.add_fields()
        labels = backends.names(self.KIND)
        choices = [(name, gettext(label) if label else name) for name, label in labels.items()]
        self.fields["backend"] = forms.ChoiceField(label=gettext("Backend"), choices=choices)
        self.order_fields([*self.MAIN_FIELDS, "backend"])

    def add_fields(self) -> None:
        """Set the choices that come from the database."""

    def defaults(self) -> dict[str, Any]:
        raise NotImplementedError

    def recipe(self) -> Recipe:
        raise NotImplementedError

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
