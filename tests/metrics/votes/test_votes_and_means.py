"""Votes and thresholds (PROTOCOL §3), means of ratings (§4): bad input, invariance, theory, other programs,
degenerate data."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from metrics.core.stats.means import means, resampled_means
from metrics.core.stats.percentiles import percentile_intervals
from metrics.votes.stats import CELLS, resampled_shares, stereotype_table

NAN = float("nan")


def rng(seed=0):
    return np.random.default_rng(seed)


def votes(rows=300, seed=1, unvoted=0.2):
    """Votes of both pools; some associations have none of the out-region pool."""
    draw = rng(seed)
    inside = draw.multinomial(3, [0.5, 0.4, 0.1], size=rows)
    outside = draw.multinomial(3, [0.6, 0.3, 0.1], size=rows)
    outside[draw.random(rows) < unvoted] = 0
    return inside, outside


def ratings(seed=2, items=40, people=9):
    """Each item rated by three of the people; two selections, the second of half of the items."""
    draw = rng(seed)
    item = np.repeat(np.arange(items), 3)
    annotator = np.concatenate([draw.choice(people, 3, replace=False) for _ in range(items)])
    value = draw.choice([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0], len(item))
    chosen = np.stack([np.ones(len(item), dtype=bool), item % 2 == 0], axis=1)
    return value, chosen, item, annotator


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stereotype_table([[1, 2]], [[1, 2, 0]]), "in_region has 2 columns; it needs 3"),
        (lambda: stereotype_table([[1, 2, 0]], [[1, -2, 0]]), "-2, which is negative"),
        (
            lambda: stereotype_table([[1, 2, 0]], [[0, 0, 0]] * 2),
            "in_region has 1 associations and out_region 2",
        ),
        (lambda: resampled_shares([True], [True], resamples=2, rng=rng()), "the same \\(N, M\\)"),
        (
            lambda: resampled_shares(np.ones((0, 2), bool), np.ones((0, 2), bool), resamples=2, rng=rng()),
            "nothing to resample",
        ),
        (lambda: resampled_shares([[1]], [[1]], resamples=2, rng=rng()), "must be True or False"),
        (lambda: resampled_shares([[True]], [[False]], resamples=2, rng=rng()), "where it is not counted"),
        (lambda: resampled_shares([[True]], [[True]], resamples=0, rng=rng()), "0 resamples"),
        (lambda: means([1.0], [[True], [False]]), "chosen \\(2, 1\\)"),
        (lambda: means([1.0], [[1]]), "must be True or False"),
        (lambda: means([float("inf")], [[True]]), "an infinite rating"),
        (lambda: resampled_means([], np.ones((0, 1), bool), [], resamples=2, rng=rng()), "no rating"),
        (lambda: resampled_means([1.0], [[True]], [1, 2], resamples=2, rng=rng()), "items has shape"),
        (
            lambda: resampled_means([1.0], [[True]], [1], [1, 2], resamples=2, rng=rng()),
            "annotators has shape",
        ),
        (lambda: resampled_means([1.0], [[True]], [1], resamples=0, rng=rng()), "must be at least 1"),
    ],
)
def test_bad_input_is_refused_with_its_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_counts_are_those_of_a_plain_pandas_program():
    inside, outside = votes()
    table = pd.DataFrame({"in": inside[:, 0], "out": outside[:, 0], "voted": outside.sum(axis=1) > 0})
    found = stereotype_table(inside, outside)
    for column, (pool, t) in enumerate(CELLS):
        asked = table if pool == "in-region" else table[table.voted]
        first, second = asked["in"] >= t, asked["out"] >= t
        expected = {"in-region": first, "out-region": second, "both": first & second}[pool]
        assert found.passed[:, column].sum() == expected.sum()
        assert found.counted[:, column].sum() == len(asked)


def test_the_order_of_the_associations_does_not_matter_to_the_counts_or_to_the_draws():
    inside, outside = votes()
    order = rng(5).permutation(len(inside))
    one, other = stereotype_table(inside, outside), stereotype_table(inside[order], outside[order])
    assert (one.passed.sum(axis=0) == other.passed.sum(axis=0)).all()
    drawn = [resampled_shares(each.passed, each.counted, resamples=50, rng=rng(3)) for each in (one, other)]
    np.testing.assert_array_equal(*drawn)


def test_the_pools_swap_with_their_votes_and_the_overlap_stays():
    inside, outside = votes()
    one, other = stereotype_table(inside, outside).passed, stereotype_table(outside, inside).passed
    np.testing.assert_array_equal(one[:, :3], other[:, 3:6])
    np.testing.assert_array_equal(one[:, 6:], other[:, 6:])


def test_a_higher_threshold_never_finds_more_and_the_overlap_is_in_both():
    found = stereotype_table(*votes()).passed.reshape(-1, 3, 3)
    assert (np.diff(found.astype(int), axis=2) <= 0).all()
    assert (found[:, 2] == (found[:, 0] & found[:, 1])).all()


def test_shares_of_resamples_have_the_mean_and_the_spread_of_a_binomial():
    passed = np.arange(400)[:, None] < 100
    drawn = resampled_shares(passed, np.ones_like(passed), resamples=20_000, rng=rng(4))
    assert drawn.mean() == pytest.approx(0.25, abs=0.001)
    assert drawn.std() == pytest.approx(np.sqrt(0.25 * 0.75 / 400), rel=0.02)


def test_the_interval_of_a_share_is_that_of_scipys_percentile_bootstrap():
    passed = rng(6).random(150) < 0.3
    drawn = resampled_shares(passed[:, None], np.ones((150, 1), dtype=bool), resamples=20_000, rng=rng(7))
    mine = percentile_intervals(drawn, [passed.mean()])[0]
    theirs = scipy_stats.bootstrap(
        (passed.astype(float),), np.mean, n_resamples=20_000, method="percentile", rng=rng(8)
    ).confidence_interval
    # a share of 150 moves in steps of 1/150
    assert mine.low == pytest.approx(theirs.low, abs=0.007)
    assert mine.high == pytest.approx(theirs.high, abs=0.007)


def test_the_interval_of_a_share_covers_the_truth_about_as_often_as_it_says():
    draw, covered = rng(20), 0
    for _ in range(500):
        passed = draw.random((80, 1)) < 0.4
        drawn = resampled_shares(passed, np.ones_like(passed), resamples=400, rng=draw)
        found = percentile_intervals(drawn, [passed.mean()])[0]
        covered += found.low <= 0.4 <= found.high
    assert 0.91 <= covered / 500 <= 0.98


def test_the_interval_of_a_mean_covers_the_truth_where_items_and_annotators_both_differ():
    """30 items and 12 annotators with effects of their own: drawing items alone covers too seldom."""
    draw = rng(21)
    item, annotator = (each.ravel() for each in np.meshgrid(np.arange(30), np.arange(12), indexing="ij"))
    everything = np.ones((len(item), 1), dtype=bool)
    covered = {"both": 0, "items": 0}
    for _ in range(200):
        value = draw.normal(size=30)[item] + draw.normal(size=12)[annotator] + draw.normal(size=len(item))
        for name, who in (("both", annotator), ("items", None)):
            drawn = resampled_means(value, everything, item, who, resamples=200, rng=draw)
            found = percentile_intervals(drawn, [value.mean()])[0]
            covered[name] += found.low <= 0 <= found.high
    assert 0.9 <= covered["both"] / 200 <= 0.99
    assert covered["items"] / 200 < 0.8


def test_columns_are_drawn_together():
    """The overlap can never be larger than either pool in a resample: one draw serves all columns."""
    found = stereotype_table(*votes(unvoted=0))
    drawn = resampled_shares(found.passed, found.counted, resamples=200, rng=rng(9)).reshape(-1, 3, 3)
    assert (drawn[:, 2] <= drawn[:, 0] + 1e-12).all()
    assert (drawn[:, 2] <= drawn[:, 1] + 1e-12).all()


def test_without_votes_there_is_no_stereotype_and_no_share():
    found = stereotype_table([[0, 0, 0]], [[0, 3, 0]])
    assert not found.passed.any()
    assert found.counted.sum(axis=0).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    drawn = resampled_shares(found.passed, found.counted, resamples=4, rng=rng())
    assert np.isnan(drawn[:, [0, 8]]).all()
    assert (drawn[:, 4] == 0).all()
    assert stereotype_table(np.zeros((0, 3), int), np.zeros((0, 3), int)).passed.shape == (0, 9)


def test_means_are_those_of_pandas_with_missing_values_left_out():
    value, chosen, _, _ = ratings()
    value[::7] = NAN
    expected = [pd.Series(value[chosen[:, column]]).mean() for column in range(2)]
    np.testing.assert_allclose(means(value, chosen), expected)


def test_means_shift_and_stretch_with_the_ratings_and_so_do_their_resamples():
    value, chosen, item, annotator = ratings()
    np.testing.assert_allclose(means(2 * value + 3, chosen), 2 * means(value, chosen) + 3)
    one, other = (
        resampled_means(given, chosen, item, annotator, resamples=40, rng=rng(1))
        for given in (value, 2 * value + 3)
    )
    np.testing.assert_allclose(other, 2 * one + 3)


def test_what_clusters_are_called_does_not_matter():
    value, chosen, item, annotator = ratings()
    renamed = np.array([f"item {place}" for place in item])
    one, other = (
        resampled_means(value, chosen, items, annotator, resamples=40, rng=rng(1))
        for items in (item, renamed)
    )
    np.testing.assert_array_equal(one, other)


def test_resampled_means_are_those_of_rows_repeated_one_by_one():
    """The same weights, applied by repeating rows in pandas."""
    value, chosen, item, annotator = ratings(items=8, people=4)
    found = resampled_means(value, chosen, item, annotator, resamples=5, rng=rng(11))
    draw = rng(11)
    first = draw.integers(0, 8, (5, 8))
    # annotators are numbered in the order in which they come
    order = {label: number for number, label in enumerate(dict.fromkeys(annotator.tolist()))}
    second = draw.integers(0, len(order), (5, len(order)))
    for b in range(5):
        times = [
            (first[b] == i).sum() * (second[b] == order[a]).sum()
            for i, a in zip(item.tolist(), annotator.tolist(), strict=True)
        ]
        rows = pd.DataFrame({"value": value, "half": chosen[:, 1]}).loc[
            np.repeat(np.arange(len(value)), times)
        ]
        expected = [rows.value.mean(), rows[rows.half].value.mean()]
        np.testing.assert_allclose(found[b], expected)


def test_the_spread_over_items_alone_is_the_standard_error_of_their_means():
    value = rng(12).normal(size=300)
    drawn = resampled_means(value, np.ones((300, 1), bool), np.arange(300), resamples=8000, rng=rng(13))
    assert drawn.std() == pytest.approx(value.std() / np.sqrt(300), rel=0.03)


def test_ratings_that_repeat_with_their_item_make_no_interval_narrower():
    """An attribute that stands in ten associations was rated once: ten copies are no more evidence."""
    value = rng(14).normal(size=60)
    once = resampled_means(value, np.ones((60, 1), bool), np.arange(60), resamples=4000, rng=rng(15))
    ten = resampled_means(
        np.repeat(value, 10),
        np.ones((600, 1), bool),
        np.repeat(np.arange(60), 10),
        resamples=4000,
        rng=rng(15),
    )
    np.testing.assert_allclose(once, ten)


def test_a_selection_of_nothing_and_a_single_rating():
    assert np.isnan(means([], np.ones((0, 2), bool))).all()
    assert np.isnan(means([NAN], [[True]])).all()
    drawn = resampled_means([3.0], [[True, False]], ["x"], ["y"], resamples=3, rng=rng())
    assert (drawn[:, 0] == 3).all()
    assert np.isnan(drawn[:, 1]).all()
