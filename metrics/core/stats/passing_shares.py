"""Shares of units that pass a rule about their labels, resampled over items and annotators (PROTOCOL §2, §3,
§10). For consensus, the rules of visual nature, and known stereotypes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints

Rule = Callable[[Ints], tuple[Bools, Bools]]
"""From a table (N, C) of how often each unit was given each label to which units pass and which count, (N, M)
each."""


def count_labels(units: ArrayLike, labels: ArrayLike, *, shape: tuple[int, int]) -> Ints:
    """How often each unit was given each label, shape (U, C). `units` and `labels` (R,) of the answers start
    at 0.

    Examples
    --------
    >>> count_labels([0, 0, 1], [1, 1, 0], shape=(2, 2)).tolist()
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
    require_all_units: bool = False,
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    r"""Share of counted units that pass in each resample of items and annotators, recentred on the estimate.

    Items and annotators are drawn independently, with replacement, as many as there are (Owen 2007,
    doi:10.1214/07-AOAS122). An answer is repeated as often as its annotator was drawn, the rule is applied to
    the resampled answers, and a unit counts as often as its item was drawn:

    .. math:: s_b = \frac{\sum_u w_{b,item(u)} \, passed(T_{bu})}{\sum_u w_{b,item(u)} \, counted(T_{bu})},
              \qquad T_{bul} = \sum_{r: u(r) = u, l(r) = l} v_{b,annotator(r)}

    An annotator who is drawn twice agrees with themselves, so only the spread is used
    (`percentiles.recentred`).

    `units` and `labels` (R,) as in `count_labels`; `annotators` (R,): any labels, equal ones are one cluster;
    if they are unknown, one for each answer. `items` (U,): the item of each unit; `number`: how many labels
    there are, C. `rule` must not count a unit without drawn answers. `require_all_units`: items count once,
    and pass if all their counted units do. The shares, (resamples, M), are NaN if nothing counts in a
    resample. Raises ValueError without an answer.

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
    annotator_of = checks.labels("annotators", annotators, length=len(cells))
    if resamples < 1:
        raise ValueError(f"{resamples} resamples: at least 1 is needed.")
    order = np.argsort(cells, kind="stable")
    given, starts = np.unique(cells[order], return_index=True)
    size = len(item_of) * number
    item_rng, annotator_rng = rng.spawn(2)
    pieces = []
    for rows in bootstrap.chunks(resamples, max(size, len(cells))):
        drawn = rows.stop - rows.start
        times = bootstrap.cluster_weights(int(annotator_of.max()) + 1, drawn, annotator_rng)
        table = np.zeros((drawn, size), dtype=np.int64)
        table[:, given] = np.add.reduceat(times[:, annotator_of[order]], starts, axis=1)
        passed, counted = rule(table.reshape(-1, number))
        weights = bootstrap.cluster_weights(int(item_of.max()) + 1, drawn, item_rng)
        shape = (drawn, len(item_of), passed.shape[1])
        pieces.append(
            _shares(passed.reshape(shape), counted.reshape(shape), item_of, weights, require_all_units)
        )
    passed, counted = rule(np.bincount(cells, minlength=size).reshape(-1, number))
    once = np.ones((1, int(item_of.max()) + 1), dtype=np.int64)
    estimates = _shares(passed[None], counted[None], item_of, once, require_all_units)[0]
    return np.column_stack(
        [
            percentiles.recentred(column, estimate)
            for column, estimate in zip(np.concatenate(pieces).T, estimates.tolist(), strict=True)
        ]
    )


def _shares(passed: Bools, counted: Bools, item_of: Ints, weights: Ints, require_all_units: bool) -> Floats:
    """Shares (B, M) from `passed` and `counted` (B, U, M) and item `weights` (B, I)."""
    if require_all_units:
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
    """Whether any unit of each item is true: (B, U, M) -> (B, I, M)."""
    order = np.argsort(item_of, kind="stable")
    _, starts = np.unique(item_of[order], return_index=True)
    return np.asarray(np.logical_or.reduceat(units[:, order], starts, axis=1))


def _cells(units: ArrayLike, labels: ArrayLike, shape: tuple[int, int]) -> Ints:
    """The flat index of each answer in the table of units and labels."""
    unit_of, label_of = checks.counts("units", units, ndim=1), checks.counts("labels", labels, ndim=1)
    if unit_of.shape != label_of.shape:
        raise ValueError(
            f"There are {len(unit_of)} units and {len(label_of)} labels; an answer has one of each."
        )
    for name, each, most in (("unit", unit_of, shape[0]), ("label", label_of, shape[1])):
        if bool((each >= most).any()):
            raise ValueError(f"An answer has the {name} {each.max()}, and there are {most}, from 0.")
    return unit_of * shape[1] + label_of
