"""Agreement between annotators, within and across groups of them, with intervals (PROTOCOL §10).

All take a table of ratings (`rated_pairs.Ratings`). Missing ratings are not counted; only pairs within a
unit are compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.stats import across, coincidences, pairs_by_subject
from metrics.agreement.stats import rated_pairs as pairs
from metrics.agreement.stats.cell_influences import LEAST, coefficient_step, gradient, influences_from
from metrics.agreement.stats.coincidences import Level, ratio
from metrics.agreement.stats.estimates import Estimate, check_rng, estimates_of, with_intervals
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats import checks
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import COEFFICIENT, SHARE
from metrics.core.stats.spread import Spread


@dataclass(frozen=True)
class Within:
    """Agreement of one group of annotators on `units` with at least one rating, `ratings` in all.

    `share`: share of the `pairs` of ratings that are equal; `agreeing`: their number. A unit with m ratings
    has m (m − 1) / 2 pairs, so units with more ratings weigh more.
    """

    units: int
    ratings: int
    pairs: int
    agreeing: int
    share: Estimate
    alpha: Estimate
    fleiss_kappa: Estimate


@dataclass(frozen=True)
class Between:
    """Agreement between two groups of annotators on the `units` that both rated, with their `ratings`."""

    units: int
    ratings: int
    pairs: int
    agreeing: int
    share: Estimate
    kappa: Estimate


def within(
    table: Ratings,
    values: Sequence[float],
    *,
    level: Level,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    clustered: bool = False,
) -> Within:
    """Krippendorff's alpha [1]_, Fleiss' kappa [2]_ and the share of agreeing pairs.

    `values`, length V: the columns of `table.counts`, in the order of the scale. `level` is that of alpha;
    kappa is nominal. `clustered`: with 95 % intervals from influences (`within_influences`), which need two
    clusters and, of annotators who are identified, three. `resamples` and `rng`: for 95 % percentile
    intervals over clusters and annotators (`rated_pairs.resampled`) instead; 0 for none. alpha: 1 is perfect,
    0 is chance, below 0 is systematic disagreement; undefined without a pair of ratings or if only one value
    was given. kappa is also undefined if units have different numbers of ratings.

    References
    ----------
    .. [1] Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
           https://repository.upenn.edu/asc_papers/43
    .. [2] Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin
           76(5), 378-382. doi:10.1037/h0031619

    Examples
    --------
    >>> found = within(table_of([[2, 0], [0, 2], [2, 0]]), [0, 1], level="nominal")
    >>> found.alpha.value, found.fleiss_kappa.value, found.share.value
    (1.0, 1.0, 1.0)
    """
    whole = np.zeros(len(table.units), dtype=np.int64)
    rng_of = None if rng is None else lambda part: rng
    return within_each(
        table, whole, values, parts=1, level=level, resamples=resamples, rng=rng_of, clustered=clustered
    )[0]


def within_each(
    table: Ratings,
    part_of: ArrayLike,
    values: Sequence[float],
    *,
    parts: int,
    level: Level,
    resamples: int = 0,
    rng: Callable[[int], np.random.Generator] | None = None,
    clustered: bool = False,
) -> list[Within]:
    """`within` for the rows of each part separately, for thousands of parts at once.

    `part_of` (R,): the part of each row of `table`, from 0 to `parts` - 1. `rng`: from a part to its
    generator; called only if an interval is computed.

    Examples
    --------
    >>> table = table_of([[2, 0], [1, 1], [0, 2]])
    >>> found = within_each(table, [0, 1, 0], [0, 1], parts=2, level="nominal")
    >>> [(one.units, one.alpha.value) for one in found]
    [(2, 1.0), (1, 0.0)]
    """
    _check_width(table, values)
    check_rng(resamples, rng)

    found: list[Within] = []
    for some in pairs_by_subject.in_parts(table, part_of, parts):
        points = _within(some.total, some.regular, values, level=level)
        alphas, kappas = (
            alpha_of_people(some.total, some.same_person, values, level=each) for each in (level, "nominal")
        )
        centres = np.stack([np.full(len(alphas), np.nan), alphas, kappas], axis=-1)
        whole = some.total[:, -2:].round().astype(np.int64)
        with_pairs = np.flatnonzero(whole[:, 1])
        linear = _influences(
            [some.cells(part) for part in with_pairs.tolist()], some.regular[with_pairs], values, level=level
        )
        for part, (agreeing, number) in enumerate(whole.tolist()):
            drawn: Spread | None = None
            if clustered and number:
                drawn = next(linear)
            elif rng is not None and resamples and some.several[part]:
                sums = pairs.resampled(some.cells(part), resamples=resamples, rng=rng(len(found)))
                drawn = _within(sums, some.regular[part], values, level=level)
            share, alpha, kappa = with_intervals(
                points[part], drawn, resamples, (SHARE, COEFFICIENT, COEFFICIENT), centres=centres[part]
            )
            units, ratings = int(some.units[part]), int(some.ratings[part])
            found.append(Within(units, ratings, number, agreeing, share, alpha, kappa))
    return found


def within_influences(
    cells: Cells, values: Sequence[float], *, level: Level, regular: bool = True
) -> Influences:
    r"""Influences on the share of agreeing pairs, alpha and Fleiss' kappa, from the result of
    `rated_pairs.within`. `regular`: whether all units have the same number of ratings; kappa is undefined
    otherwise. Raises ValueError without pairs.

    A unit of m ratings has m (m - 1) / 2 pairs, m - 1 of them with any one rating: of n paired ratings, one
    can change the share by 2 / n.
    """
    return next(_influences([cells], np.array([regular]), values, level=level))


def _influences(
    parts: Sequence[Cells], regular: Bools, values: Sequence[float], *, level: Level
) -> Iterator[Influences]:
    """`within_influences` of each of P parts, thousands perhaps: the derivatives of all at once."""
    if not parts:
        return
    total = np.stack([cells.total for cells in parts])
    derivatives = gradient(lambda sums: _within(sums, regular[:, None], values, level=level), total)
    steps, least = within_steps(total, values, level=level)
    for place, cells in enumerate(parts):
        yield influences_from(
            cells, derivatives[place], mass=cells.sums[:, -1], step=steps[place], least=least[place]
        )


def within_steps(total: Floats, values: Sequence[float], *, level: Level) -> tuple[Floats, Floats]:
    """`step` and `least` (..., 3) of `within_influences`, from sums (..., V·V + 2)."""
    given = _square(total, values).sum(axis=-1)
    nominal = 2 * coefficient_step(given, given, values, level="nominal")
    own = nominal if level == "nominal" else 2 * coefficient_step(given, given, values, level=level)
    step = np.stack([2 / given.sum(axis=-1), own, nominal], axis=-1)
    return step, step * np.array([1, LEAST, LEAST])


def _within(sums: Floats, regular: ArrayLike, values: Sequence[float], *, level: Level) -> Floats:
    """The share, alpha and kappa (..., 3) of sums (..., V·V + 2)."""
    kappa = np.where(regular, coincidences.kappa(_square(sums, values)), np.nan)
    return np.stack([*share_and_alpha(sums, values, level=level), kappa], axis=-1)


def share_and_alpha(sums: Floats, values: Sequence[float], *, level: Level) -> tuple[Floats, Floats]:
    """The share of agreeing pairs and Krippendorff's alpha, shape (...) each, of sums (..., V·V + 2) as the
    cells of `rated_pairs.within` have them. NaN as in `within`."""
    alpha = coincidences.alpha(_square(sums, values), values, level=level)
    return ratio(sums[..., -2], sums[..., -1]), alpha


def alpha_of_people(sums: Floats, same_person: Floats, values: Sequence[float], *, level: Level) -> Floats:
    """`coincidences.alpha_of_people` (...) of sums (..., V·V + 2): what the intervals of alpha, and of kappa
    for level 'nominal', lie around."""
    return coincidences.alpha_of_people(_square(sums, values), same_person, values, level=level)


def between(
    table: Ratings,
    second: ArrayLike,
    values: Sequence[float],
    *,
    level: Level,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    clustered: bool = False,
) -> Between:
    """The share of agreeing pairs with one rating from each group, and the cross-replication reliability
    (`coincidences.cross_kappa`); with one nominal rating from each group this is Cohen's kappa (1960,
    doi:10.1177/001316446002000104).

    `second` (R,): which rows of `table` belong to the second group. Units without ratings from both groups
    are left out.

    Examples
    --------
    >>> both = Ratings(np.eye(2, dtype=int)[[0, 0, 1, 1]], np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]),
    ...                np.array([7, 8, 7, 8]))
    >>> between(both, [False, True, False, True], [0, 1], level="nominal").kappa.value
    1.0
    """
    _check_width(table, values)
    v = len(values)
    cells = pairs.between(table, second)

    mass, step, least = across.scope(cells, values, level=level)
    share, kappa = estimates_of(
        cells,
        lambda sums: across.share_and_kappa(sums, values, level=level),
        resamples,
        rng,
        clustered=clustered,
        mass=mass,
        step=step,
        least=least,
        scales=(SHARE, COEFFICIENT),
        across=True,
    )
    other = np.asarray(second, dtype=np.bool_)
    sides = [_ratings_of_units(table, only=side) for side in (~other, other)]
    shared = (sides[0] > 0) & (sides[1] > 0)
    square = cells.total[: v * v].reshape(v, v)
    return Between(
        units=int(shared.sum()),
        ratings=int((sides[0] + sides[1])[shared].sum()),
        pairs=round(float(square.sum())),
        agreeing=round(float(np.trace(square))),
        share=share,
        kappa=kappa,
    )


def mean_over_pairs(
    cells: Cells,
    *,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    clustered: bool = False,
) -> Estimate:
    """The mean of a number from 0 to 1 over pairs of annotators, such as the IoU of their boxes. `sums`: its
    sum and the number of pairs.

    Examples
    --------
    >>> mean_over_pairs(Cells(np.array([[1.5, 2]]), np.array([0]), np.array([1]), np.array([2]))).value
    0.75
    """
    number = cells.sums[:, 1]
    return estimates_of(
        cells,
        lambda sums: ratio(sums[..., :1], sums[..., 1:]),
        resamples,
        rng,
        clustered=clustered,
        mass=number,
        step=[2 / max(float(number.sum()), 2.0)],  # in two pairs of an item that three people boxed
        scales=(SHARE,),
    )[0]


def table_of(counts: ArrayLike) -> Ratings:
    """Ratings by annotators who are not identified, each unit its own cluster, from `counts` (U, V)."""
    table = checks.counts("counts", counts, ndim=2)
    each = np.arange(len(table))
    return Ratings(table, each, each, np.full(len(table), UNKNOWN_ANNOTATOR))


def _square(sums: Floats, values: Sequence[float]) -> Floats:
    """The coincidences (..., V, V) among the sums."""
    return np.asarray(sums[..., :-2].reshape(*sums.shape[:-1], len(values), len(values)))


def _ratings_of_units(table: Ratings, only: ArrayLike = True) -> Floats:
    """Number of ratings of each unit of `table`, over the rows `only`."""
    return np.asarray(np.bincount(table.numbered, weights=table.counts.sum(axis=1) * np.asarray(only)))


def _check_width(table: Ratings, values: Sequence[float]) -> None:
    if table.counts.shape[1] != len(values):
        raise ValueError(f"counts has {table.counts.shape[1]} columns for {len(values)} values.")
