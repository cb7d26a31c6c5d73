"""A stored recipe for display on pages."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from generation.recipes.recipes import IMPORTED, with_absent


def recipe_rows(recipe: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(name, value) of each field; None shows as the model's own value."""
    hidden = {"kind", "version"}
    rows = []
    # Of results that were made elsewhere nothing is supposed.
    known = recipe if recipe.get("backend") == IMPORTED else with_absent(recipe)
    for name, value in known.items():
        if name in hidden:
            continue
        if value is None:
            value = gettext("the model’s own")
        elif isinstance(value, list | tuple):
            words = [each.replace("_", " ") for each in value] if name == "prompt_sets" else value
            value = ", ".join(map(str, words))
        elif isinstance(value, dict):
            value = ", ".join(f"{key}={each}" for key, each in value.items())
        elif isinstance(value, bool):
            value = gettext("yes") if value else gettext("no")
        rows.append((name.replace("_", " "), value if value != "" else "–"))
    return rows
