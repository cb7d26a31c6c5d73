"""Agreement from sums over units: Krippendorff's coincidences, and counts across two groups (PROTOCOL §10).

All functions take any number of leading axes, so that a thousand resamples are one call. The `krippendorff`
package, which the tests compare with, does not offer this.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def alpha(coincidences: ArrayLike, values: Sequence[float], *, level: Level) -> Floats:
    r"""Krippendorff's alpha of coincidence matrices,

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck} \delta_{ck}}{\sum_{ck} n_c n_k \delta_{ck}},
       \qquad o_{ck} = \sum_u w_u \frac{n_{uc} (n_{uk} - [c = k])}{m_u - 1}

    where n_c is the sum of row c, n the total, n_uc the number of ratings c of unit u, and m_u its number of
    ratings. w_u is 1, or how often a resample drew the unit.

    `coincidences` (..., V, V): symmetric; each ordered pair of ratings counts once. `values` (V,), in the
    order of the scale, define the distances of level 'interval'. The result (...) is NaN without pairs or
    with only one value.

    References
    ----------
    .. [1] Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
           https://repository.upenn.edu/asc_papers/43

    Examples
    --------
    >>> alpha([[[2, 0], [0, 2]], [[1, 1], [1, 1]]], [0, 1], level="nominal").tolist()
    [1.0, 0.25]
    """
    observed = _square("coincidences", coincidences, len(values))
    totals = observed.sum(axis=-1)
    distance = distances(totals, values, level=level)
    n = totals.sum(axis=-1)
    apart = (observed * distance).sum(axis=(-2, -1))
    by_chance = np.einsum("...c,...ck,...k->...", totals, distance, totals)
    return 1 - ratio((n - 1) * apart, by_chance)


def alpha_of_people(
    coincidences: ArrayLike, same_person: ArrayLike, values: Sequence[float], *, level: Level
) -> Floats:
    r"""What alpha would be with endless annotators who differ like these,

    .. math:: \alpha' = 1 - \frac{n^2 - \sum_{ck} s_{ck}}{n} \,
       \frac{\sum_{ck} o_{ck} \delta_{ck}}{\sum_{ck} (n_c n_k - s_{ck}) \delta_{ck}}

    with s (..., V, V) the pairs of ratings by the same person, in either order, each rating with itself
    among them. :func:`alpha` counts two ratings that one person gave different units as chance agreement as
    well: where few people use the values differently, it is too small. Both are equal if everybody gave one
    rating.
    NaN as alpha is, and if one person gave all ratings.

    Examples
    --------
    One person said 0, 0, 0, 1 of four units, another 0, 0, 1, 1:

    >>> round(float(alpha([[4, 1], [1, 2]], [0, 1], level="nominal")), 3)
    0.533
    >>> round(float(alpha_of_people([[4, 1], [1, 2]], [[13, 7], [7, 5]], [0, 1], level="nominal")), 3)
    0.5
    """
    observed = _square("coincidences", coincidences, len(values))
    of_one = _square("same_person", same_person, len(values))
    totals = observed.sum(axis=-1)
    distance = distances(totals, values, level=level)
    n = totals.sum(axis=-1)
    apart = (observed * distance).sum(axis=(-2, -1))
    pairs = n**2 - of_one.sum(axis=(-2, -1))
    by_chance = np.einsum("...c,...ck,...k->...", totals, distance, totals) - (of_one * distance).sum(
        axis=(-2, -1)
    )
    return 1 - ratio(ratio(pairs, n) * apart, by_chance)


def kappa(coincidences: ArrayLike) -> Floats:
    r"""Fleiss' kappa of coincidence matrices, if all units have the same number of ratings:

    .. math:: \bar P = \sum_c o_{cc} / n, \qquad \bar P_e = \sum_c (n_c / n)^2,
       \qquad \kappa = (\bar P - \bar P_e) / (1 - \bar P_e)

    Examples
    --------
    >>> kappa([[2, 0], [0, 2]]).tolist()
    1.0
    """
    observed = np.asarray(coincidences, dtype=np.float64)
    n = observed.sum(axis=(-2, -1))
    same = ratio(np.trace(observed, axis1=-2, axis2=-1), n)
    by_chance = (ratio(observed.sum(axis=-1), n[..., None]) ** 2).sum(axis=-1)
    return ratio(same - by_chance, 1 - by_chance)


def cross_kappa(
    together: ArrayLike, first: ArrayLike, second: ArrayLike, values: Sequence[float], *, level: Level
) -> Floats:
    r"""Cross-replication reliability of two groups of annotators,

    .. math:: \kappa_x = 1 - \frac{\sum_{ck} t_{ck} \delta_{ck} / \sum_{ck} t_{ck}}
       {\sum_{ck} x_c y_k \delta_{ck} / \sum_c x_c \sum_k y_k}

    (Wong, Paritosh & Aroyo 2021, ACL 2021, 7053-7065, doi:10.18653/v1/2021.acl-long.548).

    `together` (..., V, V): pairs of one rating from each group (rows: first, columns: second) of the same
    unit. `first` and `second` (..., V): ratings of each group, of units that both rated. The result (...) is
    NaN if disagreement is impossible: no pairs, or only one value.
    """
    pairs = _square("together", together, len(values))
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    distance = distances(x + y, values, level=level)
    observed = ratio((pairs * distance).sum(axis=(-2, -1)), pairs.sum(axis=(-2, -1)))
    by_chance = np.einsum("...c,...ck,...k->...", x, distance, y)
    return 1 - ratio(observed * x.sum(axis=-1) * y.sum(axis=-1), by_chance)


def distances(frequencies: ArrayLike, values: Sequence[float], *, level: Level) -> Floats:
    """Krippendorff's squared distances between values, shape (..., V, V), from their `frequencies` (..., V).
    Raises ValueError for an unknown level and for values that are not in rising order.

    Examples
    --------
    >>> distances([2, 2, 2], [1, 2, 4], level="ordinal")[0].tolist()
    [0.0, 4.0, 16.0]
    """
    if level not in LEVELS:
        raise ValueError(f"level is '{level}'; it is one of {', '.join(LEVELS)}.")
    scale = np.asarray(values, dtype=np.float64)
    if len(scale) < 2 or bool((np.diff(scale) <= 0).any()):
        raise ValueError(f"values is {list(values)}; two or more in rising order are needed.")
    given = np.asarray(frequencies, dtype=np.float64)
    if level == "nominal":
        return 1.0 - np.eye(len(scale))
    # ordinal: number of ratings between two values, with half of those at either end
    place = scale if level == "interval" else np.cumsum(given, axis=-1) - given / 2
    return np.asarray((place[..., :, None] - place[..., None, :]) ** 2)


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """NaN if the denominator is 0 up to rounding.

    Examples
    --------
    >>> ratio([1, 1], [2, 0]).tolist()
    [0.5, nan]
    """
    over, under = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    undefined = np.full(np.broadcast_shapes(over.shape, under.shape), np.nan)
    return np.asarray(np.divide(over, under, out=undefined, where=under > 1e-12))


def _square(name: str, given: ArrayLike, size: int) -> Floats:
    array = np.asarray(given, dtype=np.float64)
    if array.shape[-2:] != (size, size):
        raise ValueError(
            f"{name} has shape {array.shape}; (..., {size}, {size}) is needed for {size} values."
        )
    return array
