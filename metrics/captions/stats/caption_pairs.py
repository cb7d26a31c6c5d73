"""Pairs of an attribute and a group that both captions and people found (PROTOCOL §8; Jha et al. 2024,
ViSAGe, ACL 2024, doi:10.18653/v1/2024.acl-long.667)."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Bools


@dataclass(frozen=True)
class Agreement:
    """Of the pairs that captions mention, people were shown `n` and selected `k`; `unjudged` were not shown.
    `share` is k / n, NaN (undefined) for n = 0."""

    k: int
    n: int
    unjudged: int

    @property
    def share(self) -> float:
        return self.k / self.n if self.n else float("nan")


def agreement(named: ArrayLike, selected: ArrayLike, shown: ArrayLike) -> Agreement:
    """The share of pairs mentioned in captions and shown to people that somebody selected, L(attr, id) > 0.

    `named`, `selected`, `shown`, shape (P,): how often captions mention each pair, people selected it, and
    people were shown it. Raises ValueError if the shapes differ, a value is not a count, or a pair was
    selected more often than shown.

    Examples
    --------
    >>> agreement([2, 1, 0, 4], [1, 0, 3, 0], [3, 3, 3, 0])
    Agreement(k=1, n=2, unjudged=1)
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=1)
    times_named = checks.counts("named", named, ndim=1)
    if times_named.shape != n.shape:
        raise ValueError(f"named has shape {times_named.shape} and shown {n.shape}; they must be the same.")
    is_named, is_shown = times_named > 0, n > 0
    return Agreement(
        int((is_named & (k > 0)).sum()), int((is_named & is_shown).sum()), int((is_named & ~is_shown).sum())
    )


def resampled(
    named: ArrayLike, selected: ArrayLike, shown: ArrayLike, *, image_weights: ArrayLike
) -> tuple[Bools, Bools]:
    """Which pairs of one group people agree with, and which are counted, in each resample: (B, A) each. The
    shares are the row sums of the first divided by those of the second.

    `named` (I, A): how often the captions of each image mention each attribute. `selected`, `shown` (B, A): k
    and n in each resample, as `bootstrap.weighted_sums` gives them, from the same draws as `image_weights`
    (B, I): a drawn image contributes both its captions and its judgements.

    Examples
    --------
    >>> agreed, counted = resampled([[1], [0]], [[1], [0]], [[2], [2]], image_weights=[[1, 1], [2, 0]])
    >>> agreed.tolist(), counted.tolist()
    ([[True], [False]], [[True], [True]])
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=2)
    weights = checks.counts("image_weights", image_weights, ndim=2)
    times_named = checks.counts("named", named, ndim=2)
    if weights.shape != (len(k), len(times_named)) or times_named.shape[1] != k.shape[1]:
        raise ValueError(
            f"named has shape {times_named.shape}, selected {k.shape} and image_weights {weights.shape}; "
            "(I, A), (B, A) and (B, I) are needed."
        )
    is_named = weights @ times_named > 0
    return is_named & (k > 0), is_named & (n > 0)
