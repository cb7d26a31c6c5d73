"""Rows of scores, and what they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from annotation.models import Study
from metrics.core.stats.percentiles import Interval


@dataclass(frozen=True)
class ScoreRow:
    """One number. The fields are those of metrics.models.Score, with the names beside the ids.

    `value` None is undefined. `part` says of which part of the study, group or attribute the number is,
    as the registry lists them. `stereotypical` says what an attribute is to its group by the study's rule.
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
    """What a metric is asked for. `parameters` holds all of the metric's, given or default."""

    study: Study
    variant: str = "corrected"
    resamples: int = 0
    seed: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)


Compute = Callable[[Inputs], list[ScoreRow]]


class Bounds(TypedDict):
    """What an interval adds to a row."""

    low: float | None
    high: float | None
    infinite: int | None
    undefined: int | None


def bounds(interval: Interval | None) -> Bounds:
    """The fields of a ScoreRow that say how sure it is; all None where nothing was resampled."""
    if interval is None:
        return {"low": None, "high": None, "infinite": None, "undefined": None}
    return {
        "low": defined(interval.low),
        "high": defined(interval.high),
        "infinite": interval.infinite,
        "undefined": interval.undefined,
    }


def defined(value: float) -> float | None:
    """NaN, which databases and JSON do not have, as None."""
    return None if value != value else float(value)
