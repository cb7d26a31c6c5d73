"""Differences of scores and many comparisons (PROTOCOL §10): the five kinds of test of each function."""

import math

import numpy as np
import pytest
import statsmodels.stats.multitest
from scipy.stats import norm

from metrics.core.stats.bootstrap import AnnotatorDraws, cluster_weights, generator
from metrics.core.stats.differences import (
    AnswerSet,
    difference,
    false_discovery,
    log_ratio,
    paired_likelihoods,
)
from metrics.core.stats.percentiles import recentred


def side(*, images, annotators, rate, seed, per_image=3, unknown=False):
    """Answers to one attribute: every image judged by some of the annotators."""
    rng = np.random.default_rng(seed)
    image_of = np.repeat(images, per_image)
    people = np.concatenate([rng.choice(annotators, per_image, replace=False) for _ in images])
    if unknown:
        people = -1 - np.arange(len(image_of)) - 1000 * seed
    chosen = (rng.random(len(image_of)) < rate).astype(int)
    return AnswerSet(np.array([[0], [1]]), np.array([[1], [1]]), chosen, image_of, people)


def of_nobody(*, first: bool):
    empty = AnswerSet(*(np.zeros((1, 1), int),) * 2, *(np.zeros(0, int),) * 3)
    sides = [empty, side(images=[1], annotators=[1, 2, 3], rate=1, seed=0)]
    return paired_likelihoods(*(sides if first else sides[::-1]), resamples=5, rng=generator(0, "x"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: difference(1, 2, first_samples=[1.0], second_samples=[1.0, 2.0]), "both need \\(B,\\)"),
        (lambda: difference(1, 2, first_samples=[[1.0]], second_samples=[[1.0]]), "both need \\(B,\\)"),
        (lambda: log_ratio(-1, 2, first_samples=[1.0], second_samples=[1.0]), "at least 0"),
        (lambda: log_ratio(1, 2, first_samples=[-1.0], second_samples=[1.0]), "at least 0"),
        (lambda: log_ratio(1, 2, first_samples=[1.0], second_samples=[-1.0]), "at least 0"),
        (lambda: false_discovery([[0.1]]), "1 is needed"),
        (lambda: false_discovery([0.1, 1.2]), "not between 0 and 1"),
        (lambda: false_discovery([0.1, -0.2]), "not between 0 and 1"),
        (lambda: recentred([-0.1, 0.5], 0.5), "between 0 and 1"),
        (lambda: recentred([0.5, 1.1], 0.5), "between 0 and 1"),
        (lambda: of_nobody(first=True), "no response to resample"),
        (lambda: of_nobody(first=False), "no response to resample"),
    ],
)
def test_bad_input_is_refused_with_its_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_other_way_round_only_the_sign_changes():
    rng = np.random.default_rng(0)
    x, y = rng.gamma(2, 1, 999), rng.gamma(3, 1, 999)
    for function in (difference, log_ratio):
        one = function(2.0, 3.0, first_samples=x, second_samples=y)
        other = function(3.0, 2.0, first_samples=y, second_samples=x)
        assert one.value == pytest.approx(-other.value)
        assert one.p == other.p
        assert one.interval.low == pytest.approx(-other.interval.high, abs=0.02)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_resample_without_a_difference_speaks_for_neither_side(sign):
    drawn = np.array([0.0, 0.0, 0.2, 0.3, np.nan])
    found = difference(0.25 * sign, 0, first_samples=sign * drawn, second_samples=np.zeros(5))
    assert found.p == 1  # 2 x (1 + 2) / (4 + 1), at most 1
    assert difference(sign, 0, first_samples=sign * drawn[1:], second_samples=np.zeros(4)).p == 2 * 2 / 4


def test_p_is_below_a_level_just_where_the_interval_leaves_zero_out():
    rng = np.random.default_rng(1)
    for shift in np.linspace(0, 3, 40):
        found = difference(
            shift, 0.0, first_samples=rng.normal(shift, 1, 9999), second_samples=np.zeros(9999)
        )
        outside = found.interval.low > 0 or found.interval.high < 0
        assert outside == (found.p < 0.05) or abs(found.p - 0.05) < 0.001


