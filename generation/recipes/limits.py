"""How much a run may ask of a server, and what that costs. Pure: no Django.

Limits are not part of a recipe, since they do not change an answer: they may be raised while a run is paused.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from generation.recipes.checks import require

MOST_IN_FLIGHT = 1024
_PER_PRICE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """`in_flight`: askings at once, by each worker; None: the backend's own number. `tokens`: of prompts and
    answers together. `cost`: in the currency of the prices. `price_in`, `price_out`: of a million tokens of
    prompts and of answers."""

    in_flight: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        in_flight = self.in_flight
        require(
            in_flight is None or 1 <= in_flight <= MOST_IN_FLIGHT,
            "in_flight",
            f"choose 1 to {MOST_IN_FLIGHT}",
        )
        require(self.tokens is None or self.tokens >= 1, "token_limit", "choose at least 1")
        require(self.cost is None or self.cost > 0, "cost_limit", "choose more than 0")
        for name in ("price_in", "price_out"):
            price = getattr(self, name)
            require(price is None or price >= 0, name, "choose 0 or more")
        require(
            self.cost is None or None not in (self.price_in, self.price_out),
            "cost_limit",
            "it needs both prices, of a million tokens in prompts and in answers",
        )

    def price(self, tokens_in: float, tokens_out: float) -> float | None:
        """What so many tokens cost; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / _PER_PRICE


def as_json(limits: Limits) -> dict[str, Any]:
    """As stored in Run.limits."""
    return {name: value for name, value in asdict(limits).items() if value is not None}


def from_json(stored: Mapping[str, Any]) -> Limits:
    return Limits(**stored)
