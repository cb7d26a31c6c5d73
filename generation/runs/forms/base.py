"""What the forms of runs share: a backend, a recipe, a plan, and its refusals beside their fields."""

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
    """One kind of run. `plan` after `is_valid`; its errors stand beside the field they are about."""

    KIND: str
    title: Promise
    # fields that are shown first; the others unfold under "The model"
    FIRST: tuple[str, ...]

    def __init__(self, data: Any = None, *, user: User, initial: Mapping[str, Any] | None = None) -> None:
        self.user = user
        super().__init__(data, initial={**self.defaults(), **(initial or {})}, label_suffix="")
        self.add_fields()
        known = backends.names(self.KIND)
        choices = [(name, gettext(told) if told else name) for name, told in known.items()]
        self.fields["backend"] = forms.ChoiceField(label=gettext("Backend"), choices=choices)
        self.order_fields([*self.FIRST, "backend"])

    def add_fields(self) -> None:
        """Fields whose choices are in the database."""

    def defaults(self) -> dict[str, Any]:
        raise NotImplementedError

    def recipe(self) -> Recipe:
        raise NotImplementedError

    def planned(self, recipe: Recipe) -> Plan:
        raise NotImplementedError

    def plan(self) -> Plan | None:
        """The plan, or None after an error was added to the form."""
        try:
            return self.planned(self.recipe())
        except (RecipeRefused, PlanRefused) as refused:
            said = re.fullmatch(r"recipe: (\w+)[^:]*: (.+)", str(refused), re.DOTALL)
            if said and said[1] in self.fields:
                self.add_error(said[1], said[2][0].upper() + said[2][1:])
            else:
                self.add_error(None, str(refused))
        return None

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name in self.FIRST]

    def model_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self.FIRST]

    def model_errors(self) -> bool:
        return any(field.errors for field in self.model_fields())


def offer(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    """Give a field its choices."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


__all__ = ["DTYPES", "RunForm", "offer"]
