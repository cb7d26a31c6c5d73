"""Read the options of a captions recipe: unknown names and unfit values are refused with their cure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TypeVar, get_type_hints

from generation.backends.base import BackendError
from generation.recipes.recipes import CaptionRecipe

METHODS = ("greedy", "top_k", "top_p")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How captions are written, token by token. `method`: greedy takes the likeliest token; top_k draws among
    the `top_k` likeliest, top_p among the fewest that together reach `top_p` (Holtzman et al. 2020).
    `temperature` flattens (> 1) or sharpens (< 1) the odds. `max_tokens`: a caption's length at most.
    `candidates`: drawn for each image before the best are kept; 0 is four for each caption wanted.
    """

    method: str = "top_p"
    top_k: int = 50
    top_p: float = 0.9
    temperature: float = 1.0
    max_tokens: int = 30
    candidates: int = 0

    def check(self, count: int) -> None:
        """Raises BackendError."""
        need(self.method in METHODS, "method", f"choose one of {', '.join(METHODS)}")
        need(1 <= self.top_k <= 1000, "top_k", "choose 1 to 1000")
        need(0 < self.top_p <= 1, "top_p", "choose more than 0, and 1 at most")
        need(0 < self.temperature <= 10, "temperature", "choose more than 0, and 10 at most")
        need(2 <= self.max_tokens <= 500, "max_tokens", "choose 2 to 500")
        need(
            self.method != "greedy" or count == 1,
            "method",
            f"greedy writes one caption an image, and count is {count}: choose top_p, or count 1",
        )
        need(
            self.candidates == 0 or count <= self.candidates <= 10_000,
            "candidates",
            f"choose {count} (the captions wanted) to 10000, or 0 for four times as many as wanted",
        )

    def drawn(self, count: int) -> int:
        """How many candidates are written for an image at first."""
        return 1 if self.method == "greedy" else self.candidates or 4 * count


Options = TypeVar("Options", bound=Sampling)


def options_of(recipe: CaptionRecipe, kind: type[Options]) -> Options:
    """The recipe's options as `kind`, its defaults where nothing is said. Raises BackendError."""
    known = get_type_hints(kind)
    for name, value in recipe.options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            names = ", ".join(field.name for field in fields(kind))
            raise BackendError(f"recipe: options: there is no '{name}'.{meant} There are: {names}.")
        fits = (int, float) if known[name] is float else known[name]
        need(
            isinstance(value, fits) and not isinstance(value, bool),
            name,
            f"{value!r} is no {_NOUNS[known[name]]}",
        )
    options = kind(**recipe.options)
    options.check(recipe.count)
    return options


def need(holds: bool, name: str, cure: str) -> None:
    if not holds:
        raise BackendError(f"recipe: options.{name}: {cure}.")


_NOUNS = {int: "whole number", float: "number", str: "text"}

__all__ = ["Sampling", "need", "options_of"]
