"""Stereotypical pull (PROTOCOL §9): bad input, invariance, theory, another program, degenerate data."""

import math

import numpy as np
import pytest

from metrics.core.stats.bootstrap import generator
from metrics.core.stats.percentiles import percentile_intervals
from metrics.pull.stats import pull as module
from metrics.pull.stats.pull import COLUMNS, pull, resampled, resampled_mean, two_stage_weights

X = COLUMNS.index("x")


def similarity(one, other) -> float:
    return pull(one, other, []).s_d_s


def similarity_within(vectors) -> float:
    return pull(vectors, [], []).s_d_d


def units(seed=0, n=20, dim=16):
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def three_sets(seed=0):
    """Default, stereotypical and non-stereotypical vectors with their prompts, of unequal numbers."""
    sets = units(seed, 6), units(seed + 1, 15), units(seed + 2, 12)
    return sets, (np.zeros(6), np.arange(15) // 3, np.arange(12) % 4)


def cosine(one, other) -> float:
    """By the definition, number by number, of vectors of any length."""
    products = sum(a * b for a, b in zip(one, other, strict=True))
    return products / math.sqrt(sum(a * a for a in one)) / math.sqrt(sum(b * b for b in other))


def planted(rng, *, mean, strength, prompts, each, spread=0.5):
    """Unit vectors whose expectation is exactly `strength` · `mean`: what is left of their length points in
    directions without a mean, half of it the same for all images of a prompt."""
    dim = len(mean)
    vectors = []
    for _ in range(prompts):
        shared = across(rng, mean)
        for _ in range(each):
            own = across(rng, mean)
            own -= (own @ shared) * shared
            own /= np.linalg.norm(own)
            rest = math.sqrt(spread) * shared + math.sqrt(1 - spread) * own
            vectors.append(strength * mean + math.sqrt(1 - strength**2) * rest)
    return np.array(vectors).reshape(-1, dim), np.repeat(np.arange(prompts), each)


def across(rng, mean):
    """A random unit vector at a right angle to `mean`."""
    vector = rng.normal(size=len(mean))
    vector -= (vector @ mean) * mean
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: similarity([[1.0, 1.0]], [[1.0, 0.0]]),
            "default holds unit vectors only; number 0 of 1 has",
        ),
        (
            lambda: similarity([[1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]),
            "stereotypical .* number 1 of 2 has length 0",
        ),
        (lambda: similarity([[float("nan"), 1.0]], [[1.0, 0.0]]), "has length nan"),
        (lambda: similarity([1.0, 0.0], [[1.0, 0.0]]), r"default has shape \(2,\)"),
        (lambda: similarity([["a"]], [[1.0]]), "numbers \\(n, dim\\) are needed"),
        (
            lambda: similarity([[1.0, 0.0]], [[1.0]]),
            "different numbers of dimensions .*: default 2, stereotypical 1",
        ),
        (lambda: pull([[1.0]], [[1.0]], [[1.0, 0.0]]), "default 1, stereotypical 1, non_stereotypical 2"),
        (lambda: two_stage_weights([], 5, generator(0, "x")), "no image to resample"),
        (lambda: two_stage_weights(["a"], 0, generator(0, "x")), "must be at least 1"),
        (
            lambda: resampled(
                [[1.0]], [[1.0]], [[1.0]], prompts=([1], [1, 2], [1]), resamples=5, rng=generator(0, "x")
            ),
            r"prompts has shape \(2,\); \(1,\) is needed",
        ),
        (lambda: resampled_mean(np.zeros((0, 5, 1)), rng=generator(0, "x")), "at least one group"),
        (lambda: resampled_mean([[1.0]], rng=generator(0, "x")), r"\(G, B, K\)"),
    ],
)
def test_bad_input_is_refused_with_its_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lengths_that_rounding_explains_are_scaled_away():
    one, other = units(1, 9), units(2, 7)
    exact = similarity(one, other)
    assert similarity((one * 1.0005).astype("f4"), other) == pytest.approx(exact, abs=1e-7)
    assert similarity(one.astype("f2"), other) == pytest.approx(exact, abs=1e-3)


def test_a_plain_double_loop_gives_the_same():
    (d, s, ns), _ = three_sets()
    found = pull(d, s, ns)
    sets = {"d": d, "s": s, "ns": ns}
    for name in ("s_d_s", "s_d_ns", "s_s_ns"):
        one, other = (sets[each] for each in name.split("_")[1:])
        pairs = [cosine(a, b) for a in one for b in other]
        assert getattr(found, name) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    for name, one in (("s_d_d", d), ("s_s_s", s), ("s_ns_ns", ns)):
        pairs = [cosine(one[i], one[j]) for i in range(len(one)) for j in range(len(one)) if i != j]
        assert getattr(found, name) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    assert found.s_mean == pytest.approx((found.s_d_s + found.s_d_ns + found.s_s_ns) / 3)
    assert found.x == pytest.approx(found.s_d_s - found.s_d_ns)
    assert found.pulled == (found.s_d_s > found.s_d_ns)


