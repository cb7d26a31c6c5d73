"""One comparison of annotators, with everything that is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from metrics.agreement.stats.coefficients import Estimate
from metrics.core.stats.percentiles import Interval

MEASURES = ("percentage", "alpha", "fleiss_kappa", "cross_kappa", "box_iou")


@dataclass(frozen=True)
class AgreementRow:
    """One comparison. None is undefined or does not apply.

    `scope`: 'all' annotators, 'within' one group or 'between' two. `alpha` and `fleiss_kappa` are those of
    all or within; `cross_kappa` that between two groups. `percentage` is the share of pairs of ratings
    that are the same, `agreeing` in number, in per cent. `box_iou` is of depiction, all annotators, only.
    `annotators`: how many different people gave the ratings within a group; None where not all are known.
    `intervals` has that of each of MEASURES that was resampled. `identity` and `attribute` (with their
    keys) say what the row is about if not the whole task.

    Of the scope 'difference', `percentage` (in points) and `alpha` are those within `group` less those within
    `other`, `units` those that either rated, `ratings` and `pairs` those of both; `p` has the two-sided p of
    each of the two that was resampled, and `q` what Benjamini and Hochberg make of it.
    """

    task: str
    labels: str
    level: str
    scope: str
    group: str
    other: str
    units: int
    ratings: int
    pairs: int
    percentage: float | None
    alpha: float | None
    fleiss_kappa: float | None
    cross_kappa: float | None
    box_iou: float | None
    box_pairs: int | None
    agreeing: int = 0
    annotators: int | None = None
    identity: str = ""
    attribute: str = ""
    identity_id: int | None = None
    attribute_id: int | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    p: Mapping[str, float] = field(default_factory=dict)
    q: Mapping[str, float] = field(default_factory=dict)


def intervals_of(**estimates: Estimate) -> dict[str, Interval]:
    """Those that there are; that of the percentage in per cent as its value is."""
    found = {}
    for name, estimate in estimates.items():
        bounds = estimate.interval
        if bounds is not None and bounds.low == bounds.low:
            by = 100 if name == "percentage" else 1
            found[name] = replace(bounds, low=by * bounds.low, high=by * bounds.high)
    return found


def defined_of(values: Mapping[str, float]) -> dict[str, float]:
    """Those that are defined."""
    return {name: value for name, value in values.items() if not np.isnan(value)}
