"""Responses drawn by kinds instead of one by one (PROTOCOL §10): the same distribution, nothing else."""

import numpy as np
import pandas as pd
import pytest

from metrics.core.stats import single_responses
from metrics.core.stats.bootstrap import (
    cluster_weights,
    generator,
    resampled_likelihoods,
    sums_over_annotators,
    weighted_sums,
)


def answers(responses=400, images=10, seed=0):
    """Responses of nobody known, of six kinds, on images of different rates."""
    rng = np.random.default_rng(seed)
    said = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
    shown = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    image_of = rng.integers(0, images, responses)
    answer_of = np.where(rng.random(responses) < 0.05 * image_of, 3, rng.integers(0, 6, responses))
    return said * shown, shown, image_of, answer_of


def drawn_one_by_one(k, image_of, answer_of, *, image_weights, rng):
    rows = np.arange(len(image_of))
    return weighted_sums(
        k[answer_of],
        np.ones_like(k)[answer_of],
        image_of,
        rows,
        image_weights=image_weights,
        annotator_weights=cluster_weights(len(rows), len(image_weights), rng),
    )[0]


def drawn_by_kinds(k, image_of, answer_of, *, image_weights, rng):
    drawn = single_responses.draw_answers(
        image_of,
        answer_of,
        answers=len(k),
        image_weights=image_weights,
        draws=np.full(len(image_weights), len(image_of)),
        rng=rng,
    )
    return drawn @ k


def test_means_and_covariances_are_those_of_drawing_one_by_one():
    k, _, image_of, answer_of = answers()
    # the same images in every resample, so that the spread is that of the responses alone
    weights = np.tile(cluster_weights(10, 1, np.random.default_rng(5)), (20_000, 1))
    one = drawn_one_by_one(k, image_of, answer_of, image_weights=weights, rng=np.random.default_rng(1))
    kinds = drawn_by_kinds(k, image_of, answer_of, image_weights=weights, rng=np.random.default_rng(2))
    np.testing.assert_allclose(kinds.mean(axis=0), one.mean(axis=0), rtol=0.01)
    np.testing.assert_allclose(np.cov(kinds.T), np.cov(one.T), rtol=0.08, atol=5)


def test_mean_and_variance_are_those_of_a_multinomial_draw():
    """N draws of N responses, each counting x = w k: mean sum(x), variance sum(x^2) - sum(x)^2 / N."""
    k, _, image_of, answer_of = answers()
    weights = np.tile(cluster_weights(10, 1, np.random.default_rng(5)), (20_000, 1))
    counted = weights[0, image_of] * k[answer_of, 0]
    drawn = drawn_by_kinds(k, image_of, answer_of, image_weights=weights, rng=np.random.default_rng(3))[:, 0]
    assert drawn.mean() == pytest.approx(counted.sum(), rel=0.005)
    assert drawn.var() == pytest.approx((counted**2).sum() - counted.sum() ** 2 / len(counted), rel=0.05)


def test_every_draw_lands_on_one_response():
    _, _, image_of, answer_of = answers()
    drawn = drawn_by_kinds(
        np.ones((6, 1), int),
        image_of,
        answer_of,
        image_weights=np.ones((50, 10), int),
        rng=np.random.default_rng(0),
    )
    np.testing.assert_array_equal(drawn, 400)


def test_many_unknown_annotators_are_drawn_by_kinds_and_known_or_different_ones_one_by_one():
    nobody, ten = np.arange(400), np.arange(400) % 10
    kinds, unlike = np.arange(400) % 6, np.arange(400)
    assert single_responses.groupable_responses(nobody, kinds).all()
    assert not single_responses.groupable_responses(ten, kinds).any()
    assert not single_responses.groupable_responses(nobody, unlike).any()


def test_intervals_are_the_same_by_either_way(monkeypatch):
    k, n, image_of, answer_of = answers()
    nobody = np.arange(400)

    def bounds():
        values, _ = resampled_likelihoods(
            k, n, image_of, nobody, answers=answer_of, resamples=4000, rng=generator(1, "x")
        )
        return np.quantile(values, [0.025, 0.975], axis=0)

    by_kinds = bounds()
    monkeypatch.setattr(
        single_responses, "groupable_responses", lambda annotators, answers: np.zeros(len(answers), bool)
    )
    np.testing.assert_allclose(by_kinds, bounds(), atol=0.012)


def test_known_annotators_beside_unknown_ones_are_drawn_as_often_as_they_are_there():
    """1 known annotator of 100 answers 'yes' once for each image, 400 unknown answer 'no' once each."""
    k, n = np.array([[1], [0]]), np.array([[1], [1]])
    answer_of = np.r_[np.zeros(100, int), np.ones(400, int)]
    images, annotators = np.arange(500) % 20, np.r_[np.zeros(100, int), np.arange(1, 401)]
    _, chosen = resampled_likelihoods(
        k, n, images, annotators, answers=answer_of, resamples=4000, rng=generator(2, "x")
    )
    # drawn 401 times among 401 clusters: once on average, and with it about 100 answers
    assert chosen.mean() == pytest.approx(100, rel=0.06)
    assert (chosen == 0).mean() == pytest.approx(np.exp(-1), abs=0.03)