def test_a_plain_double_loop_gives_the_same_in_every_resample(monkeypatch):
    """Each resample's images are written out as often as they were drawn; pairs of an image with itself,
    under whatever name, are left out. Within a set all resamples are moved by the same amount, so that their
    mean is the estimate."""
    sets, prompts = three_sets()
    drawn = []
    draw = two_stage_weights

    def remembered(*arguments):
        drawn.append(draw(*arguments))
        return drawn[-1]

    monkeypatch.setattr(module, "two_stage_weights", remembered)
    found = resampled(*sets, prompts=prompts, resamples=8, rng=generator(1, "x"))
    point, table = pull(*sets), []
    for draw_number in range(8):
        rows = [np.repeat(np.arange(len(one)), drawn[k][draw_number]) for k, one in enumerate(sets)]
        expected = {}
        for name, k, m in (("s_d_s", 0, 1), ("s_d_ns", 0, 2), ("s_s_ns", 1, 2)):
            expected[name] = np.mean([cosine(sets[k][i], sets[m][j]) for i in rows[k] for j in rows[m]])
        for name, k in (("s_d_d", 0), ("s_s_s", 1), ("s_ns_ns", 2)):
            pairs = [cosine(sets[k][i], sets[k][j]) for i in rows[k] for j in rows[k] if i != j]
            expected[name] = np.mean(pairs)
        expected["s_mean"] = np.mean([expected[name] for name in ("s_d_s", "s_d_ns", "s_s_ns")])
        expected["x"] = expected["s_d_s"] - expected["s_d_ns"]
        table.append([expected[name] for name in COLUMNS])
    plain = np.array(table)
    np.testing.assert_allclose(found[:, :5], plain[:, :5], atol=1e-12)
    moved = plain[:, 5:] - plain[:, 5:].mean(axis=0) + [point.s_d_d, point.s_s_s, point.s_ns_ns]
    np.testing.assert_allclose(found[:, 5:], moved, atol=1e-12)


def test_neither_order_nor_a_turn_of_all_vectors_nor_a_repetition_changes_anything():
    (d, s, ns), _ = three_sets()
    turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(16, 16)))
    found = pull(d, s, ns)
    for other in (pull(d[::-1], s[::-1], ns[::-1]), pull(d @ turn, s @ turn, ns @ turn)):
        np.testing.assert_allclose(
            [getattr(other, name) for name in COLUMNS], [getattr(found, name) for name in COLUMNS], atol=1e-12
        )
    assert similarity(np.vstack([d, d]), s) == pytest.approx(found.s_d_s, abs=1e-12)
    assert similarity(s, d) == pytest.approx(found.s_d_s, abs=1e-12)
    # exchanging the described sets turns x round
    assert pull(d, ns, s).x == pytest.approx(-found.x, abs=1e-12)


def test_what_prompts_are_called_and_working_in_pieces_change_nothing(monkeypatch):
    prompts = np.array([2, 2, 5, 5, 5, 9])
    plain = two_stage_weights(prompts, 40, generator(1, "x"))
    np.testing.assert_array_equal(plain, two_stage_weights(100 - prompts, 40, generator(1, "x")))
    monkeypatch.setattr(module, "_CHUNK_SIZE", 12)
    np.testing.assert_array_equal(plain, two_stage_weights(prompts, 40, generator(1, "x")))


