"""Shares of what passes a rule by the labels it was given, resampled over items and annotators (PROTOCOL §2,
§3, §10): consensus, the rules of visual nature, known stereotypes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints

Rule = Callable[[Ints], tuple[Bools, Bools]]
"""Of tables (N, C), how often each unit was given each label: what passed and what counts, (N, M) each."""

# Numbers held at once: 4 million are 32 MB, whatever the number of answers.
_CHUNK_SIZE = 4_000_000


def count_labels(units: ArrayLike, labels: ArrayLike, *, shape: tuple[int, int]) -> Ints:
    """How often each unit was given each label.

    Parameters
    ----------
    units, labels : array_like of int, shape (R,)
        The unit and the label of each answer, from 0.
    shape : (int, int)
        U and C: how many units and labels there are.

    Returns
    -------
    ndarray of int, shape (U, C)

    Examples
    --------
    >>> tables([0, 0, 1], [1, 1, 0], shape=(2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    cells = _cells(units, labels, shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def resampled_shares(
    units: ArrayLike,
    labels: ArrayLike,
    annotators: ArrayLike,
    *,
    items: ArrayLike,
    number: int,
    rule: Rule,
    every_time: bool = False,
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    r"""Share of the counted units that pass, in each resample of items and annotators, moved to the estimate.

    Items and annotators are drawn independently, with replacement, as many as there are [1]_. An answer is
    there as often as its annotator was drawn, the rule is asked again of what is there, and a unit counts as
    often as its item was drawn:

    .. math:: s_b = \frac{\sum_u w_{b,item(u)} \, passed(T_{bu})}{\sum_u w_{b,item(u)} \, counted(T_{bu})},
              \qquad T_{bul} = \sum_{r: u(r) = u, l(r) = l} v_{b,annotator(r)}

    A rule asks how many said the same, and whoever is drawn twice says the same twice: a resample passes it
    more often, or less, than answers of as many people would. The spread is what is wanted; the shares are
    moved so that their mean is the estimate (`percentiles.recentred`).

    Parameters
    ----------
    units, labels : array_like of int, shape (R,)
        As in `tables`.
    annotators : array_like, shape (R,)
        Any labels; equal labels are one cluster. Where nobody knows who answered, one for each answer.
    items : array_like, shape (U,)
        What each unit is about: units about the same are drawn together.
    number : int
        How many labels there are, C.
    rule : Rule
        A unit that no drawn annotator answered must not be counted.
    every_time : bool
        An item is counted once, and passes if each of its counted units does; else each unit counts.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (resamples, M)
        NaN where a resample holds nothing that is counted.

    References
    ----------
    .. [1] Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411.
           doi:10.1214/07-AOAS122

    Examples
    --------
    >>> both = lambda table: (table[:, :1] >= 2, table.sum(axis=1, keepdims=True) > 0)
    >>> resampled_shares([0, 0, 1, 1], [0, 0, 0, 0], [1, 2, 1, 2], items=["a", "b"], number=1, rule=both,
    ...                  resamples=3, rng=np.random.default_rng(0)).tolist()
    [[1.0], [1.0], [1.0]]
    """
    item_of = checks.labels("items", items, length=np.size(items))
    cells = _cells(units, labels, (len(item_of), number))
    if not len(cells):
        raise ValueError("There is no answer to resample.")
    who = checks.labels("annotators", annotators, length=len(cells))
    if resamples < 1:
        raise ValueError(f"{resamples} resamples: at least 1 is needed.")
    order = np.argsort(cells, kind="stable")
    given, starts = np.unique(cells[order], return_index=True)
    size = len(item_of) * number
    for_items, for_annotators = rng.spawn(2)
    pieces = []
    step = max(1, _CHUNK_SIZE // max(size, len(cells)))
    for start in range(0, resamples, step):
        drawn = min(step, resamples - start)
        times = bootstrap.cluster_weights(int(who.max()) + 1, drawn, for_annotators)
        table = np.zeros((drawn, size), dtype=np.int64)
        table[:, given] = np.add.reduceat(times[:, who[order]], starts, axis=1)
        passed, counted = rule(table.reshape(-1, number))
        weights = bootstrap.cluster_weights(int(item_of.max()) + 1, drawn, for_items)
        shape = (drawn, len(item_of), passed.shape[1])
        pieces.append(_shares(passed.reshape(shape), counted.reshape(shape), item_of, weights, every_time))
    estimates = _estimates(np.bincount(cells, minlength=size).reshape(-1, number), rule, item_of, every_time)
    return np.column_stack(
        [
            percentiles.recentred(column, estimate)
            for column, estimate in zip(np.concatenate(pieces).T, estimates.tolist(), strict=True)
        ]
    )


def _estimates(table: Ints, rule: Rule, item_of: Ints, every_time: bool) -> Floats:
    """The shares of the answers as they are, shape (M,)."""
    passed, counted = rule(table)
    once = np.ones((1, int(item_of.max()) + 1), dtype=np.int64)
    return np.asarray(_shares(passed[None], counted[None], item_of, once, every_time)[0])


def _shares(passed: Bools, counted: Bools, item_of: Ints, weights: Ints, every_time: bool) -> Floats:
    """`passed` and `counted` (B, U, M), `weights` (B, I) of the items -> (B, M)."""
    if every_time:
        failed, counted = _any_of(counted & ~passed, item_of), _any_of(counted, item_of)
        passed = counted & ~failed
    else:
        weights = weights[:, item_of]
    top, bottom = (
        np.einsum("bi,bim->bm", weights.astype(np.float64), each.astype(np.float64))
        for each in (passed & counted, counted)
    )
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def _any_of(units: Bools, item_of: Ints) -> Bools:
    """Whether it holds of any unit of each item: (B, U, M) -> (B, I, M)."""
    order = np.argsort(item_of, kind="stable")
    _, starts = np.unique(item_of[order], return_index=True)
    return np.asarray(np.logical_or.reduceat(units[:, order], starts, axis=1))


def _cells(units: ArrayLike, labels: ArrayLike, shape: tuple[int, int]) -> Ints:
    """The place of each answer in the table of units and labels, row by row."""
    of, said = checks.counts("units", units, ndim=1), checks.counts("labels", labels, ndim=1)
    if of.shape != said.shape:
        raise ValueError(f"There are {len(of)} units and {len(said)} labels; an answer has one of each.")
    for name, each, most in (("unit", of, shape[0]), ("label", said, shape[1])):
        if bool((each >= most).any()):
            raise ValueError(f"An answer has the {name} {each.max()}, and there are {most}, from 0.")
    return of * shape[1] + said
