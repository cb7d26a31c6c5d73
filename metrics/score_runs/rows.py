"""Score rows, and the inputs they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from annotation.models import Study
from metrics.core.stats.percentiles import Interval


@dataclass(frozen=True)
class ScoreRow:
    """One number. The fields are those of metrics.models.Score, with the names beside the ids.

    `value` None is undefined. `part` narrows the number to a part of the study, group or attribute, as listed
    in the registry. `stereotypical`: whether the attribute is a stereotype of the group by the study's rule.
    """

    name: str
    value: float | None
    n: int
    k: int | None = None
    group_id: int | None = None
    group: str = ""
    attribute_id: int | None = None
    attribute: str = ""
    part: str = ""
    stereotypical: bool | None = None
    low: float | None = None
    high: float | None = None
    infinite: int | None = None
    undefined: int | None = None


@dataclass(frozen=True)
class Inputs:
    """The inputs of a metric. `parameters` has all parameters of the metric, given or default."""

    study: Study
    variant: str = "corrected"
    resamples: int = 0
    seed: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)


Compute = Callable[[Inputs], list[ScoreRow]]


class Bounds(TypedDict):
    """The interval fields of a ScoreRow."""

    low: float | None
    high: float | None
    infinite: int | None
    undefined: int | None


def bounds(interval: Interval | None) -> Bounds:
    """The interval fields of a ScoreRow; all None without resampling."""
    if interval is None:
        return {"low": None, "high": None, "infinite": None, "undefined": None}
    return {
        "low": defined(interval.low),
        "high": defined(interval.high),
        "infinite": interval.infinite,
        "undefined": interval.undefined,
    }


def defined(value: float) -> float | None:
    """Replace NaN, which databases and JSON do not have, by None."""
    return None if value != value else float(value)