def test_whole_prompts_are_drawn_and_then_images_of_them():
    weights = two_stage_weights(np.repeat([0, 1, 2], [2, 3, 5]), 3000, generator(2, "x"))
    of_prompt = np.add.reduceat(weights, [0, 2, 5], axis=1)
    # a prompt brings as many draws as it has images, each time that it is drawn
    np.testing.assert_array_equal(of_prompt % [2, 3, 5], 0)
    np.testing.assert_array_equal((of_prompt // [2, 3, 5]).sum(axis=1), 3)
    # every image is expected once
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.1)
    assert ((weights[:, 0] != weights[:, 1]) & (of_prompt[:, 0] > 0)).any()


def test_the_spread_is_that_of_theory_for_one_prompt_and_for_many():
    """For one fixed direction on the other side, S is the mean of the projections z. One prompt: variance
    var(z) / n. Prompts of m images each: that of the prompts' means between them, plus var within / (P m)."""
    vectors = units(3, 60)
    other = units(4, 1)
    z = vectors @ other[0]
    for prompts in (np.zeros(60), np.arange(60) // 10):
        drawn = resampled(
            vectors, other, other, prompts=(prompts, [0], [0]), resamples=6000, rng=generator(5, "x")
        )[:, 0]
        groups = [z[prompts == label] for label in np.unique(prompts)]
        between = np.var([group.mean() for group in groups]) / len(groups)
        within = np.mean([group.var() for group in groups]) / 60
        assert drawn.mean() == pytest.approx(z.mean(), abs=4 * drawn.std() / math.sqrt(6000))
        assert drawn.var() == pytest.approx(between + within, rel=0.1)


def test_a_planted_pull_lies_within_its_interval_about_as_often_as_that_says():
    """40 groups of known S: the expectation of a pair of independent vectors is the product of the
    expectations. Two of a hundred intervals may miss on each side; with 40, at most 6 do in all but one of
    a thousand seeds, and the two-stage draw is wider than it need be."""
    rng = np.random.default_rng(11)
    mean, other = np.eye(24)[0], np.eye(24)[:2].sum(axis=0) / math.sqrt(2)
    truth = {"s_d_s": 0.8 * 0.7, "s_d_ns": 0.8 * 0.4 / math.sqrt(2)}
    truth["x"] = truth["s_d_s"] - truth["s_d_ns"]
    missed = dict.fromkeys(truth, 0)
    for number in range(40):
        d, of_d = planted(rng, mean=mean, strength=0.8, prompts=1, each=15, spread=0)
        s, of_s = planted(rng, mean=mean, strength=0.7, prompts=8, each=5)
        ns, of_ns = planted(rng, mean=other, strength=0.4, prompts=8, each=5)
        point = pull(d, s, ns)
        samples = resampled(d, s, ns, prompts=(of_d, of_s, of_ns), resamples=200, rng=generator(number, "x"))
        intervals = percentile_intervals(samples, [getattr(point, name) for name in COLUMNS])
        assert point.pulled
        for name, value in truth.items():
            found = intervals[COLUMNS.index(name)]
            missed[name] += not found.low <= value <= found.high
    assert max(missed.values()) <= 6


def test_an_interval_of_images_alone_would_be_too_narrow_where_prompts_differ():
    d, of_d = planted(np.random.default_rng(1), mean=np.eye(24)[0], strength=0.8, prompts=1, each=15)
    s, of_s = planted(np.random.default_rng(2), mean=np.eye(24)[0], strength=0.3, prompts=5, each=20)
    shape = {"resamples": 400, "rng": generator(3, "x")}
    by_prompt = resampled(d, s, s, prompts=(of_d, of_s, of_s), **shape)
    by_image = resampled(d, s, s, prompts=(of_d, np.arange(100), np.arange(100)), **shape)
    assert by_prompt[:, 2].std() > 1.5 * by_image[:, 2].std()


def test_means_over_groups_draw_groups_and_keep_a_group_s_numbers_together():
    """With nothing varying within groups, the variance of the mean is that of a plain bootstrap."""
    values = np.array([0.1, 0.4, 0.7, 0.9])
    samples = np.repeat(np.stack([values, -values], axis=1)[:, None, :], 4000, axis=1)
    found = resampled_mean(samples, rng=generator(1, "x"))
    np.testing.assert_array_equal(found[:, 0], -found[:, 1])
    assert found[:, 0].var() == pytest.approx(values.var() / 4, rel=0.1)
    # and with one group, what varies within it is kept
    within = np.random.default_rng(2).normal(size=(1, 4000, 1))
    assert resampled_mean(within, rng=generator(2, "x")).var() == pytest.approx(within.var(), rel=0.1)
    # each time that a group is drawn it brings another of its own resamples: half of the variance is left
    two = np.random.default_rng(3).normal(size=(2, 4000, 1))
    assert resampled_mean(two, rng=generator(3, "x")).var() == pytest.approx(two.var() / 2, rel=0.1)


def test_the_same_seed_gives_the_same():
    sets, prompts = three_sets()
    first, again = (
        resampled(*sets, prompts=prompts, resamples=5, rng=generator(7, "Mexican")) for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)


def test_an_empty_set_leaves_what_needs_it_undefined():
    (d, s, _), _ = three_sets()
    found = pull(d, s, [])
    assert found.s_d_s == pytest.approx(similarity(d, s))
    assert found.pulled is None
    assert all(math.isnan(getattr(found, name)) for name in ("s_d_ns", "s_s_ns", "s_mean", "x", "s_ns_ns"))
    drawn = resampled(d, s, [], prompts=(np.zeros(6), np.zeros(15), []), resamples=3, rng=generator(0, "x"))
    np.testing.assert_array_equal(
        np.isnan(drawn).all(axis=0), [math.isnan(getattr(found, n)) for n in COLUMNS]
    )
    assert math.isnan(similarity([], []))


def test_one_image_has_no_similarity_with_itself_and_equal_images_have_one():
    one = units(1, 1)
    assert math.isnan(similarity_within(one))
    assert similarity_within(np.repeat(one, 4, axis=0)) == pytest.approx(1)
    found = pull(one, one, one)
    assert (found.s_d_s, found.x, found.pulled) == (pytest.approx(1), 0, False)


def test_a_resample_of_one_image_only_has_no_similarity_within():
    two = units(1, 2)
    drawn = resampled(two, two, two, prompts=([0, 0],) * 3, resamples=50, rng=generator(0, "x"))
    within = drawn[:, COLUMNS.index("s_d_d")]
    assert 0 < np.isnan(within).sum() < 50
    np.testing.assert_allclose(within[~np.isnan(within)], float(two[0] @ two[1]))
    assert not np.isnan(drawn[:, X]).any()
