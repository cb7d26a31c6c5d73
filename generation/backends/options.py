"""Parse the options of a caption recipe. Errors for unknown names and invalid values include the cure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TypeVar, get_type_hints

from generation.backends.base import BackendError
from generation.recipes.recipes import CaptionRecipe

METHODS = ("greedy", "top_k", "top_p")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the tokens of a caption are chosen. `method`: greedy takes the likeliest token; top_k samples from
    the `top_k` likeliest, top_p from the fewest that together reach `top_p` (Holtzman et al. 2020).
    `temperature` flattens (> 1) or sharpens (< 1) the distribution. `max_tokens`: maximum length of a
    caption. `candidates`: sampled per image before the best are kept; 0 means four per requested caption.
    """

    method: str = "top_p"
    top_k: int = 50
    top_p: float = 0.9
    temperature: float = 1.0
    max_tokens: int = 30
    candidates: int = 0

    def check(self, count: int) -> None:
        """Raises BackendError."""
        require(self.method in METHODS, "method", f"choose one of {', '.join(METHODS)}")
        require(1 <= self.top_k <= 1000, "top_k", "choose 1 to 1000")
        require(0 < self.top_p <= 1, "top_p", "choose more than 0 and at most 1")
        require(0 < self.temperature <= 10, "temperature", "choose more than 0 and at most 10")
        require(2 <= self.max_tokens <= 500, "max_tokens", "choose 2 to 500")
        require(
            self.method != "greedy" or count == 1,
            "method",
            f"greedy writes one caption per image, and count is {count}: choose top_p, or count 1",
        )
        require(
            self.candidates == 0 or count <= self.candidates <= 10_000,
            "candidates",
            f"choose {count} (the number of captions) to 10000, or 0 for four times that number",
        )

    def candidates_per_round(self, count: int) -> int:
        """How many candidates are sampled per image in one round."""
        return 1 if self.method == "greedy" else self.candidates or 4 * count


Options = TypeVar("Options", bound=Sampling)


def parse_options(recipe: CaptionRecipe, kind: type[Options]) -> Options:
    """The recipe's options as `kind`, with its defaults for missing ones. Raises BackendError."""
    known = get_type_hints(kind)
    for name, value in recipe.options.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            names = ", ".join(field.name for field in fields(kind))
            raise BackendError(f"recipe: options: there is no '{name}'.{hint} There are: {names}.")
        expected = (int, float) if known[name] is float else known[name]
        require(
            isinstance(value, expected) and not isinstance(value, bool),
            name,
            f"{value!r} is not a {_NOUNS[known[name]]}",
        )
    options = kind(**recipe.options)
    options.check(recipe.count)
    return options


def require(condition: bool, name: str, cure: str) -> None:
    if not condition:
        raise BackendError(f"recipe: options.{name}: {cure}.")


_NOUNS = {int: "whole number", float: "number", str: "text"}
