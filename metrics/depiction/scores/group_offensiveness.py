"""Offensiveness of a group's depiction with its resamples, used by several metrics (PROTOCOL §7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annotation.models import Study
from metrics.core.stats import percentiles
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.depiction.data import GroupFrame, read_offensiveness_ratings
from metrics.depiction.stats import offensiveness, tendency

Ratings = Mapping[tuple[int, int], float]
"""O(attr, id) by (group, attribute); NaN without ratings."""


@dataclass(frozen=True)
class GroupOffensiveness:
    """O(id) with its resamples (B,), or None."""

    point: offensiveness.Offensiveness
    samples: Floats | None

    def interval(self) -> Interval | None:
        if self.samples is None:
            return None
        return percentiles.percentile_intervals(self.samples[:, None], [self.point.value])[0]


def read_ratings(study: Study, variant: str) -> Ratings:
    """O(attr, id) of the stereotypes of `study`: as published, or the mean of the individual ratings."""
    return {
        pair: _rating(*ratings, published=variant == "published")
        for pair, ratings in read_offensiveness_ratings(study).items()
    }


def compute(
    frame: GroupFrame,
    k: Ints,
    n: Ints,
    likelihoods: Floats | None,
    selections: Floats | None,
    ratings: Ratings,
) -> GroupOffensiveness | None:
    """O(id) of a group, from k and n of its attributes (A,) and resamples (B, A) if any. None without
    stereotypes."""
    chosen = frame.stereotypical
    if not chosen.any():
        return None
    rated = [
        ratings[frame.group_id, attribute or 0]
        for attribute in np.array(frame.attribute_ids, dtype=object)[chosen].tolist()
    ]
    l_stereo = tendency.tendency(k, n, chosen).l_stereo
    point = offensiveness.offensiveness(l_stereo, k[chosen], rated)
    if likelihoods is None or selections is None:
        return GroupOffensiveness(point, None)
    samples = offensiveness.resampled(tendency.mean_over(likelihoods, chosen), selections[:, chosen], rated)
    return GroupOffensiveness(point, samples)


def _rating(printed: float | None, single: list[float], *, published: bool) -> float:
    if published:
        return float("nan") if printed is None else printed
    return float(np.mean(single)) if single else float("nan")
