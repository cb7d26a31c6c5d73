"""The values that scores can have, and the scale on which their intervals are symmetric."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Scale:
    """Scores from `low` to `high`. Intervals are symmetric on the logit scale if both are finite, on the
    logarithmic scale if only `low` is, else as they are; they never leave the range.

    Examples
    --------
    >>> SHARE
    Scale(low=0.0, high=1.0)
    """

    low: float = float("-inf")
    high: float = float("inf")

    @property
    def width(self) -> float:
        """1 if it is not finite."""
        return self.high - self.low if isfinite(self.high - self.low) else 1.0


SHARE = Scale(0.0, 1.0)
PER_CENT = Scale(0.0, 100.0)
COEFFICIENT = Scale(-1.0, 1.0)  # the logit scale of (1 + r) / 2 is Fisher's z, doubled
RATIO = Scale(0.0)
NUMBER = Scale()
