"""A recipe's `options`: a backend's own, checked against a dataclass of that backend."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, get_type_hints

from generation.backends.base import BackendError

_NOUNS = {int: "whole number", float: "number", str: "text", bool: "yes or no (true, false)", dict: "mapping"}
Options = TypeVar("Options")


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """A backend without options of its own."""


def parse(options: Mapping[str, Any], kind: type[Options]) -> Options:
    """`options` as the dataclass `kind`, with its defaults for missing ones.

    Raises BackendError for an unknown name or a value of another type.
    """
    known = get_type_hints(kind)
    for name, value in options.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            names = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
            there = f"There are: {names}." if names else "This backend has none."
            raise BackendError(f"recipe: options: there is no '{name}'.{hint} {there}")
        expected = (int, float) if known[name] is float else known[name]
        is_number = known[name] in (int, float)
        require(
            isinstance(value, expected) and not (is_number and isinstance(value, bool)),
            name,
            f"{value!r} is not a {_NOUNS[known[name]]}",
        )
    return kind(**options)


def require(condition: bool, name: str, cure: str) -> None:
    """Raise BackendError for the option `name`, unless `condition` holds."""
    if not condition:
        raise BackendError(f"recipe: options.{name}: {cure}.")


def refuse_changed(recipe: Any, names: Mapping[str, str]) -> None:
    """Raise BackendError for a field of `recipe` that is not at its default. `names`: field -> the cure."""
    defaults = {field.name: field.default for field in fields(recipe)}
    for name, cure in names.items():
        value = getattr(recipe, name)
        if value is not None and value != defaults[name]:
            raise BackendError(f"recipe: {name}: {cure}.")


def refuse_server(recipe: Any) -> None:
    """Raise BackendError for a model in this process whose recipe names a server."""
    if recipe.server:
        raise BackendError("recipe: server: only the backend openai asks a server; leave server empty.")


def require_model(recipe: Any) -> None:
    """Raise BackendError for a model in this process that has no name."""
    if not recipe.model.strip():
        raise BackendError("recipe: model: give a hub id or a local folder.")