def test_the_order_of_the_responses_changes_no_draw():
    k, _, image_of, answer_of = answers()
    weights = cluster_weights(10, 40, np.random.default_rng(4))
    order = np.random.default_rng(6).permutation(len(image_of))
    plain, turned = (
        drawn_by_kinds(
            k, image_of[rows], answer_of[rows], image_weights=weights, rng=np.random.default_rng(7)
        )
        for rows in (slice(None), order)
    )
    np.testing.assert_array_equal(plain, turned)


def test_what_images_are_called_changes_no_draw():
    """Images of one weight are not told apart: renamed together with their weights, all stays the same."""
    k, _, image_of, answer_of = answers()
    weights = cluster_weights(10, 40, np.random.default_rng(4))
    place = np.random.default_rng(6).permutation(10)
    renamed = np.empty_like(weights)
    renamed[:, place] = weights
    plain = drawn_by_kinds(k, image_of, answer_of, image_weights=weights, rng=np.random.default_rng(7))
    other = drawn_by_kinds(k, place[image_of], answer_of, image_weights=renamed, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(plain, other)


def test_what_answers_are_called_changes_nothing_in_distribution():
    _, _, image_of, answer_of = answers()
    weights = np.tile(cluster_weights(10, 1, np.random.default_rng(5)), (20_000, 1))
    each = np.eye(6, dtype=int)
    plain = drawn_by_kinds(each, image_of, answer_of, image_weights=weights, rng=np.random.default_rng(1))
    turned = drawn_by_kinds(
        each, image_of, 5 - answer_of, image_weights=weights, rng=np.random.default_rng(1)
    )[:, ::-1]
    np.testing.assert_allclose(turned.mean(axis=0), plain.mean(axis=0), rtol=0.01)
    np.testing.assert_allclose(np.cov(turned.T), np.cov(plain.T), rtol=0.08, atol=5)


def test_where_all_say_the_same_every_draw_is_its_weight_exactly():
    """Nothing is left to chance: R draws of responses to images of weight 3 count 3 R."""
    drawn = single_responses.draw_answers(
        np.array([0, 1, 1, 0]),
        np.zeros(4, int),
        answers=1,
        image_weights=np.full((3, 2), 3),
        draws=np.array([4, 1, 7]),
        rng=np.random.default_rng(0),
    )
    assert drawn[:, 0].tolist() == [12, 3, 21]


def test_whether_it_is_worth_it_does_not_depend_on_order_or_names():
    people = np.r_[np.arange(300), np.repeat(np.arange(300, 310), 10)]
    said = np.arange(400) % 2
    order = np.random.default_rng(3).permutation(400)
    plain = single_responses.groupable_responses(people, said)
    assert plain.sum() == 300
    np.testing.assert_array_equal(
        single_responses.groupable_responses(people[order], said[order]), plain[order]
    )
    np.testing.assert_array_equal(single_responses.groupable_responses(people, said + 5), plain)
    once = pd.Series(people).map(pd.Series(people).value_counts()) == 1
    np.testing.assert_array_equal(plain, once)


def test_without_responses_nothing_is_worth_it():
    none = np.zeros(0, dtype=int)
    assert single_responses.groupable_responses(none, none).shape == (0,)


def test_no_response_drawn_counts_nothing():
    drawn = single_responses.draw_answers(
        np.array([0, 1]),
        np.array([0, 0]),
        answers=2,
        image_weights=np.zeros((3, 2), int),
        draws=np.array([2, 0, 1]),
        rng=np.random.default_rng(0),
    )
    np.testing.assert_array_equal(drawn, np.zeros((3, 2)))


@pytest.mark.parametrize("rows", [[0, 2], [-1, 0], [[0]]])
def test_answers_that_are_not_there_are_refused(rows):
    with pytest.raises(ValueError, match="must be rows of selected and shown, of which there are 2"):
        resampled_likelihoods(
            [[1], [0]], [[1], [1]], [0, 1], [0, 1], answers=rows, resamples=5, rng=generator(0, "x")
        )


def test_two_responses_of_one_person_are_not_drawn_apart():
    annotators = np.concatenate([[0, 0], np.arange(1, 60)])
    mask = single_responses.groupable_responses(annotators, np.zeros(61, dtype=int))
    assert mask.tolist() == [False, False, *[True] * 59]


def test_as_many_people_are_drawn_as_there_are_of_both_sorts():
    """Ten people who gave two responses of one kind, and sixty who gave one of another."""
    shown = np.array([[1, 0], [0, 1]])
    annotators = np.concatenate([np.repeat(np.arange(10), 2), np.arange(10, 70)])
    kinds = (annotators >= 10).astype(int)
    _, found = sums_over_annotators(
        *(0 * shown, shown, kinds, np.zeros(80, dtype=int), annotators),
        image_weights=np.ones((30, 1), dtype=int),
        rng=generator(0, "x"),
    )
    assert (found[:, 0] / 2 + found[:, 1]).tolist() == [70] * 30
    assert np.unique(found[:, 1]).size > 5