def test_for_a_normal_difference_p_is_that_of_the_normal_distribution():
    drawn = norm.ppf((np.arange(99_999) + 0.5) / 99_999, loc=1.5)
    found = difference(1.5, 0.0, first_samples=drawn, second_samples=np.zeros_like(drawn))
    assert found.p == pytest.approx(2 * norm.sf(1.5), abs=1e-4)
    assert found.interval.low == pytest.approx(1.5 - 1.96, abs=1e-3)


def test_a_log_ratio_is_the_difference_of_logarithms_and_does_not_know_the_unit():
    rng = np.random.default_rng(7)
    x, y = rng.gamma(2, 1, 999), rng.gamma(3, 1, 999)
    found = log_ratio(2.0, 3.0, first_samples=x, second_samples=y)
    logs = np.sort(np.log2(x / y)) * math.log(2)
    assert found.value == pytest.approx(math.log(2 / 3))
    expected = np.quantile(logs, [0.025, 0.975], method="inverted_cdf")
    np.testing.assert_allclose([found.interval.low, found.interval.high], expected)
    assert found.p == pytest.approx(min(1, 2 * (1 + min((logs <= 0).sum(), (logs >= 0).sum())) / 1000))
    scaled = log_ratio(10.0, 15.0, first_samples=5 * x, second_samples=5 * y)
    assert scaled.value == pytest.approx(found.value)
    assert scaled.p == found.p


def test_for_a_log_normal_ratio_it_is_that_of_the_normal_distribution():
    drawn = np.exp(norm.ppf((np.arange(99_999) + 0.5) / 99_999, loc=1.5))
    found = log_ratio(math.exp(1.5), 1.0, first_samples=drawn, second_samples=np.ones_like(drawn))
    assert found.p == pytest.approx(2 * norm.sf(1.5), abs=1e-4)
    assert found.interval.high == pytest.approx(1.5 + 1.96, abs=1e-3)


def test_of_what_is_called_a_discovery_no_more_are_false_than_the_level_says():
    """Benjamini & Hochberg's theorem: with m0 of m hypotheses true, the expected share is m0 / m of it."""
    rng = np.random.default_rng(8)
    false = []
    for _ in range(2000):
        p = np.r_[rng.random(15), norm.sf(rng.normal(2.5, 1, 5))]
        found = false_discovery(p) <= 0.2
        false.append(found[:15].sum() / max(1, found.sum()))
    assert np.mean(false) == pytest.approx(0.2 * 15 / 20, abs=0.015)


def test_q_is_what_statsmodels_computes():
    p = np.random.default_rng(2).random(50) ** 3
    expected = statsmodels.stats.multitest.multipletests(p, method="fdr_bh")[1]
    np.testing.assert_allclose(false_discovery(p), expected)
    shuffled = np.random.default_rng(3).permutation(50)
    np.testing.assert_allclose(false_discovery(p[shuffled]), expected[shuffled])


