"""Pairs that both captions and people found, and how sure their share is (PROTOCOL §8, §10)."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.captions.stats.caption_pairs import Agreement, agreement, resampled
from metrics.core.stats import bootstrap
from metrics.core.stats.percentiles import recentred


@pytest.mark.parametrize(
    ("named", "selected", "shown", "message"),
    [
        ([1], [2], [1], "selected 2 times of 1 shown"),
        ([1, 1], [1], [1], r"named has shape \(2,\) and shown \(1,\)"),
        ([-1], [1], [1], "named must be counts; it holds -1"),
        ([0.5], [1], [1], "named must be counts, that is whole numbers"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(named, selected, shown, message):
    with pytest.raises(ValueError, match=message):
        agreement(named, selected, shown)


def test_weights_of_other_images_and_shares_that_are_none_are_refused():
    with pytest.raises(
        ValueError, match=r"named has shape \(1, 1\), selected \(1, 1\) and image_weights \(1, 2\)"
    ):
        resampled([[1]], [[1]], [[1]], image_weights=[[1, 1]])
    with pytest.raises(ValueError, match="between 0 and 1"):
        recentred([1.2], 0.5)


counts = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)).map(
        lambda row: (row[0], min(row[1:]), max(row[1:]))
    ),
    min_size=1,
    max_size=12,
)


@given(counts, st.integers(2, 9), st.randoms(use_true_random=False))
def test_neither_order_nor_how_often_matters(rows, times, random):
    first = agreement(*zip(*rows, strict=True))
    shuffled = [tuple(times * one for one in row) for row in random.sample(rows, len(rows))]
    assert agreement(*zip(*shuffled, strict=True)) == first


@given(counts)
def test_the_same_one_pair_at_a_time(rows):
    k = sum(1 for named, selected, _ in rows if named and selected)
    n = sum(1 for named, _, shown in rows if named and shown)
    assert agreement(*zip(*rows, strict=True)) == Agreement(k, n, sum(1 for row in rows if row[0]) - n)


def test_what_people_are_shown_more_of_and_select_more_of_never_lowers_the_share():
    """0 where nobody selected anything, 1 where everything named was selected, and rising between."""
    named, shown = np.ones(20, dtype=int), np.full(20, 3)
    shares = [agreement(named, np.arange(20) < number, shown).share for number in range(21)]
    np.testing.assert_allclose(shares, np.arange(21) / 20)


def test_nothing_named_or_nothing_shown_has_no_share():
    assert np.isnan(agreement([0, 0], [1, 0], [1, 1]).share)
    assert np.isnan(agreement([], [], []).share)
    assert agreement([1, 1], [0, 0], [0, 0]) == Agreement(0, 0, 2)


def drawn(named, selected, shown, images, annotators, by_image, by_annotator):
    """The resamples of one group's responses with these weights."""
    k, n = bootstrap.weighted_sums(
        selected, shown, images, annotators, image_weights=by_image, annotator_weights=by_annotator
    )
    return resampled(named, k, n, image_weights=by_image)


def test_with_everything_drawn_once_a_resample_is_the_study():
    rng = np.random.default_rng(3)
    named, selected = rng.integers(0, 2, (4, 6)), rng.integers(0, 2, (12, 6))
    shown, images, people = np.ones((12, 6), dtype=int), np.arange(12) % 4, np.arange(12) % 5
    agreed, counted = drawn(named, selected, shown, images, people, np.ones((1, 4)), np.ones((1, 5)))
    whole = agreement(named.sum(axis=0), selected.sum(axis=0), shown.sum(axis=0))
    assert (int(agreed.sum()), int(counted.sum())) == (whole.k, whole.n)


def test_a_resample_is_the_study_of_the_images_and_annotators_drawn():
    """Each drawn image and answer written out as often as it was drawn, and counted one by one."""
    rng = np.random.default_rng(4)
    named, selected = rng.integers(0, 2, (3, 5)), rng.integers(0, 2, (9, 5))
    shown = np.maximum(selected, rng.integers(0, 2, (9, 5)))
    images, people = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    by_image = bootstrap.cluster_weights(3, 20, rng)
    by_annotator = bootstrap.cluster_weights(3, 20, rng)
    agreed, counted = drawn(named, selected, shown, images, people, by_image, by_annotator)
    for draw in range(20):
        told = np.repeat(named, by_image[draw], axis=0).sum(axis=0)
        times = by_image[draw][images] * by_annotator[draw][people]
        k, n = (np.repeat(table, times, axis=0).sum(axis=0) for table in (selected, shown))
        found = agreement(told, k, n)
        assert (int(agreed[draw].sum()), int(counted[draw].sum())) == (found.k, found.n)


