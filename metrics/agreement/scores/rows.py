"""The row type of agreement results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from metrics.agreement.stats.coefficients import Estimate
from metrics.core.stats.percentiles import Interval

MEASURES = ("percentage", "alpha", "fleiss_kappa", "cross_kappa", "box_iou")


@dataclass(frozen=True)
class AgreementRow:
    """One comparison of annotators. None: undefined or not applicable.

    `scope`: 'all' annotators, 'within' one group, 'between' two, or 'difference'. `alpha` and `fleiss_kappa`
    are for all or within, `cross_kappa` is between two groups. `percentage`: per cent of pairs of ratings
    that are equal; `agreeing`: their number. `box_iou`: depiction with all annotators only. `annotators`:
    number of people who rated within a group; None if some are not identified. `intervals`: for each of
    MEASURES that was resampled. `identity` and `attribute` (with their keys): what the row is about, if not
    the whole task.

    For 'difference', `percentage` (in points) and `alpha` are those within `group` minus those within
    `other`; `units` counts units rated by either, `ratings` and `pairs` those of both. `p`: two-sided p of
    each measure that was resampled. `q`: p adjusted by Benjamini and Hochberg.
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
    """The intervals that exist; that of the percentage is in per cent, like its value."""
    found = {}
    for name, estimate in estimates.items():
        bounds = estimate.interval
        if bounds is not None and bounds.low == bounds.low:
            by = 100 if name == "percentage" else 1
            found[name] = replace(bounds, low=by * bounds.low, high=by * bounds.high)
    return found


def defined_of(values: Mapping[str, float]) -> dict[str, float]:
    """The values that are not NaN."""
    return {name: value for name, value in values.items() if not np.isnan(value)}
