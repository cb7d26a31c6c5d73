"""Likelihoods and stereotypical tendency (PROTOCOL §6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Floats


@dataclass(frozen=True)
class Tendency:
    """Result of `tendency`. NaN means undefined; `theta` may be infinite."""

    l_stereo: float
    l_random: float
    theta: float
    n_stereotypical: int
    n_random: int


def likelihood(selected: ArrayLike, shown: ArrayLike) -> Floats:
    """Likelihood of each attribute, L(attr, id) = k / n.

    Parameters
    ----------
    selected, shown : array_like of int, shape (A,)
        k, how often each attribute was selected, and n, how often it was shown.

    Returns
    -------
    ndarray of float, shape (A,)
        k / n; NaN (missing) for an attribute that was never shown.

    Raises
    ------
    ValueError
        If the shapes differ, or something is not a count, or k > n.

    References
    ----------
    .. [1] Jha et al. (2024), ViSAGe, ACL 2024. doi:10.18653/v1/2024.acl-long.667

    Examples
    --------
    >>> likelihood([1, 0, 0], [2, 4, 0]).tolist()
    [0.5, 0.0, nan]
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=1)
    return np.asarray(np.divide(k, n, out=np.full(k.shape, np.nan), where=n > 0))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Elementwise quotient of two non-negative arrays, with the limits of θ.

    x / 0 is infinite, 0 / 0 and anything with a NaN are NaN (undefined).

    Examples
    --------
    >>> ratio([0.4, 0.4, 0.0], [0.2, 0.0, 0.0]).tolist()
    [2.0, inf, nan]
    """
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    if bool((top < 0).any()) or bool((bottom < 0).any()):
        raise ValueError("A likelihood cannot be negative.")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(top, bottom))


def tendency(selected: ArrayLike, shown: ArrayLike, stereotypical: ArrayLike) -> Tendency:
    r"""Stereotypical tendency of one identity group.

    .. math:: \theta(id) = L(stereo, id) / L(random, id)

    where :math:`L(stereo, id)` and :math:`L(random, id)` are the unweighted means of the likelihoods
    :math:`k / n` over the stereotypical and over the other attributes.

    Parameters
    ----------
    selected, shown : array_like of int, shape (A,)
        k and n of each attribute, over all images of the group and all annotators.
    stereotypical : array_like of bool, shape (A,)
        Which attributes are stereotypes of the group. In ViSAGe's published tables 'none of the above'
        is one of the others, with its own k and n [1]_; leave it out for the corrected measure.

    Returns
    -------
    Tendency
        An attribute that was never shown is missing: it counts in neither means nor numbers. A mean over
        no attribute is NaN. θ is infinite if only its denominator is 0 and NaN if both are 0.

    Raises
    ------
    ValueError
        As `likelihood`, and if `stereotypical` is not one boolean for each attribute.

    References
    ----------
    .. [1] Jha et al. (2024), ViSAGe, ACL 2024. doi:10.18653/v1/2024.acl-long.667

    Examples
    --------
    >>> tendency([3, 1, 1], [10, 10, 10], [True, True, False])
    Tendency(l_stereo=0.2, l_random=0.1, theta=2.0, n_stereotypical=2, n_random=1)
    """
    values = likelihood(selected, shown)
    stereo = checks.mask("stereotypical", stereotypical, length=len(values))
    seen = ~np.isnan(values)
    means = [
        float(values[chosen].mean()) if chosen.any() else float("nan")
        for chosen in (seen & stereo, seen & ~stereo)
    ]
    return Tendency(
        l_stereo=means[0],
        l_random=means[1],
        theta=float(ratio(means[0], means[1])),
        n_stereotypical=int((seen & stereo).sum()),
        n_random=int((seen & ~stereo).sum()),
    )


def mean_over(values: Floats, chosen: checks.Bools) -> Floats:
    """Row means of `values` (B, A) over the chosen columns, without missing (NaN) values.

    A row without values is NaN. Used for resamples, in which an attribute may not have been shown.

    Examples
    --------
    >>> import numpy as np
    >>> mean_over(np.array([[0.2, 0.4], [np.nan, 0.5]]), np.array([True, True])).round(2).tolist()
    [0.3, 0.5]
    """
    columns = values[:, chosen]
    present = ~np.isnan(columns)
    total, number = np.where(present, columns, 0.0).sum(axis=1), present.sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(len(values), np.nan), where=number > 0))
