"""Clustered intervals of ratios of sums over images, groups and descriptors, and who uses them."""

import numpy as np
import pytest

from metrics.associations import comparison_stats
from metrics.brightness.stats import change, mean
from metrics.core.stats.image_shares import shares_of_images
from metrics.core.stats.ratios import ratio_influences, ratio_intervals
from metrics.core.stats.scales import SHARE, Scale
from metrics.embedding_tests.stats.effects import (
    CORRECTED,
    GREATER,
    VARIANTS,
    effect,
    effect_influences,
)
from metrics.inference.stats import Tally, entailment
from metrics.management import output

RNG = np.random.default_rng(0)


def test_influences_are_numerical_derivatives_with_the_correction_of_each_cluster():
    top, bottom = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 4.0], [2.0, 2.0]]), np.array([4.0, 2.0, 5.0, 0.0])
    change_of = ratio_influences(top, bottom, step=0.01).images.change
    for image in range(4):
        ends = []
        for sign in (1, -1):
            weights = np.ones(4)
            weights[image] += sign * 1e-6
            ends.append((weights @ top) / (weights @ bottom))
        left = 1 - bottom[image] / bottom.sum()
        expected = np.sqrt(3 / 4) * (ends[0] - ends[1]) / 2e-6 / left
        np.testing.assert_allclose(change_of[image], expected, atol=1e-8)


def test_a_share_of_images_with_a_text_each_has_the_standard_error_of_a_mean():
    values = np.array([1, 0, 0, 1, 1, 0, 1, 0, 0, 0])
    errors, freedom = ratio_influences(values[:, None], np.ones(10), step=0.1).standard_errors()
    assert errors[0] == pytest.approx(values.std(ddof=1) / 10**0.5)
    assert freedom[0] == pytest.approx(9)


@pytest.mark.parametrize("texts", [1, 5])
def test_a_share_of_none_or_of_all_is_as_sure_as_there_are_images_not_texts(texts):
    """Clopper and Pearson's bound for 0 of 12, or a wider one: the texts may all be alike."""
    none, whole = shares_of_images(
        np.column_stack([np.zeros(12, int), np.full(12, texts)]), [texts] * 12, resamples=None, rng=RNG
    )
    assert none.low == 0
    assert none.high >= 1 - 0.025 ** (1 / 12)
    assert none.high < 0.5
    assert (whole.low, whole.high) == pytest.approx((1 - none.high, 1))


def test_clusters_that_are_equal_are_not_certain_and_one_has_no_interval():
    [even] = ratio_intervals([[2]] * 8, [4] * 8, SHARE, step=1 / 32)
    assert even.high - even.low > 0.3
    [one] = ratio_intervals([[2]], [4], SHARE)
    assert np.isnan(one.low)
    assert np.isnan(one.high)


def test_nothing_that_is_counted_has_no_interval_and_other_shapes_are_refused():
    assert np.isnan(ratio_intervals([[0]], [0], SHARE)[0].low)
    with pytest.raises(ValueError, match=r"top has shape \(1,\)"):
        ratio_influences([1], [1])
    with pytest.raises(ValueError, match=r"bottom \(1,\); \(I, C\) and \(I,\) are needed"):
        ratio_influences([[1], [1]], [1])


def test_a_cluster_of_nothing_is_none_and_a_bound_is_as_wide_as_the_scale():
    [found], [more] = (
        ratio_intervals([[0]] * 6 + [[0]] * none, [4] * 6 + [0] * none, SHARE) for none in (0, 3)
    )
    assert (found.low, found.high) == (more.low, more.high)
    [wide] = ratio_intervals([[0]] * 6, [4] * 6, Scale(0.0, 100.0))
    assert wide.high == pytest.approx(100 * found.high)


def test_entailment_has_the_intervals_of_its_three_ratios():
    pairs, entailed = np.array([4, 6, 5]), np.array([1, 3, 2])
    counted = Tally(pairs, entailed, entailed * 0.8, entailed * 0.9)
    found = entailment(counted, resamples=None, rng=RNG)
    [share] = ratio_intervals(entailed[:, None], pairs, SHARE, step=1 / 15)
    [of_all] = ratio_intervals(entailed[:, None] * 0.9, pairs, SHARE, step=1 / 15)
    assert (found.share.low, found.share.high, found.share.undefined) == (share.low, share.high, None)
    assert (found.mean_of_all.low, found.mean_of_all.high) == (of_all.low, of_all.high)
    assert 0 < found.mean_of_entailed.low < 0.8 < found.mean_of_entailed.high < 1


