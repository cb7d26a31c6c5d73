"""Differences in agreement between two groups of annotators (PROTOCOL §10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.agreement.stats import coefficients, rated_pairs
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats import spread
from metrics.core.stats.differences import Difference
from metrics.core.stats.scales import COEFFICIENT, SHARE
from metrics.core.stats.spread import Spread


@dataclass(frozen=True)
class AgreementDifference:
    """The first group minus the second: share of agreeing pairs (-1 to 1), and alpha."""

    share: Difference
    alpha: Difference


def agreement_difference(
    first: Cells,
    second: Cells,
    values: Sequence[float],
    *,
    level: Level,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    clustered: bool = False,
) -> AgreementDifference:
    r"""Agreement within one group of annotators minus that within another,

    .. math:: d = \alpha_1 - \alpha_2, \qquad d_b = \alpha(S_{b1}) - \alpha(S_{b2})

    where S_b1 and S_b2 are the sums of both groups in the same resample (`rated_pairs.paired_resampled`).
    Shared images and annotators are drawn once for both groups, so that the difficulty of an image cancels.
    Interval and p are those of `differences.difference`; or, if `clustered`, from the influences of both
    groups (`coefficients.within_influences`), those of shared images and annotators subtracted.

    `first` and `second`: the result of `rated_pairs.within` for each group, with `sums` (R, V·V + 2); equal
    clusters and annotators are the same image and person. `values` and `level` as in `coefficients.within`.
    NaN if either side is undefined; interval and p are also NaN without both, or if the pairs of a side are
    from a single cluster. Raises ValueError for another width, and for resamples without `rng`.

    Examples
    --------
    >>> same, other = (rated_pairs.within(coefficients.table_of(counts)) for counts in ([[2, 0], [0, 2]],
    ...                                                                              [[1, 1], [0, 2]]))
    >>> found = agreement_difference(same, other, [0, 1], level="nominal")
    >>> found.share.value, found.alpha.value
    (0.5, 1.0)
    """
    width = len(values) ** 2 + 2
    for side in (first, second):
        if side.sums.shape[1] != width:
            raise ValueError(f"sums has {side.sums.shape[1]} columns; {len(values)} values need {width}.")
    if resamples and rng is None:
        raise ValueError("An interval needs a random generator: give rng.")
    points = [coefficients.share_and_alpha(side.total, values, level=level) for side in (first, second)]
    # undefined unless both can be resampled
    spreads: tuple[Spread, Spread] = (np.full((resamples, 2), np.nan),) * 2
    if clustered and len(first.sums) and len(second.sums):
        one, other = (coefficients.within_influences(side, values, level=level) for side in (first, second))
        spreads = one.columns([0, 1]), other.columns([0, 1])
    elif resamples and rng is not None and first.several_clusters and second.several_clusters:
        both = rated_pairs.paired_resampled(first, second, resamples=resamples, rng=rng)
        one_drawn, other_drawn = (
            np.column_stack(coefficients.share_and_alpha(sums, values, level=level)) for sums in both
        )
        spreads = one_drawn, other_drawn
    scales = SHARE, COEFFICIENT
    share, alpha = spread.difference(points[0], points[1], spreads, (scales, scales))
    return AgreementDifference(share, alpha)
