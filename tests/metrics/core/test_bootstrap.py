"""The two-way cluster bootstrap (PROTOCOL §10): bad input, invariance, theory, other programs, degenerate."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.bootstrap import (
    AnnotatorDraws,
    cluster_weights,
    generator,
    resampled_likelihoods,
    sums_over_annotators,
    weighted_sums,
)
from metrics.core.stats.percentiles import percentile_intervals


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
        (
            lambda: sums_over_annotators(
                *[np.ones((1, 1), int)] * 2,
                np.zeros(2, int),
                np.zeros(2, int),
                np.zeros(1, int),
                image_weights=np.ones((1, 1), int),
                rng=np.random.default_rng(),
            ),
            "annotators has shape \\(1,\\)",
        ),
        (lambda: percentile_intervals([1.0, 2.0], [1.0]), "\\(B, M\\) and \\(M,\\) are needed"),
        (lambda: percentile_intervals([[1.0]], [1.0], level=1), "between 0 and 1"),
        (lambda: percentile_intervals([[1.0]], [1.0], level=0), "between 0 and 1"),
        (lambda: checks.counts("k", [1.0, 0.5], ndim=1), "whole numbers; it holds 0.5"),
        (lambda: checks.counts("k", [1, -1], ndim=1), "it holds -1, which is negative"),
        (
            lambda: checks.selected_of_shown([0, 2], [1, 1], ndim=1),
            "selected 2 times of 1 shown, at index \\(1,\\)",
        ),
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
    monkeypatch.setattr(bootstrap, "_CHUNK_SIZE", 200)
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


def test_large_sums_are_exact():
    weights = {"image_weights": [[4097]], "annotator_weights": [[4097]]}
    assert weighted_sums([[1]], [[1]], [0], [0], **weights)[0].tolist() == [[4097**2]]  # odd, above 2^24


def test_clusters_are_counted_as_a_plain_loop_counts_its_draws():
    found = cluster_weights(5, 30, np.random.default_rng(8))
    drawn = np.random.default_rng(8).integers(0, 5, (30, 5)).tolist()
    assert found.tolist() == [[row.count(cluster) for cluster in range(5)] for row in drawn]
    assert cluster_weights(1, 3, np.random.default_rng(8)).tolist() == [[1], [1], [1]]


def test_resampled_likelihoods_are_those_of_rows_repeated_in_pandas():
    """The same draws, of images and then of annotators, applied by repeating rows."""
    k, n, images, annotators = answers(images=6, annotators=5, attributes=2)
    n[::4, 1] = k[::4, 1] = 0
    values, chosen = resampled_likelihoods(k, n, images, annotators, resamples=25, rng=generator(6, "x"))
    for_images, for_annotators = generator(6, "x").spawn(2)
    by_image = cluster_weights(6, 25, for_images)
    by_annotator = cluster_weights(5, 25, for_annotators.spawn(2)[0])
    seen = list(dict.fromkeys(annotators.tolist()))  # numbered in the order in which they come
    for draw in range(25):
        times = [
            by_image[draw, image] * by_annotator[draw, seen.index(person)]
            for image, person in zip(images.tolist(), annotators.tolist(), strict=True)
        ]
        rows = np.repeat(np.arange(len(k)), times)
        top, bottom = pd.DataFrame(k).iloc[rows].sum(), pd.DataFrame(n).iloc[rows].sum()
        np.testing.assert_array_equal(chosen[draw], top)
        np.testing.assert_allclose(values[draw], top / bottom.replace(0, np.nan))


def test_sums_do_not_depend_on_the_order_of_the_responses():
    k, n, images, annotators = answers()
    rng = np.random.default_rng(9)
    weights = {
        "image_weights": cluster_weights(15, 20, rng),
        "annotator_weights": cluster_weights(12, 20, rng),
    }
    order = rng.permutation(len(k))
    plain = weighted_sums(k, n, images, annotators, **weights)
    turned = weighted_sums(k[order], n[order], images[order], annotators[order], **weights)
    np.testing.assert_array_equal(plain, turned)


def test_with_everything_drawn_once_sums_are_those_of_the_study_and_with_nothing_zero():
    k, n, images, annotators = answers()
    for weight in (0, 1, 2):
        top, bottom = weighted_sums(
            k,
            n,
            images,
            annotators,
            image_weights=np.full((1, 15), weight),
            annotator_weights=np.ones((1, 12), int),
        )
        np.testing.assert_array_equal([top[0], bottom[0]], [weight * k.sum(axis=0), weight * n.sum(axis=0)])


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


def test_the_order_of_the_resamples_does_not_matter_and_each_column_stands_alone():
    rng = np.random.default_rng(5)
    samples = rng.normal(size=(333, 4))
    samples[rng.random(samples.shape) < 0.1] = np.nan
    samples[7, 2] = np.inf
    estimates = np.nanmedian(samples, axis=0)
    found = percentile_intervals(samples, estimates)
    assert percentile_intervals(rng.permuted(samples, axis=0), estimates) == found
    assert percentile_intervals(samples[:, ::-1], estimates[::-1]) == found[::-1]


@pytest.mark.parametrize("shape", [np.exp, np.cbrt, lambda x: 3 * x + 2, lambda x: -x])
def test_an_interval_moves_with_a_monotone_transformation(shape):
    """Its bounds are values that occurred, also where the order is turned round: 2.5 % of 1001 values is no
    whole number of them, so that either end leaves out as many."""
    samples = np.random.default_rng(6).normal(size=(1001, 1))
    (plain,) = percentile_intervals(samples, [0.0])
    (found,) = percentile_intervals(shape(samples), [float(shape(0.0))])
    assert sorted(shape(np.array([plain.low, plain.high]))) == [found.low, found.high]


def test_of_a_normal_sample_the_bounds_are_those_of_the_normal_distribution():
    drawn = norm.ppf((np.arange(9_999) + 0.5) / 9_999)[:, None]
    for level in (0.5, 0.9, 0.95):
        (found,) = percentile_intervals(drawn, [0.0], level=level)
        expected = norm.ppf([(1 - level) / 2, (1 + level) / 2])
        np.testing.assert_allclose([found.low, found.high], expected, atol=2e-3)


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


def test_people_of_several_groups_are_drawn_once_whatever_they_are_called():
    """The same person weighs the same in every group, and labels tell nobody's weight."""
    people = AnnotatorDraws(50, generator(3, ""))
    first, second = people.weights([7, 2, 9]), people.weights([9, 4, 7])
    np.testing.assert_array_equal(first[:, [2, 0]], second[:, [0, 2]])
    again = AnnotatorDraws(50, generator(3, ""))
    np.testing.assert_array_equal(np.hstack([first, second[:, 1:2]]), again.weights([1, 2, 3, 4]))
    assert first.mean() == pytest.approx(1, abs=0.3)


