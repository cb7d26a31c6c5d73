"""Agreement from sums over units: Krippendorff's coincidences, and counts across two groups (PROTOCOL §10).

All take any number of leading axes, so that a thousand resamples are one call. That is what the
`krippendorff` package, which the tests hold this against, does not offer.
"""

from __future__ import annotations

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

    with n_c the sum of row c, n that of all, n_uc how many gave unit u the value c and m_u how many rated it.
    w_u is 1, or how often a resample drew the unit: that is alpha of the data with the unit repeated.

    Parameters
    ----------
    coincidences : array_like of float, shape (..., V, V)
        Symmetric, each ordered pair of ratings once; weights need not be whole.
    values : sequence of float, length V
        In the order of the scale; distances of level 'interval' are taken from them.
    level : {'nominal', 'ordinal', 'interval'}

    Returns
    -------
    ndarray of float, shape (...)
        NaN where there is no pair, or one value only.

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
    return 1 - _ratio((n - 1) * apart, by_chance)


def kappa(coincidences: ArrayLike) -> Floats:
    r"""Fleiss' kappa of coincidence matrices of units that all have the same number of ratings: then

    .. math:: \bar P = \sum_c o_{cc} / n, \qquad \bar P_e = \sum_c (n_c / n)^2,
       \qquad \kappa = (\bar P - \bar P_e) / (1 - \bar P_e)

    Examples
    --------
    >>> kappa([[2, 0], [0, 2]]).tolist()
    1.0
    """
    observed = np.asarray(coincidences, dtype=np.float64)
    n = observed.sum(axis=(-2, -1))
    same = _ratio(np.trace(observed, axis1=-2, axis2=-1), n)
    by_chance = (_ratio(observed.sum(axis=-1), n[..., None]) ** 2).sum(axis=-1)
    return _ratio(same - by_chance, 1 - by_chance)


def cross_kappa(
    together: ArrayLike, first: ArrayLike, second: ArrayLike, values: Sequence[float], *, level: Level
) -> Floats:
    r"""Cross-replication reliability of two groups of annotators,

    .. math:: \kappa_x = 1 - \frac{\sum_{ck} t_{ck} \delta_{ck} / \sum_{ck} t_{ck}}
       {\sum_{ck} x_c y_k \delta_{ck} / \sum_c x_c \sum_k y_k}

    Parameters
    ----------
    together : array_like of float, shape (..., V, V)
        Pairs of a rating of the one group (rows) and one of the other (columns) of the same unit.
    first, second : array_like of float, shape (..., V)
        Ratings of each group of the units that both rated.
    values, level
        As of `alpha`.

    Returns
    -------
    ndarray of float, shape (...)
        NaN where no disagreement is possible: no pair, or one value only.

    References
    ----------
    .. [1] Wong, Paritosh & Aroyo (2021), Cross-replication reliability, ACL 2021, 7053-7065.
           doi:10.18653/v1/2021.acl-long.548
    """
    pairs = _square("together", together, len(values))
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    distance = distances(x + y, values, level=level)
    observed = _ratio((pairs * distance).sum(axis=(-2, -1)), pairs.sum(axis=(-2, -1)))
    by_chance = np.einsum("...c,...ck,...k->...", x, distance, y)
    return 1 - _ratio(observed * x.sum(axis=-1) * y.sum(axis=-1), by_chance)


def distances(frequencies: ArrayLike, values: Sequence[float], *, level: Level) -> Floats:
    """Krippendorff's squared distance between any two values, shape (..., V, V), of values that were given
    `frequencies` (..., V) times. Raises ValueError for an unknown level and values out of order.

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
    # ordinal: how many ratings lie between two values, half of those at either end
    place = scale if level == "interval" else np.cumsum(given, axis=-1) - given / 2
    return np.asarray((place[..., :, None] - place[..., None, :]) ** 2)


def _square(name: str, given: ArrayLike, size: int) -> Floats:
    array = np.asarray(given, dtype=np.float64)
    if array.shape[-2:] != (size, size):
        raise ValueError(
            f"{name} has shape {array.shape}; (..., {size}, {size}) is needed for {size} values."
        )
    return array


def _ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """NaN where the denominator is 0, or nothing but what rounding left of it."""
    over, under = np.broadcast_arrays(np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64))
    return np.asarray(np.divide(over, under, out=np.full(over.shape, np.nan), where=under > 1e-12))
