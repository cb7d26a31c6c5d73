"""Resamples of pull that two sides share (PROTOCOL §9, §10): the five kinds of test of it."""

import numpy as np
import pytest

from metrics.core.stats.bootstrap import generator, joint_weights
from metrics.pull.stats.paired import COMPARED, ImageVectors, _paired_weights, paired_resampled
from metrics.pull.stats.pull import COLUMNS, draws_within, pull, resampled, two_stage_weights

X = COLUMNS.index("x")


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def pictures(seed, *, prompts=4, each=3, first_image=0, dim=6, centre=None):
    """Images of a set, each prompt with a direction of its own that any seed has in common."""
    rng, common = np.random.default_rng(seed), np.random.default_rng(99)
    directions = common.normal(size=(prompts, dim)) + (0 if centre is None else np.asarray(centre))
    label = np.repeat(np.arange(prompts), each)
    vectors = units(directions[label] + 0.3 * rng.normal(size=(len(label), dim)))
    return ImageVectors(vectors, [f"prompt {one}" for one in label], first_image + np.arange(len(label)))


def side(seed, **given):
    return [pictures(10 * seed + place, first_image=1000 * seed + 100 * place, **given) for place in range(3)]


def drawn(first, second, *, resamples=50, name="x"):
    return paired_resampled(first, second, resamples=resamples, rng=generator(1, name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ImageVectors(np.zeros((0, 6)), [], []),
            "default holds no image to resample on one of the sides",
        ),
        (ImageVectors(np.eye(6)[:2], ["a"], [1, 2]), "default has 2 images and 1 prompts; one of each"),
        (ImageVectors(np.eye(6)[:2], ["a", "a"], [1, 1]), "default holds an image twice on one side"),
        (ImageVectors(np.eye(6)[:1], ["other"], [1000]), "an image that has another prompt on each side"),
        (ImageVectors(np.eye(6)[:1], [["a"]], [1]), "default prompts have 2 dimensions; 1 is needed"),
        (ImageVectors(2 * np.eye(6)[:1], ["a"], [1]), "default holds unit vectors only"),
    ],
)
def test_bad_input_is_refused_and_says_which_set(change, message):
    first = side(1)
    with pytest.raises(ValueError, match=message):
        drawn(first, [change, *side(2)[1:]])


def test_it_does_not_depend_on_what_prompts_and_images_are_called_nor_on_a_turn_of_all_vectors():
    first, second = side(1), side(2)
    turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))
    plain = drawn(first, second)

    def renamed(one):
        return ImageVectors(
            np.asarray(one.vectors) @ turn,
            [f"z{prompt}" for prompt in one.prompts],
            [f"picture {9999 - image}" for image in one.images],
        )

    other = drawn(*([renamed(one) for one in each] for each in (first, second)))
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_same_pictures_on_both_sides_never_differ_and_other_pictures_of_the_same_prompts_do():
    first = side(1)
    one, other = drawn(first, first)
    np.testing.assert_array_equal(one, other)
    one, other = drawn(first, side(2))
    assert np.abs(one - other).max() > 0.01


def test_each_side_by_itself_is_drawn_as_pull_draws_it():
    """All prompts shared: the distribution of either side is that of the draw of one."""
    first, second = side(1), side(2)
    one, other = drawn(first, second, resamples=4000)
    for place, (of_side, found) in enumerate(((first, one), (second, other))):
        alone = resampled(
            *(each.vectors for each in of_side),
            prompts=tuple(each.prompts for each in of_side),
            resamples=4000,
            rng=generator(7, f"{place}"),
        )[:, : len(COMPARED)]
        np.testing.assert_allclose(found.mean(axis=0), alone.mean(axis=0), atol=0.01)
        np.testing.assert_allclose(found.std(axis=0), alone.std(axis=0), rtol=0.08)
        np.testing.assert_allclose(
            found.mean(axis=0)[X], pull(*(each.vectors for each in of_side)).x, atol=0.02
        )


def test_what_prompts_differ_by_cancels_where_both_sides_were_asked_the_same():
    """Prompts far apart, images of a prompt alike: the difference of two models spreads little."""
    first, second = side(1, each=6), side(2, each=6)
    one, other = drawn(first, second, resamples=2000)

    def unshared(sets):
        return [
            ImageVectors(one.vectors, [f"other {each}" for each in one.prompts], one.images) for one in sets
        ]

    apart_one, apart = drawn(first, unshared(second), resamples=2000)
    assert (one - other)[:, X].std() < 0.6 * (apart_one - apart)[:, X].std()


def test_a_plain_loop_draws_the_same_weights():
    """Shared prompts once, images of both sides once, the others of each side alone."""
    first = ImageVectors(np.eye(6)[:5], ["a", "a", "b", "b", "c"], [1, 2, 3, 4, 5])
    second = ImageVectors(np.eye(6)[:4], ["b", "b", "d", "a"], [3, 7, 8, 1])
    found = _paired_weights("set", first, second, 60, generator(3, "x"))
    prompts, shared, *own = generator(3, "x").spawn(4)
    # renumbered in the order of appearance: a b c, and b d a
    times = joint_weights([0, 0, 1, 1, 2], [1, 1, 3, 0], 60, prompts)
    by_name = [
        dict(zip(names, each.T, strict=True))
        for names, each in zip(("abc", ("a", "b", "d")), times, strict=True)
    ]
    for name in "ab":
        np.testing.assert_array_equal(by_name[0][name], by_name[1][name])

    def loop(of_prompt, side_of, rng):
        """Of one side or both: members of each prompt drawn as often as the prompt, as many as it has."""
        weights = np.zeros((60, len(of_prompt)), dtype=int)
        draws = [
            (b, members)
            for b in range(60)
            for name in side_of
            for members in [[place for place, each in enumerate(of_prompt) if each == name]]
            for _ in range(side_of[name][b] * len(members))
        ]
        places = rng.integers(0, [len(members) for _, members in draws])
        for (b, members), place in zip(draws, places.tolist(), strict=True):
            weights[b, members[place]] += 1
        return weights

    both = loop(["a", "b"], by_name[0], shared)  # images 1 and 3
    np.testing.assert_array_equal(found[0][:, [0, 2]], both)
    np.testing.assert_array_equal(found[1][:, [3, 0]], both)
    np.testing.assert_array_equal(found[0][:, [1, 3, 4]], loop(["a", "b", "c"], by_name[0], own[0]))
    np.testing.assert_array_equal(found[1][:, [1, 2]], loop(["b", "d"], by_name[1], own[1]))


def test_one_image_of_one_prompt_is_always_there():
    one = [ImageVectors([np.eye(6)[place]], ["a"], [place]) for place in range(3)]
    found, other = drawn(one, one, resamples=3)
    assert found[:, X].tolist() == other[:, X].tolist() == [0, 0, 0]


def test_draws_within_clusters_keep_their_number_and_a_cluster_not_drawn_gives_nothing():
    times = np.array([[2, 0, 1], [0, 3, 0]])
    weights = draws_within(np.array([2, 0, 0, 1]), times, generator(0, "x"))
    assert weights[:, [1, 2]].sum(axis=1).tolist() == [4, 0]
    assert weights[:, 3].tolist() == [0, 3]
    assert weights[:, 0].tolist() == [1, 0]
    assert draws_within(np.zeros(0, dtype=int), times, generator(0, "x")).shape == (2, 0)
    with pytest.raises(ValueError, match="no image to resample"):
        two_stage_weights([], 3, generator(0, "x"))
