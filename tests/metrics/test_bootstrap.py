"""The two-way cluster bootstrap (PROTOCOL §10): bad input, invariance, theory, other programs, degenerate."""

import numpy as np
import pytest

from metrics.stats import bootstrap
from metrics.stats.bootstrap import (
    cluster_weights,
    generator,
    resampled_likelihoods,
    weighted_sums,
)
from metrics.stats.percentiles import percentile_intervals


def answers(seed=0, images=15, annotators=12, attributes=6, rate=0.3):
    """A crossed design in which each annotator judges half of the images."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(images) for j in range(annotators) if (i + j) % 2])
    shown = np.ones((len(pairs), attributes), dtype=int)
    return (rng.random(shown.shape) < rate).astype(int), shown, pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generator(-1, "Mexican"), "at least 0, not -1"),
        (lambda: cluster_weights(0, 10, np.random.default_rng()), "must be at least 1"),
        (lambda: cluster_weights(3, 0, np.random.default_rng()), "must be at least 1"),
        (
            lambda: resampled_likelihoods(
                np.ones((0, 2), int), np.ones((0, 2), int), [], [], resamples=5, rng=np.random.default_rng()
            ),
            "no response to resample",
        ),
        (
            lambda: resampled_likelihoods(
                [[1]], [[1]], [1, 2], [1], resamples=5, rng=np.random.default_rng()
            ),
            "images has shape \\(2,\\)",
        ),
        (
            lambda: weighted_sums([[1]], [[1]], [0], [0], image_weights=[[1], [1]], annotator_weights=[[1]]),
            "2 resamples of images and 1 of annotators",
        ),
        (
            lambda: weighted_sums([[1]], [[1]], [0, 1], [0], image_weights=[[1]], annotator_weights=[[1]]),
            "There are 1 responses",
        ),
        (lambda: percentile_intervals([1.0, 2.0], [1.0]), "\\(B, M\\) and \\(M,\\) are needed"),
        (lambda: percentile_intervals([[1.0]], [1.0], level=1), "between 0 and 1"),
    ],
)
def test_bad_input_is_refused_with_its_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_same_seed_and_group_give_the_same_draws_and_others_do_not():
    first, again = (generator(3, "Mexican").random(4).tolist() for _ in range(2))
    assert first == again
    assert first != generator(4, "Mexican").random(4).tolist()
    assert first != generator(3, "Indian").random(4).tolist()


def test_what_the_clusters_are_called_does_not_matter():
    k, n, images, annotators = answers()
    plain, _ = resampled_likelihoods(k, n, images, annotators, resamples=50, rng=generator(1, "x"))
    renamed, _ = resampled_likelihoods(
        k, n, 1000 - images * 7, -annotators, resamples=50, rng=generator(1, "x")
    )
    np.testing.assert_array_equal(plain, renamed)


def test_working_in_small_pieces_changes_nothing(monkeypatch):
    k, n, images, annotators = answers()
    whole, _ = resampled_likelihoods(k, n, images, annotators, resamples=50, rng=generator(1, "x"))
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 200)
    pieces, _ = resampled_likelihoods(k, n, images, annotators, resamples=50, rng=generator(1, "x"))
    np.testing.assert_array_equal(whole, pieces)


def test_every_resample_draws_as_many_clusters_as_there_are():
    drawn = cluster_weights(7, 500, np.random.default_rng(2))
    assert (drawn.sum(axis=1) == 7).all()
    # each cluster is expected once a resample; its variance is 1 - 1/7 for a multinomial draw
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.15)
    np.testing.assert_allclose(drawn.var(axis=0), 6 / 7, atol=0.2)


def test_a_slow_plain_program_gives_the_same_for_the_same_weights():
    k, n, images, annotators = answers(images=5, annotators=4, attributes=3)
    rng = np.random.default_rng(9)
    by_image, by_annotator = cluster_weights(5, 20, rng), cluster_weights(4, 20, rng)
    top, bottom = weighted_sums(
        k, n, images, annotators, image_weights=by_image, annotator_weights=by_annotator
    )
    for draw in range(20):
        for attribute in range(3):
            repeated = [
                (k[row, attribute], n[row, attribute])
                for row in range(len(k))
                for _ in range(by_image[draw, images[row]])
                for _ in range(by_annotator[draw, annotators[row]])
            ]
            assert top[draw, attribute] == sum(chosen for chosen, _ in repeated)
            assert bottom[draw, attribute] == sum(shown for _, shown in repeated)


def test_for_independent_answers_the_spread_is_that_of_the_pigeonhole_bootstrap():
    """Owen (2007), theorem 1: for one answer a cell of a full I x J table and no cluster effects, the
    bootstrap's variance of the mean is about 3 times the true sigma^2 / (I J)."""
    rng = np.random.default_rng(1)
    k = (rng.random((1600, 1)) < 0.5).astype(int)
    images, annotators = np.divmod(np.arange(1600), 40)
    values, _ = resampled_likelihoods(
        k, np.ones_like(k), images, annotators, resamples=4000, rng=np.random.default_rng(2)
    )
    # the sample's own row and column effects make it vary about 3
    assert values.var() / (k.var() / 1600) == pytest.approx(3, abs=0.6)


