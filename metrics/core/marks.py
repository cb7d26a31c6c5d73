"""Scores drawn inside a table's cells: a point with its interval, all rows on one axis.

>>> axis = axis_of([(0.5, 0.2, 0.9), (2.0, 1.0, float("inf"))], log=True, reference=1.0)
>>> axis.low, axis.high
(0.2, 2.0)
>>> axis.place(0.2), axis.place(float("inf"))
(0.0, 1.0)
>>> scaled_axis("share", [(0.13, 0.04, 0.31)]).labels
((0.0, '0'), (1.0, '0.32'))
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

Numbers = tuple[float | None, float | None, float | None]
"""Value, low and high end of the interval; None where there is none."""

_ROOM = 0.25
"""A label in the middle needs this share of the axis on both sides."""
_FAR = 1000
"""A logarithmic axis shows up to so many times its reference, and as little: an interval up to a million
would leave no room for all others."""


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, both finite, `low` < `high`; with `log` both positive. `reference` is a value
    that a line marks, such as 1 for a ratio. `per_cent`: its numbers are shares, labelled in per cent."""

    low: float
    high: float
    log: bool = False
    reference: float | None = None
    per_cent: bool = False

    def place(self, value: float) -> float:
        """The place of `value`, from 0 at `low` to 1 at `high`. Values outside are at the ends."""
        if value <= self.low:
            return 0.0
        if value >= self.high:
            return 1.0
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return (at - low) / (high - low)

    def is_outside(self, value: float) -> bool:
        return not self.low <= value <= self.high

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The numbers of the scale with their places: both ends, and the reference where there is room."""
        shown = [self.low, self.high]
        if self.reference is not None and _ROOM <= self.place(self.reference) <= 1 - _ROOM:
            shown.insert(1, self.reference)
        if self.per_cent:
            return tuple((self.place(value), f"{100 * value:.4g} %") for value in shown)
        return tuple((self.place(value), _label(value)) for value in shown)


@dataclass(frozen=True)
class Scale:
    """How a kind of score is drawn. `low` and `high`: ends that the axis has whatever the numbers are."""

    log: bool = False
    reference: float | None = None
    low: float | None = None
    high: float | None = None
    per_cent: bool = False


SCALES = {
    "agreement": Scale(reference=0.0, high=1.0),  # alpha, kappa: 0 is what chance gives
    "correlation": Scale(reference=0.0, low=-1.0, high=1.0),
    "difference": Scale(reference=0.0),
    "number": Scale(),
    "offensive": Scale(low=-1.0, high=4.0),
    "per_cent": Scale(low=0.0, high=100.0),
    "percentage": Scale(low=0.0, high=1.0, per_cent=True),
    "ratio": Scale(log=True, reference=1.0),
    "rating": Scale(low=1.0, high=5.0),
    "share": Scale(low=0.0),
    "whole_share": Scale(low=0.0, high=1.0),
}
"""`per_cent` is of numbers up to 100, `percentage` of shares shown in per cent. `share` ends at the largest
number, since small shares could not be told apart on an axis up to 1."""


KIND_OF = {
    "alpha": "agreement",
    "box_iou": "whole_share",
    "cross_kappa": "agreement",
    "fleiss_kappa": "agreement",
    "iou_difference": "difference",
    "judge_iou": "whole_share",
    "judge_kappa": "agreement",
    "judge_percentage": "per_cent",
    "kappa_difference": "difference",
    "l_random": "share",
    "l_stereo": "share",
    "likelihood": "share",
    "mean_score": "rating",
    "none_of_above": "share",
    "people_alpha": "agreement",
    "people_iou": "whole_share",
    "people_percentage": "per_cent",
    "percentage": "per_cent",
    "percentage_difference": "difference",
    "share": "share",
    "theta": "ratio",
    "x": "difference",
}
"""{name of a score: its kind}; a "number" if it is not here."""


def scaled_axis(kind: str, rows: Iterable[Numbers]) -> Axis | None:
    """The axis of a kind of score, one of SCALES, with all finite numbers of `rows`. None if there are
    none."""
    scale = SCALES[kind]
    found = axis_of(rows, log=scale.log, reference=scale.reference, low=scale.low, high=scale.high)
    return replace(found, per_cent=scale.per_cent) if found else None


def axis_of(
    rows: Iterable[Numbers],
    *,
    log: bool = False,
    reference: float | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Axis | None:
    """The axis that shows all finite numbers of `rows`, the reference, and the ends `low` and `high` if they
    are given; with `log`, numbers up to _FAR times the reference. Its own ends are numbers with one or two
    digits. None if nothing can be shown."""
    found = [
        number
        for row in rows
        for number in row
        if number is not None and math.isfinite(number) and (number > 0 or not log)
    ]
    if not found:
        return None
    if log and reference is not None:
        found = [min(max(number, reference / _FAR), reference * _FAR) for number in found]
    found += [number for number in (reference, low, high) if number is not None]
    least, most = min(found), max(found)
    if least == most:
        if low == least:  # nothing can be below it
            most += 1
        else:
            least, most = (least / 2, most * 2) if log else (least - 0.5, most + 0.5)
    start, end = (_log_ends if log else _ends)(least, most)
    return Axis(low if low == least else start, high if high == most else end, log=log, reference=reference)


def _ends(least: float, most: float) -> tuple[float, float]:
    """Round numbers at or outside both ends: multiples of at most a tenth of the width."""
    width = most - least
    power = 10.0 ** math.floor(math.log10(width))
    step = power * (0.1 if width < 2 * power else 0.2 if width < 5 * power else 0.5)
    return _round(math.floor(least / step + 1e-9) * step), _round(math.ceil(most / step - 1e-9) * step)


def _log_ends(least: float, most: float) -> tuple[float, float]:
    """The same with the leading digit alone: 0.03, 2, 40."""
    down, up = 10.0 ** math.floor(math.log10(least)), 10.0 ** math.floor(math.log10(most))
    return _round(math.floor(least / down + 1e-9) * down), _round(math.ceil(most / up - 1e-9) * up)


def _round(value: float) -> float:
    """Without what binary fractions add: 0.30000000000000004 is 0.3."""
    return float(f"{value:.12g}")


def _label(value: float) -> str:
    return f"{value:.4g}".replace("-", "−") if abs(value) < 1e5 else f"{value:.0e}"
