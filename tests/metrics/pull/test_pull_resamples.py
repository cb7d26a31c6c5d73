"""Parts of the bootstrap of pull (PROTOCOL §9, §10) by themselves: draws in two stages, means over groups."""

import math

import numpy as np
import pandas as pd
import pytest

from metrics.core.stats.bootstrap import cluster_weights, generator
from metrics.pull.stats.pull import pull, resampled, resampled_mean, two_stage_weights


def similarity_within(vectors) -> float:
    return pull(vectors, [], []).s_d_d


def units(seed, n, dim=8):
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 1.0]], "default holds unit vectors only; number 0 of 1 has length 1.41"),
        ([1.0, 0.0], r"default has shape \(2,\)"),
        ([["a"]], "numbers \\(n, dim\\) are needed"),
    ],
)
def test_what_is_no_set_of_unit_vectors_has_no_similarity_within(vectors, message):
    with pytest.raises(ValueError, match=message):
        similarity_within(vectors)


def test_similarity_within_does_not_depend_on_order_or_on_a_turn_of_all_vectors():
    vectors = units(1, 30)
    turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(8, 8)))
    found = similarity_within(vectors)
    assert similarity_within(vectors[::-1]) == pytest.approx(found, abs=1e-12)
    assert similarity_within(vectors @ turn) == pytest.approx(found, abs=1e-12)


def test_vectors_of_a_regular_simplex_are_as_unlike_as_vectors_can_be():
    """n vectors from the middle to the corners: every cosine is -1 / (n - 1)."""
    corners = np.eye(6) - 1 / 6  # from their middle
    assert similarity_within(corners / np.linalg.norm(corners, axis=1, keepdims=True)) == pytest.approx(-0.2)


def test_a_plain_loop_draws_the_same_images_in_two_stages():
    """Prompts, then images of each drawn prompt, with the same random numbers in the same order."""
    prompts = np.array([0, 1, 0, 1, 1, 2])
    found = two_stage_weights(prompts, 40, generator(3, "x"))
    rng = generator(3, "x")
    times = cluster_weights(3, 40, rng)
    members = [np.flatnonzero(prompts == prompt).tolist() for prompt in range(3)]
    draws = [
        (draw, members[prompt])
        for draw in range(40)
        for prompt in range(3)
        for _ in range(times[draw, prompt] * len(members[prompt]))
    ]
    places = rng.integers(0, [len(of_prompt) for _, of_prompt in draws])
    expected = np.zeros((40, 6), dtype=int)
    for (draw, of_prompt), place in zip(draws, places.tolist(), strict=True):
        expected[draw, of_prompt[place]] += 1
    np.testing.assert_array_equal(found, expected)


def test_one_image_is_drawn_once_and_prompts_of_one_image_are_drawn_as_clusters():
    assert two_stage_weights(["a"], 3, generator(0, "x")).tolist() == [[1], [1], [1]]
    drawn = two_stage_weights(np.arange(7), 20, generator(4, "x"))
    np.testing.assert_array_equal(drawn, cluster_weights(7, 20, generator(4, "x")))


def test_resamples_do_not_depend_on_a_turn_of_all_vectors_nor_on_what_prompts_are_called():
    sets, turn = [units(seed, 9) for seed in (1, 2, 3)], np.linalg.qr(units(4, 8))[0]
    prompts = [np.arange(9) // 3] * 3
    plain = resampled(*sets, prompts=prompts, resamples=30, rng=generator(2, "x"))
    turned = resampled(
        *(one @ turn for one in sets),
        prompts=[[f"prompt {place}" for place in one] for one in prompts],
        resamples=30,
        rng=generator(2, "x"),
    )
    np.testing.assert_allclose(turned, plain, atol=1e-12)


def test_a_mean_over_groups_is_that_of_a_plain_pandas_program():
    samples = np.random.default_rng(1).normal(size=(5, 40, 3))
    found = resampled_mean(samples, rng=np.random.default_rng(2))
    rng = np.random.default_rng(2)
    groups, rows = rng.integers(0, 5, (40, 5)), rng.integers(0, 40, (40, 5))
    for b in range(40):
        drawn = pd.DataFrame([samples[g, r] for g, r in zip(groups[b], rows[b], strict=True)])
        np.testing.assert_allclose(found[b], drawn.mean())


def test_a_mean_over_groups_shifts_and_stretches_with_its_numbers_and_columns_keep_their_order():
    samples = np.random.default_rng(3).normal(size=(4, 50, 3))
    plain = resampled_mean(samples, rng=generator(1, "x"))
    np.testing.assert_allclose(resampled_mean(2 * samples + 3, rng=generator(1, "x")), 2 * plain + 3)
    np.testing.assert_array_equal(resampled_mean(samples[:, :, ::-1], rng=generator(1, "x")), plain[:, ::-1])


def test_a_mean_over_groups_is_undefined_just_where_a_group_without_the_number_is_drawn():
    samples = np.ones((2, 4000, 1))
    samples[1] = np.nan
    found = resampled_mean(samples, rng=generator(5, "x"))[:, 0]
    assert np.isnan(found).mean() == pytest.approx(3 / 4, abs=0.03)
    assert (found[~np.isnan(found)] == 1).all()
    assert math.isnan(resampled_mean([[[math.nan]]], rng=generator(0, "x"))[0, 0])