def test_people_who_differ_make_the_interval_wider_than_answers_that_are_held_independent():
    rng = np.random.default_rng(3)
    rates = rng.choice([0.05, 0.95], size=12)
    _, n, images, annotators = answers(attributes=1)
    k = (rng.random(n.shape) < rates[annotators][:, None]).astype(int)
    known, _ = resampled_likelihoods(k, n, images, annotators, resamples=500, rng=generator(1, "x"))
    unknown, _ = resampled_likelihoods(k, n, images, np.arange(len(k)), resamples=500, rng=generator(1, "x"))
    assert known.std() > 1.5 * unknown.std()


def test_bounds_are_those_of_numpy_without_interpolation():
    samples = np.random.default_rng(4).normal(size=(1000, 3))
    found = percentile_intervals(samples, np.zeros(3))
    expected = np.quantile(samples, [0.025, 0.975], axis=0, method="inverted_cdf")
    np.testing.assert_array_equal([[one.low for one in found], [one.high for one in found]], expected)


def test_infinite_resamples_count_and_undefined_ones_are_left_out():
    samples = np.array([1.0] * 90 + [float("inf")] * 10 + [float("nan")] * 100)[:, None]
    (found,) = percentile_intervals(samples, [1.0])
    assert (found.low, found.high, found.infinite, found.undefined) == (1.0, float("inf"), 10, 100)


def test_an_interval_is_widened_to_contain_its_estimate():
    (below,) = percentile_intervals([[2.0], [3.0]], [1.0])
    (above,) = percentile_intervals([[2.0], [3.0]], [9.0])
    assert (below.low, below.high) == (1.0, 3.0)
    assert (above.low, above.high) == (2.0, 9.0)


def test_an_undefined_estimate_or_only_undefined_resamples_have_no_interval():
    one, two = percentile_intervals([[1.0, np.nan], [2.0, np.nan]], [np.nan, 1.0])
    assert np.isnan([one.low, one.high, two.low, two.high]).all()
    assert two.undefined == 2


def test_an_attribute_on_one_image_drops_out_of_resamples_without_that_image():
    k, n = np.array([[1, 1], [0, 1]]), np.array([[1, 1], [0, 1]])
    values, selections = resampled_likelihoods(k, n, [1, 2], [1, 2], resamples=200, rng=generator(0, "x"))
    missing = np.isnan(values[:, 0])
    assert missing.any()
    assert not missing.all()
    assert (selections[missing, 0] == 0).all()


def test_one_image_and_one_annotator_never_vary():
    values, _ = resampled_likelihoods([[1, 0]], [[1, 1]], [4], [4], resamples=20, rng=generator(0, "x"))
    np.testing.assert_array_equal(values, [[1, 0]] * 20)
