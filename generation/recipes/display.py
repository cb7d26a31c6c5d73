"""A stored recipe as pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext


def recipe_rows(recipe: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Everything that decided what came out, name by name; what was left to the model is said so."""
    unsaid = {"kind", "version"}
    rows = []
    for name, value in recipe.items():
        if name in unsaid:
            continue
        if value is None:
            value = gettext("the model’s own")
        elif isinstance(value, list):
            value = ", ".join(str(each).replace("_", " ") for each in value)
        elif isinstance(value, dict):
            value = ", ".join(f"{key}={each}" for key, each in value.items())
        elif isinstance(value, bool):
            value = gettext("yes") if value else gettext("no")
        rows.append((name.replace("_", " "), value if value != "" else "–"))
    return rows


__all__ = ["recipe_rows"]