def test_q_of_the_first_published_example():
    """Benjamini & Hochberg (1995), section 3.2: fifteen p-values, of which the four smallest are rejected."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000]
    assert (false_discovery(p) < 0.05).tolist() == [True] * 4 + [False] * 11


def test_undefined_comparisons_are_left_out():
    np.testing.assert_allclose(false_discovery([np.nan, 0.02, 0.5]), [np.nan, 0.04, 0.5])
    assert np.isnan(false_discovery([np.nan])).all()
    assert false_discovery([]).shape == (0,)


def test_infinite_and_undefined_resamples_are_told():
    found = log_ratio(1.0, 0.0, first_samples=[1.0, 1.0, 0.0], second_samples=[0.0, 1.0, 0.0])
    assert (found.value, found.interval.infinite, found.interval.undefined) == (np.inf, 1, 1)
    both = log_ratio(0.0, 0.0, first_samples=[1.0], second_samples=[1.0])
    assert np.isnan([both.value, both.p]).all()
    assert np.isnan(difference(1.0, 0.0, first_samples=[np.nan], second_samples=[1.0]).p)


def test_what_the_clusters_are_called_does_not_matter():
    one, other = (side(images=np.arange(8), annotators=np.arange(6), rate=0.5, seed=seed) for seed in (1, 2))
    plain = paired_likelihoods(one, other, resamples=40, rng=generator(1, "x"))
    renamed = paired_likelihoods(
        *(
            AnswerSet(each.k, each.n, each.answers, 99 - each.images, 50 - each.annotators)
            for each in (one, other)
        ),
        resamples=40,
        rng=generator(1, "x"),
    )
    np.testing.assert_array_equal(plain[0][0], renamed[0][0])
    np.testing.assert_array_equal(plain[1][0], renamed[1][0])


def test_the_same_answers_on_both_sides_never_differ():
    one = side(images=np.arange(10), annotators=np.arange(5), rate=0.4, seed=3)
    (x, _), (y, _) = paired_likelihoods(one, one, resamples=50, rng=generator(0, "x"))
    np.testing.assert_array_equal(x, y)
    assert x.std() > 0


def test_shared_images_cancel_and_other_images_do_not():
    """Half of the images show it and half do not; two groups of annotators see nearly the same."""
    rates = np.repeat([0.02, 0.98], 20)
    image_of = np.repeat(np.arange(40), 3)

    def seen_by(seed, images):
        chosen = (np.random.default_rng(seed).random(120) < rates[image_of]).astype(int)
        people = -1 - np.arange(120) - 1000 * seed
        return AnswerSet(np.array([[0], [1]]), np.array([[1], [1]]), chosen, images, people)

    first = seen_by(1, image_of)
    spread = {}
    for name, images in (("shared", image_of), ("others", image_of + 500)):
        (x, _), (y, _) = paired_likelihoods(first, seen_by(2, images), resamples=800, rng=generator(4, "x"))
        spread[name] = (x - y).std()
    # A mean varies by 1/4 / 40 for its images and, since an image counts 0, 1, 2 ... times (mean square 2),
    # by twice 1/4 / 120 for its people; only the latter are drawn apart where the images are the same.
    images, people = 0.25 / 40, 2 * 0.25 / 120
    assert spread["others"] == pytest.approx(np.sqrt(2 * (images + people)), rel=0.1)
    assert spread["shared"] == pytest.approx(np.sqrt(2 * people), rel=0.1)


def test_a_slow_plain_program_gives_the_same_for_shared_images_and_people():
    one, other = (side(images=np.arange(6), annotators=np.arange(4), rate=0.5, seed=seed) for seed in (5, 6))
    found = paired_likelihoods(one, other, resamples=30, rng=generator(2, "x"))
    of_images, of_people, *_ = generator(2, "x").spawn(4)
    images, people = cluster_weights(6, 30, of_images), cluster_weights(4, 30, of_people)
    # columns stand for labels in the order of first appearance
    first_seen = list(dict.fromkeys([*one.annotators.tolist(), *other.annotators.tolist()]))
    for each, (values, _) in zip((one, other), found, strict=True):
        for draw in range(30):
            top = bottom = 0
            for said, image, person in zip(each.answers, each.images, each.annotators, strict=True):
                times = images[draw, image] * people[draw, first_seen.index(person)]
                top, bottom = top + times * said, bottom + times
            assert values[draw, 0] == (
                pytest.approx(top / bottom) if bottom else pytest.approx(np.nan, nan_ok=True)
            )


def test_one_image_and_one_person_on_both_sides_never_vary():
    one = AnswerSet(np.array([[1]]), np.array([[1]]), np.array([0]), np.array([3]), np.array([4]))
    (x, _), (y, _) = paired_likelihoods(one, one, resamples=20, rng=generator(0, "x"))
    assert ((x == 1) & (y == 1)).all()


def test_people_drawn_once_for_all_groups_weigh_the_same_on_both_sides():
    """Both sides the same answers of the same people: nothing differs, as without."""
    one = AnswerSet(*_of_known())
    people = AnnotatorDraws(40, generator(1, ""))
    (x, _), (y, _) = paired_likelihoods(one, one, resamples=40, rng=generator(0, "x"), annotator_draws=people)
    np.testing.assert_array_equal(x, y)
    # another group that they judged: the same people, the same weights
    other = AnswerSet(one.k, one.n, one.answers, np.zeros_like(one.images), one.annotators)
    (z, _), _ = paired_likelihoods(other, other, resamples=40, rng=generator(3, "y"), annotator_draws=people)
    np.testing.assert_allclose(z[:, 0], _by_hand(one, people), atol=1e-12)


def _of_known():
    rng = np.random.default_rng(4)
    k = (rng.random((30, 2)) < 0.4).astype(int)
    return k, np.ones_like(k), np.arange(30), np.arange(30) // 3, np.arange(30) % 12 + 11


def _by_hand(side, people):
    """Of a single image, which is drawn once each time: only people differ."""
    weights = people.weights(side.annotators.tolist())
    return weights @ side.k[:, 0] / weights.sum(axis=1)
