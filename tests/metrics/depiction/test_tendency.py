"""Likelihoods and tendency (PROTOCOL §6): bad input, invariance, theory, other programs, degenerate."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.depiction.stats import likelihood, mean_over, ratio, tendency


@pytest.mark.parametrize(
    ("selected", "shown", "message"),
    [
        ([1], [1, 2], "must be the same"),
        ([3], [2], "selected 3 times of 2 shown, at index \\(0,\\)"),
        ([-1], [2], "-1, which is negative"),
        ([0.5], [2], "it holds 0.5"),
        ([float("nan")], [2], "it holds nan"),
        ([[1]], [[1]], "2 dimensions; 1 are needed"),
        (["a"], ["b"], "values of type"),
    ],
)
def test_counts_that_cannot_be_are_refused_by_name(selected, shown, message):
    with pytest.raises(ValueError, match=message):
        likelihood(selected, shown)


@pytest.mark.parametrize(
    ("stereotypical", "message"),
    [([True], "shape \\(1,\\)"), ([1, 0], "must be True or False")],
)
def test_a_mask_that_does_not_fit_is_refused(stereotypical, message):
    with pytest.raises(ValueError, match=message):
        tendency([1, 1], [2, 2], stereotypical)


def test_a_negative_likelihood_is_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        ratio([-0.1], [0.2])


counts = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()).map(
        lambda row: (min(row[:2]), max(row[:2]), row[2])
    ),
    min_size=1,
    max_size=12,
)


@given(counts, st.randoms(use_true_random=False))
def test_the_order_of_the_attributes_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    first, second = (
        tendency(*(list(column) for column in zip(*table, strict=True))) for table in (rows, shuffled)
    )
    np.testing.assert_allclose(
        [first.l_stereo, first.l_random, first.theta], [second.l_stereo, second.l_random, second.theta]
    )


@given(counts, st.integers(2, 9))
def test_showing_everything_more_often_changes_nothing(rows, times):
    k, n, stereo = (np.array(column) for column in zip(*rows, strict=True))
    first, second = tendency(k, n, stereo), tendency(k * times, n * times, stereo)
    np.testing.assert_allclose(
        [first.l_stereo, first.l_random, first.theta], [second.l_stereo, second.l_random, second.theta]
    )


@given(counts, st.randoms(use_true_random=False), st.integers(2, 9))
def test_likelihoods_move_with_their_attributes_and_stay_shares(rows, random, times):
    k, n, _ = (np.array(column) for column in zip(*rows, strict=True))
    order = random.sample(range(len(k)), len(k))
    found = likelihood(k, n)
    np.testing.assert_array_equal(likelihood(k[order], n[order]), found[order])
    np.testing.assert_allclose(likelihood(times * k, times * n), found)
    assert ((found >= 0) & (found <= 1) | (n == 0)).all()
    np.testing.assert_allclose(found + likelihood(n - k, n), np.where(n > 0, 1, np.nan))


def test_a_ratio_has_the_limits_that_fractions_have():
    """Exact fractions of Python beside it, and their limits where the denominator is 0."""
    rng = np.random.default_rng(3)
    top, bottom = rng.integers(0, 4, 200) / 8, rng.integers(0, 4, 200) / 8

    def slow(x, y):
        if y == 0:
            return math.inf if x else math.nan
        return float(Fraction(x) / Fraction(y))

    found = ratio(top, bottom)
    np.testing.assert_allclose(
        found, [slow(x, y) for x, y in zip(top.tolist(), bottom.tolist(), strict=True)]
    )
    np.testing.assert_array_equal(ratio(8 * top, 8 * bottom), found)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ratio(bottom, top), 1 / found)
    assert np.isnan(ratio([np.nan, 1.0], [1.0, np.nan])).all()
    assert ratio([], []).shape == (0,)


def test_row_means_are_those_of_pandas_in_any_order():
    rng = np.random.default_rng(4)
    values, chosen = rng.random((30, 8)), np.arange(8) % 3 > 0
    values[rng.random(values.shape) < 0.5] = np.nan
    found = mean_over(values, chosen)
    np.testing.assert_allclose(found, pd.DataFrame(values).loc[:, chosen].mean(axis=1))
    order = rng.permutation(8)
    np.testing.assert_allclose(mean_over(values[:, order], chosen[order]), found)
    np.testing.assert_allclose(mean_over(2 * values + 1, chosen), 2 * found + 1)
    assert np.isnan(mean_over(values, np.zeros(8, dtype=bool))).all()
    with pytest.raises(IndexError):
        mean_over(values, chosen[:3])


def test_means_are_over_attributes_and_not_over_answers():
    # 1 of 1 and 0 of 99: the mean of likelihoods is 0.5, the pooled share 0.01
    assert tendency([1, 0, 1], [1, 99, 2], [True, True, False]).l_stereo == 0.5


def test_theta_is_one_where_both_kinds_are_equally_likely():
    assert tendency([2, 3, 2, 3], [10, 10, 10, 10], [True, True, False, False]).theta == 1


def test_the_same_comes_out_of_pandas():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"n": rng.integers(1, 50, 40), "stereo": rng.random(40) < 0.4})
    table["k"] = rng.binomial(table.n, 0.3)
    means = (table.k / table.n).groupby(table.stereo).mean()
    np.testing.assert_allclose(likelihood(table.k, table.n), table.k / table.n)
    found = tendency(table.k, table.n, table.stereo)
    assert found.l_stereo == pytest.approx(means[True], rel=1e-12)
    assert found.l_random == pytest.approx(means[False], rel=1e-12)
    assert found.theta == pytest.approx(means[True] / means[False], rel=1e-12)


def test_a_zero_denominator_alone_is_infinite_and_two_zeros_are_undefined():
    assert tendency([1, 0], [2, 2], [True, False]).theta == float("inf")
    assert np.isnan(tendency([0, 0], [2, 2], [True, False]).theta)
    assert tendency([0, 1], [2, 2], [True, False]).theta == 0


def test_without_attributes_of_a_kind_its_mean_is_undefined_not_zero():
    found = tendency([1], [2], [True])
    assert np.isnan(found.l_random)
    assert np.isnan(found.theta)
    assert found.n_random == 0
    empty = tendency([], [], [])
    assert np.isnan(empty.l_stereo)


def test_an_attribute_never_shown_counts_in_no_mean_and_no_number():
    found = tendency([1, 0, 1], [2, 0, 2], [True, True, False])
    assert (found.l_stereo, found.n_stereotypical) == (0.5, 1)


def test_a_row_of_missing_values_has_no_mean():
    values = mean_over(np.array([[np.nan, np.nan, 0.5]]), np.array([True, True, False]))
    assert np.isnan(values).all()
