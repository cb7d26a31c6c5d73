"""Shares of units that pass a rule about their labels, and how they vary with items and annotators (PROTOCOL
§2, §3, §10). For consensus, the rules of visual nature, and known stereotypes."""

from collections.abc import Callable
from dataclasses import replace
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences, influences

Rule = Callable[[Ints], tuple[Bools, Bools]]
"""From a table (N, C) of how often each unit was given each label to which units pass and which count, (N, M)
each."""


class Options(TypedDict):
    """What the resamples and the influences of shares depend on, beside the answers."""

    items: ArrayLike
    number: int
    rule: Rule
    require_all_units: NotRequired[bool]


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


def share_influences(
    units: ArrayLike,
    labels: ArrayLike,
    annotators: ArrayLike,
    *,
    items: ArrayLike,
    number: int,
    rule: Rule,
    require_all_units: bool = False,
    alike: ArrayLike | None = None,
) -> list[Influences]:
    r"""Influences on the share of counted units that pass: one for each column of `rule`, because each counts
    other units.

    Of an item, and of an answer l of a unit whose other answers are o:

    .. math:: d_i = \sum_{u \in i} \frac{passed_u - s}{U}, \qquad
              d_r = \frac{1}{U} \Big(passed(o, l) - \sum_{l'} \pi_{l'} \, passed(o, l')\Big) - \bar d

    with :math:`\pi` the share of each label among all answers. d_r is what the answer adds to what any answer
    would: its sum over the answers of an annotator estimates the first term of Hoeffding's decomposition of
    the share (van der Vaart 1998, Asymptotic Statistics, chapter 11, doi:10.1017/CBO9780511802256).

    The arguments are those of `resampled_shares`; `annotators` below 0 are not identified. `alike` (C,): the
    kind of each label; only labels of the same kind replace each other, by default all do. Those of a share
    without counted units are undefined.

    Examples
    --------
    >>> both = lambda table: (table[:, :1] >= 2, table.sum(axis=1, keepdims=True) > 0)
    >>> [found] = share_influences([0, 0, 1], [0, 0, 0], [1, 2, 3], items=["a", "b"], number=1, rule=both)
    >>> found.images.change.round(3).tolist(), found.step.tolist()
    ([[0.354], [-0.354]], [0.5])
    """
    item_of = checks.labels("items", items, length=np.size(items))
    cells = _cells(units, labels, (len(item_of), number))
    who = np.asarray(annotators)
    if who.shape != cells.shape:
        raise ValueError(f"annotators has shape {who.shape}; one for each of {len(cells)} answers is needed.")
    kinds = np.zeros(number, dtype=np.int64) if alike is None else np.asarray(alike)
    table = np.bincount(cells, minlength=len(item_of) * number).reshape(-1, number)
    passed, counted = rule(table)
    given, answer_of = np.unique(cells, return_inverse=True)
    added = passed[given // number] - _expected(table, given, rule, kinds)
    unit_of = cells // number
    if require_all_units:
        failed = counted & ~passed
        number_failed = np.zeros((int(item_of.max(initial=-1)) + 1, passed.shape[1]), dtype=np.int64)
        np.add.at(number_failed, item_of, failed)
        others_fail = (number_failed[item_of] - failed)[given // number] > 0
        added = np.where(others_fail, 0.0, added)
        counted = _any_of(counted[None], item_of)[0]
        passed, unit_of = counted & (number_failed == 0), item_of[unit_of]
        item_of = np.arange(len(counted))
    found = influences_of_each(passed, counted, clusters=item_of)
    for column, of_items in enumerate(found):
        used = counted[unit_of, column]
        if used.any():
            values = added[answer_of.ravel()[used], column] / counted[:, column].sum()
            of_answers = influences(
                (values - values.mean())[:, None], images=item_of[unit_of[used]], annotators=who[used]
            )
            found[column] = replace(
                of_answers,
                images=of_items.images,
                step=of_items.step,
                least=of_items.least,
                many_items=True,
            )
    return found


def _expected(table: Ints, given: Ints, rule: Rule, kinds: Ints) -> Floats:
    """For each of the answers `given`, cells of `table`, whether its unit would pass with another answer, in
    the mean over all answers of the same kind: (D, M)."""
    number = table.shape[1]
    of_label = table.sum(axis=0)
    shares = of_label / np.maximum(np.bincount(kinds, weights=of_label)[kinds], 1)
    unit, label = given // number, given % number
    others = table[unit] - np.eye(number, dtype=np.int64)[label]
    expected: Floats = np.zeros(1)
    for instead in range(number):
        with_it = others.copy()
        with_it[:, instead] += 1
        same = (kinds[label] == kinds[instead])[:, None]
        expected = expected + np.where(same, shares[instead] * rule(with_it)[0], 0.0)
    return np.asarray(expected)


def influences_of_each(passed: Bools, counted: Bools, *, clusters: Ints) -> list[Influences]:
    """Influences on the share of each column of `passed` among the `counted` rows, (N, M) both, without
    annotators. `clusters` (N,): labels of the items. A share of nothing has undefined ones.

    Examples
    --------
    >>> passed = np.array([[True], [False]])
    >>> [found] = influences_of_each(passed, np.ones_like(passed), clusters=np.array([0, 1]))
    >>> found.images.change.round(3).tolist()
    [[0.354], [-0.354]]
    """
    nobody = np.full(len(clusters), -1)
    found = []
    for fits, rows in zip(passed.T, counted.T, strict=True):
        if rows.any():
            values = (fits[rows] - fits[rows].mean()) / rows.sum()
            found.append(influences(values[:, None], images=clusters[rows], annotators=nobody[rows]))
        else:
            found.append(influences([[np.nan]], images=[0], annotators=[-1]))
    return found


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
