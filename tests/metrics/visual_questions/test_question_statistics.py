"""Intervals and tests, beside scipy and plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from metrics.core.stats.image_shares import shares_of_images
from metrics.visual_questions.stats import (
    CHI_SQUARE,
    PERMUTATION,
    homogeneity,
    homogeneity_of_images,
    wilson,
)


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 40), (40, 40), (29, 30), (104, 108), (3, 108)])
def test_wilson_is_scipys(k, n):
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1


@pytest.mark.parametrize(("k", "n"), [(0, 0), (2, 1), (-1, 3)])
def test_no_share_has_no_interval(k, n):
    with pytest.raises(ValueError, match="is no share"):
        wilson(k, n)


def test_large_tables_are_tested_by_chi_square():
    table = [[30, 12, 8], [11, 29, 10], [20, 20, 9]]
    found, expected = homogeneity(table, rng=rng()), stats.chi2_contingency(table, correction=False)
    assert (found.statistic, found.p, found.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.dof)
    )
    assert (found.method, found.groups) == (CHI_SQUARE, 3)


def test_the_edge_is_an_expected_count_of_five():
    assert homogeneity([[5, 15], [5, 15]], rng=rng()).method == CHI_SQUARE
    assert homogeneity([[5, 14], [5, 15]], rng=rng()).method == PERMUTATION


def test_small_tables_are_permuted():
    """Beside all 20 ways to give three of six images to the first group."""
    answers = [1, 1, 1, 0, 0, 0]

    def statistic(first):
        k = sum(answers[place] for place in first)
        table = np.array([[k, 3 - k], [3 - k, k]])
        return ((table - 1.5) ** 2 / 1.5).sum()

    ways = [statistic(first) for first in itertools.combinations(range(6), 3)]
    found = homogeneity([[3, 0], [0, 3]], rng=rng(), permutations=40_000)
    assert found.method == PERMUTATION
    assert found.statistic == statistic((0, 1, 2)) == 6
    assert found.p == pytest.approx(np.mean(np.array(ways) >= 6), abs=0.005)
    assert found == homogeneity([[3, 0], [0, 3]], rng=rng(), permutations=40_000)
    assert homogeneity([[3, 0], [0, 3]], rng=rng(), permutations=99).p * 100 == pytest.approx(
        round(homogeneity([[3, 0], [0, 3]], rng=rng(), permutations=99).p * 100)
    )


def test_zeros_are_left_out_and_nothing_is_tested_then():
    assert homogeneity([[30, 0, 10], [10, 0, 30], [0, 0, 0]], rng=rng()) == homogeneity(
        [[30, 10], [10, 30]], rng=rng()
    )
    for table in ([[3, 4]], [[3], [4]], [[3, 0], [4, 0]], [[0, 0], [3, 4]]):
        assert homogeneity(table, rng=rng()) is None
        labels = np.repeat(np.arange(len(table)), 1)
        assert homogeneity_of_images(labels, table, rng=rng()) is None
    with_zeros = homogeneity_of_images(
        ["a", "a", "b", "b"], [[1, 0, 2], [3, 0, 0], [0, 0, 4], [0, 0, 0]], rng=rng()
    )
    assert with_zeros == homogeneity_of_images(["a", "a", "b"], [[1, 2], [3, 0], [0, 4]], rng=rng())


def test_what_no_permutation_reaches_is_the_least_p_of_so_many():
    answers = np.eye(2, dtype=int)[[0] * 9 + [1] * 9]
    found = homogeneity([[9, 0], [0, 9]], rng=rng(), permutations=99)
    assert found.p == 0.01
    labels = [0] * 9 + [1] * 9
    assert homogeneity_of_images(labels, answers, rng=rng(), permutations=99) == found


def test_images_are_permuted_with_all_their_answers():
    """Ten alike answers to one image are one image: two against two images cannot be significant."""
    counts = [[10, 0], [10, 0], [0, 10], [0, 10]]
    found = homogeneity_of_images(["a", "a", "b", "b"], counts, rng=rng(), permutations=20_000)
    assert (found.statistic, found.df, found.method, found.groups) == (40, 1, PERMUTATION, 2)
    assert found.p == pytest.approx(2 / 6, abs=0.01)
    assert homogeneity([[20, 0], [0, 20]], rng=rng()).p < 1e-9


def test_of_one_answer_each_both_tests_agree():
    labels = ["a"] * 6 + ["b"] * 5
    counts = np.eye(2, dtype=int)[[0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1]]
    table = [counts[:6].sum(axis=0), counts[6:].sum(axis=0)]
    one = homogeneity(table, rng=rng(), permutations=40_000)
    other = homogeneity_of_images(labels, counts, rng=rng(), permutations=40_000)
    assert one.statistic == pytest.approx(other.statistic)
    assert one.p == pytest.approx(other.p, abs=0.015)


class TestShares:
    def test_images_are_resampled_whole(self):
        """The bootstrap's spread is that of the mean of images, not of answers."""
        k, n = np.array([[10]] * 20 + [[0]] * 20), np.full(40, 10)
        [found] = shares_of_images(k, n, resamples=4000, rng=rng())
        assert (found.k, found.n, found.value) == (200, 400, 0.5)
        spread = 1.96 * math.sqrt(0.25 / 40)
        assert (found.low, found.high) == pytest.approx((0.5 - spread, 0.5 + spread), abs=0.02)

    def test_images_count_by_their_texts(self):
        [found] = shares_of_images([[3], [0]], [3, 1], resamples=200, rng=rng())
        assert found.value == 0.75
        assert (found.low, found.high) == (0, 1)

    def test_one_image_or_no_resamples_give_no_interval(self):
        for k, n, resamples in (([[1]], [1], 100), ([[1], [0]], [1, 1], 0)):
            [found] = shares_of_images(k, n, resamples=resamples, rng=rng())
            assert math.isnan(found.low)
            assert math.isnan(found.high)
        assert math.isnan(shares_of_images([[0], [0]], [0, 0], resamples=10, rng=rng())[0].value)

    @pytest.mark.parametrize(("k", "n"), [([[1], [1]], [1]), ([[2]], [1]), ([[-1]], [1]), ([1], [1])])
    def test_other_shapes_and_more_than_all_are_refused(self, k, n):
        with pytest.raises(ValueError, match=r"k |k has"):
            shares_of_images(k, n, resamples=0, rng=rng())