def test_brightness_stays_on_its_scale_and_its_change_above_black():
    dark = mean([0.5, 3.0, 0.1, 40.0], [1, 2, 3, 4], resamples=None, rng=RNG)
    assert 0 <= dark.low < dark.value < dark.high <= 255
    black = change([1.0, 0.0, 0.0], [90.0, 80.0, 100.0], [1, 2, 3], resamples=None, rng=RNG)
    assert -100 <= black.low < black.value < black.high
    assert not mean([3.0, 4.0], [1, 1], resamples=None, rng=RNG).has_interval


def test_what_is_made_of_one_image_is_one_cluster():
    values = np.array([100.0, 120.0, 90.0, 110.0])
    twice = mean(np.repeat(values, 2), np.repeat(np.arange(4), 2), resamples=None, rng=RNG)
    once = mean(values, np.arange(4), resamples=None, rng=RNG)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_jaccard_of_lists_that_share_nothing_has_an_upper_bound():
    here, there = ({(f"group {name}", word) for name in range(6)} for word in ("kind", "rude"))
    found = comparison_stats.jaccard(here, there, rng=RNG)
    assert (found.value, found.low) == (0, 0)
    assert 0.3 < found.high < 1


def test_a_mean_level_keeps_to_its_scale():
    found = comparison_stats.ratio_by(
        [("a", 5), ("b", 5), ("c", 4)], rng=RNG, scale=Scale(1.0, 5.0)
    )  # fmt: skip
    assert 1 < found.low < found.value < found.high < 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_influences_on_d_are_what_is_lost_without_each_image(variant):
    x, y = np.random.default_rng(1).normal(1, 1, 6), np.random.default_rng(2).normal(0, 2, 9)

    def d(x, y):
        of_both = [len(each) - 1 for each in (x, y)]
        variances = [each.var(ddof=int(variant == CORRECTED)) for each in (x, y)]
        return (x.mean() - y.mean()) / np.average(variances, weights=of_both) ** 0.5

    without = {
        "x": np.array([d(np.delete(x, place), y) for place in range(6)]),
        "y": np.array([d(x, np.delete(y, place)) for place in range(9)]),
    }
    found = effect_influences(x, y, variant=variant).images
    assert sorted(found.labels) == sorted(
        f"{side} {n}" for side, each in without.items() for n in range(len(each))
    )
    for label, changed in zip(found.labels.tolist(), found.change[:, 0].tolist(), strict=True):
        side, place = label.split()
        each = without[side]
        expected = np.sqrt((len(each) - 1) / len(each)) * (each.mean() - each[int(place)])
        assert changed == pytest.approx(expected)


def test_d_has_an_interval_without_resamples_that_is_wider_for_fewer_images():
    values = np.random.default_rng(3).normal(size=40)
    few, many = (
        effect(values[:n] + 1, values[-n:], variant=CORRECTED, alternative=GREATER, permutations=9,
               resamples=None, rng=RNG)
        for n in (6, 20)
    )  # fmt: skip
    for found in (few, many):
        assert found.effect_low < found.effect_size < found.effect_high
    assert few.effect_high - few.effect_low > many.effect_high - many.effect_low


@pytest.mark.parametrize(
    ("intervals", "resamples", "expected"),
    [(None, None, None), ("clustered", None, None), (None, 0, 0), (None, 200, 200), ("bootstrap", 200, 200)],
)
def test_resamples_are_those_of_the_bootstrap(intervals, resamples, expected):
    assert output.resamples_of({"intervals": intervals, "resamples": resamples}) == expected


def test_the_bootstrap_has_a_number_of_resamples_and_clustered_intervals_have_none(settings):
    settings.BOOTSTRAP_RESAMPLES = 321
    assert output.resamples_of({"intervals": "bootstrap", "resamples": None}) == 321
    with pytest.raises(ValueError, match="--resamples is an option of --intervals bootstrap"):
        output.resamples_of({"intervals": "clustered", "resamples": 100})
    assert [output.method_name(each) for each in (None, 0, 200)] == ["clustered", "", "bootstrap"]