def test_with_people_a_plain_program_gives_the_same():
    k, n, images, annotators = answers(seed=3, images=4, annotators=5, attributes=3)
    by_image = cluster_weights(4, 20, generator(1, "images"))
    found = sums_over_annotators(
        *(k, n, np.arange(len(k)), images, annotators),
        image_weights=by_image,
        rng=generator(1, "x"),
        annotator_draws=AnnotatorDraws(20, generator(2, "")),
    )
    order = list(dict.fromkeys(annotators.tolist()))
    drawn = dict(zip(order, AnnotatorDraws(20, generator(2, "")).weights(order).T, strict=True))
    for answered, sums in zip((k, n), found, strict=True):
        plain = [
            sum(
                by_image[b, i] * drawn[j][b] * row
                for row, i, j in zip(answered, images, annotators, strict=True)
            )
            for b in range(20)
        ]
        np.testing.assert_array_equal(sums, plain)


def test_people_whom_nobody_knows_are_drawn_as_without():
    k, n, images, _ = answers(seed=4)
    nobody = -1 - np.arange(len(k))
    plain = resampled_likelihoods(k, n, images, nobody, resamples=30, rng=generator(5, "x"))
    people = AnnotatorDraws(30, generator(5, ""))
    found = resampled_likelihoods(
        k, n, images, nobody, resamples=30, rng=generator(5, "x"), annotator_draws=people
    )
    np.testing.assert_array_equal(found[0], plain[0])
    # and beside people who are known, by themselves: sums of both add up
    half = np.where(np.arange(len(k)) < 40, np.arange(len(k)) % 6, nobody)
    mixed, _ = resampled_likelihoods(
        k, n, images, half, resamples=30, rng=generator(5, "x"), annotator_draws=people
    )
    assert mixed.shape == plain[0].shape
    assert not np.array_equal(mixed, plain[0])


def test_one_image_and_one_annotator_never_vary():
    values, _ = resampled_likelihoods([[1, 0]], [[1, 1]], [4], [4], resamples=20, rng=generator(0, "x"))
    np.testing.assert_array_equal(values, [[1, 0]] * 20)