def test_neither_the_order_of_images_nor_of_attributes_matters_to_a_resample():
    rng = np.random.default_rng(5)
    named, shown = rng.integers(0, 2, (4, 6)), rng.integers(0, 4, (10, 6))
    selected, weights = rng.integers(0, shown + 1), bootstrap.cluster_weights(4, 10, rng)
    images, columns = rng.permutation(4), rng.permutation(6)
    plain = resampled(named, selected, shown, image_weights=weights)
    turned = resampled(
        named[np.ix_(images, columns)],
        selected[:, columns],
        shown[:, columns],
        image_weights=weights[:, images],
    )
    for one, other in zip(plain, turned, strict=True):
        np.testing.assert_array_equal(other, one[:, columns])


def test_a_resample_without_an_image_or_an_answer_counts_nothing():
    agreed, counted = resampled([[1], [1]], [[1], [0]], [[2], [0]], image_weights=[[0, 0], [1, 1]])
    assert not agreed.any()
    assert not counted.any()
    agreed, counted = resampled(
        np.ones((2, 0), int), *[np.zeros((3, 0), int)] * 2, image_weights=[[1, 1]] * 3
    )
    assert agreed.shape == counted.shape == (3, 0)


def test_moving_shares_does_not_depend_on_their_order_or_on_where_they_were():
    shares = np.random.default_rng(6).uniform(0.2, 0.4, 50)
    shares[3] = np.nan
    moved = recentred(shares, 0.5)
    np.testing.assert_allclose(recentred(shares[::-1], 0.5), moved[::-1])
    np.testing.assert_allclose(recentred(shares + 0.1, 0.5), moved)
    # the same in pandas, which skips what is missing
    series = pd.Series(shares)
    np.testing.assert_allclose(moved, (series - series.mean() + 0.5).clip(0, 1))


def test_moved_shares_keep_their_spread_and_stay_shares():
    moved = recentred([0.1, 0.2, 0.3, float("nan")], 0.6)
    np.testing.assert_allclose(moved, [0.5, 0.6, 0.7, np.nan])
    assert recentred([0.0, 1.0], 0.9).max() == 1.0
    assert np.isnan(recentred([float("nan")], 0.5)).all()
    assert np.isnan(recentred([0.2, 0.4], float("nan"))).all()


IMAGES, PEOPLE, GROUPS, ATTRIBUTES = 10, 9, 12, 8


def simulated(rng) -> list[tuple[np.ndarray, ...]]:
    """A study in which images and people differ in how readily an attribute is seen."""
    groups = []
    eye = rng.normal(0, 0.5, PEOPLE)
    for _ in range(GROUPS):
        base, picture = rng.normal(-3.2, 1.5, ATTRIBUTES), rng.normal(0, 0.8, (IMAGES, ATTRIBUTES))
        named = rng.random((IMAGES, ATTRIBUTES)) < np.exp(picture * 0.2) / (1 + np.exp(0.5 - base * 0.5))
        image = np.repeat(np.arange(IMAGES), 3)
        person = np.concatenate([rng.choice(PEOPLE, 3, replace=False) for _ in range(IMAGES)])
        odds = base + picture[image] + eye[person][:, None]
        groups.append((named.astype(int), rng.random(odds.shape) < 1 / (1 + np.exp(-odds)), image, person))
    return groups


def share(groups) -> float:
    found = [agreement(n.sum(0), s.sum(0), np.full(ATTRIBUTES, len(s))) for n, s, _, _ in groups]
    return sum(one.k for one in found) / sum(one.n for one in found)


def test_recentred_intervals_hold_the_true_share_and_plain_ones_do_not():
    """Coverage of 95 % intervals in 60 simulated studies, of the mean share of 400 more."""
    rng = np.random.default_rng(11)
    truth = np.mean([share(simulated(rng)) for _ in range(400)])
    held = {"plain": 0, "recentred": 0}
    for _ in range(60):
        groups = simulated(rng)
        people = bootstrap.cluster_weights(PEOPLE, 200, rng)
        sums = np.zeros((2, 200))
        for named, selected, image, person in groups:
            by_image = bootstrap.cluster_weights(IMAGES, 200, rng)
            shown = np.ones_like(selected)
            agreed, counted = drawn(named, selected, shown, image, person, by_image, people)
            sums += [agreed.sum(axis=1), counted.sum(axis=1)]
        shares, estimate = sums[0] / sums[1], share(groups)
        for name, samples in (("plain", shares), ("recentred", recentred(shares, estimate))):
            low, high = np.quantile(samples, [0.025, 0.975])
            held[name] += low <= truth <= high
    assert held["recentred"] >= 54
    assert held["plain"] < 30
