"""Effect sizes and permutation tests against scipy, plain loops and a million simulated groups."""

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import stats

from metrics.embedding_tests.stats import effects, permutations
from metrics.embedding_tests.stats.effects import (
    CORRECTED,
    GREATER,
    LESS,
    PUBLISHED,
    DegenerateTest,
    effect,
)

DDOF = {CORRECTED: 1, PUBLISHED: 0}


def groups(seed=0, n_x=9, n_y=14, shift=0.6):
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 1.0, n_x), rng.normal(0.0, 1.6, n_y)


def found(x, y, *, variant=CORRECTED, alternative=GREATER, permutations=99, resamples=0, seed=0):
    rng = np.random.default_rng(seed)
    return effect(
        np.asarray(x, dtype=float),
        np.asarray(y, dtype=float),
        variant=variant,
        alternative=alternative,
        permutations=permutations,
        resamples=resamples,
        rng=rng,
    )


@pytest.mark.parametrize("alternative", [GREATER, LESS])
@pytest.mark.parametrize("variant", [CORRECTED, PUBLISHED])
def test_every_number_is_that_of_plain_loops_and_of_scipy(variant, alternative):
    x, y = groups()
    of = statistics.variance if variant == CORRECTED else statistics.pvariance
    v_x, v_y = of(x.tolist()), of(y.tolist())
    pooled = math.sqrt((8 * v_x + 13 * v_y) / 21)
    expected = (sum(x) / 9 - sum(y) / 14) / pooled
    of_x, of_y = v_x / 9, v_y / 14
    df = (of_x + of_y) ** 2 / (of_x**2 / 8 + of_y**2 / 13)

    def scipys(side):
        spread = {"ddof": DDOF[variant]}
        return stats.ttest_ind_from_stats(
            *(x.mean(), x.std(**spread), 9, y.mean(), y.std(**spread), 14),
            equal_var=False,
            alternative=side,
        )

    one = found(x, y, variant=variant, alternative=alternative)
    assert (one.n_x, one.n_y) == (9, 14)
    assert one.effect_size == pytest.approx(expected, rel=1e-12)
    assert one.df == pytest.approx(df, rel=1e-12)
    assert (one.t, one.p_value) == pytest.approx(tuple(scipys(alternative)), rel=1e-10)
    assert one.p_two_sided == pytest.approx(scipys("two-sided").pvalue, rel=1e-10)
    assert math.isnan(one.effect_low)
    assert math.isnan(one.effect_high)


def test_the_corrected_t_is_scipys_welch_of_the_values_themselves():
    x, y = groups(1)
    scipys = stats.ttest_ind(x, y, equal_var=False)
    one = found(x, y)
    assert (one.t, one.df, one.p_two_sided) == pytest.approx(
        (scipys.statistic, scipys.df, scipys.pvalue), rel=1e-10
    )


def test_variants_differ_by_the_divisor_alone():
    x, y = groups(2, n_x=10, n_y=10)
    published, corrected = found(x, y, variant=PUBLISHED), found(x, y)
    assert published.effect_size == pytest.approx(corrected.effect_size * math.sqrt(10 / 9), rel=1e-12)
    assert published.t == pytest.approx(corrected.t * math.sqrt(10 / 9), rel=1e-12)
    assert published.p_permutation == corrected.p_permutation


@pytest.mark.parametrize("alternative", [GREATER, LESS])
@pytest.mark.parametrize(("n_x", "n_y"), [(3, 6), (6, 3), (2, 9), (5, 5)])
def test_the_exact_p_is_that_of_all_splits(n_x, n_y, alternative):
    x, y = groups(3, n_x, n_y, 0.3)
    both = np.concatenate([x, y])
    observed = x.mean() - y.mean()
    reached = total = 0
    for chosen in itertools.combinations(range(len(both)), n_x):
        mask = np.isin(np.arange(len(both)), chosen)
        difference = both[mask].mean() - both[~mask].mean()
        reached += difference >= observed - 1e-9 if alternative == GREATER else difference <= observed + 1e-9
        total += 1
    one = found(x, y, alternative=alternative)
    assert one.exact
    assert one.splits == total == math.comb(n_x + n_y, n_x)
    assert one.p_permutation == reached / total
    scipys = stats.permutation_test(
        (x, y), lambda a, b, axis: a.mean(axis) - b.mean(axis), alternative=alternative, vectorized=True
    )
    assert one.p_permutation == pytest.approx(scipys.pvalue, rel=1e-9)


def test_ties_count_in_spite_of_rounding():
    """Sums of tenths that are equal differ in their last bits."""
    one = found([0.1, 0.2, 0.3, 0.3], [0.3, 0.3, 0.2, 0.1])
    whole = found([1, 2, 3, 3], [3, 3, 2, 1])
    assert one.p_permutation == whole.p_permutation
    assert whole.p_permutation > 0.5
    values = np.tile([0.1, 0.2, 0.3], 20)
    sampled = found(values, values[::-1], permutations=2000, seed=1)
    whole = found(np.round(10 * values), np.round(10 * values[::-1]), permutations=2000, seed=1)
    assert not sampled.exact
    assert sampled.p_permutation == whole.p_permutation


def test_a_sampled_p_agrees_with_the_exact_one(monkeypatch):
    x, y = groups(4, 10, 9, 0.4)
    exact = found(x, y)
    monkeypatch.setattr(permutations, "MOST_EXACT", 1)
    for sides, alternative in (((x, y), GREATER), ((y, x), LESS)):
        sampled = found(*sides, alternative=alternative, permutations=200_000)
        assert (sampled.exact, sampled.splits) == (False, 200_000)
        error = math.sqrt(exact.p_permutation * (1 - exact.p_permutation) / 200_000)
        assert abs(sampled.p_permutation - exact.p_permutation) < 4 * error


def test_a_sampled_p_agrees_with_scipys_for_large_groups():
    x, y = groups(5, 60, 45, 0.35)
    one = found(x, y, permutations=100_000)
    scipys = stats.permutation_test(
        (x, y),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        alternative="greater",
        vectorized=True,
        n_resamples=20_000,
        batch=2000,
        rng=np.random.default_rng(0),
    )
    p = one.p_permutation
    assert abs(p - scipys.pvalue) < 4 * math.sqrt(p * (1 - p) * (1 / 100_000 + 1 / 20_000))


def test_a_sampled_p_is_never_zero():
    one = found(np.arange(100, 130), np.arange(30), permutations=500)
    assert one.p_permutation == 1 / 501


def test_all_subsets_are_drawn_equally_often():
    """The sum of powers of two names its subset. 15 values are two blocks."""
    values = 2.0 ** np.arange(15)
    drawn = permutations.sampled_sums(values, 5, 200_000, np.random.default_rng(0)).astype(int)
    subsets, counts = np.unique(drawn, return_counts=True)
    assert len(subsets) == math.comb(15, 5)
    assert {subset.bit_count() for subset in subsets.tolist()} == {5}
    assert 0.001 < stats.chisquare(counts).pvalue < 0.999


def test_draws_of_many_blocks_have_the_moments_of_random_subsets():
    """Each value is drawn with p = k / n, and each pair with k (k - 1) / (n (n - 1)), also over blocks."""
    n, size, number = 40, 13, 60_000
    chosen = np.empty((number, n), dtype=bool)
    for part in range(2):  # 20 values in the bits of a sum
        values = np.zeros(n)
        values[part::2] = 2.0 ** np.arange(20)
        sums = permutations.sampled_sums(values, size, number, np.random.default_rng(0)).astype(np.int64)
        chosen[:, part::2] = (sums[:, None] >> np.arange(20)) & 1
    assert (chosen.sum(axis=1) == size).all()
    single, pair = size / n, size * (size - 1) / (n * (n - 1))
    together = chosen.astype(float).T @ chosen / number
    z = (np.diag(together) - single) / math.sqrt(single * (1 - single) / number)
    assert np.abs(z).max() < 4
    z = (together - pair)[np.triu_indices(n, 1)] / math.sqrt(pair * (1 - pair) / number)
    assert np.abs(z).max() < 4.5
    consecutive = np.corrcoef(chosen[:-1, 0], chosen[1:, 0])[0, 1]
    assert abs(consecutive) < 4 / math.sqrt(number)


def test_draws_depend_on_the_seed_and_not_on_threads(monkeypatch):
    values = np.random.default_rng(0).normal(size=50)
    draw = lambda seed: permutations.sampled_sums(values, 20, 150_000, np.random.default_rng(seed))  # noqa: E731
    many = draw(1)
    monkeypatch.setattr(permutations, "_THREADS", 1)
    assert (draw(1) == many).all()
    assert (draw(2) != many).any()


def test_draws_for_very_unequal_and_large_groups():
    values = np.zeros(5000)
    values[:50] = 1
    drawn = permutations.sampled_sums(values, 600, 20_000, np.random.default_rng(0))
    expected = stats.hypergeom(5000, 50, 600)
    counts = np.bincount(drawn.astype(int), minlength=51)
    kept = expected.pmf(np.arange(51)) * 20_000 >= 5
    share = expected.pmf(np.arange(51))[kept]
    assert stats.chisquare(counts[kept], share / share.sum() * counts[kept].sum()).pvalue > 0.001


def test_the_interval_is_scipys_bca():
    """Skewed groups, of which neither plain percentiles nor those corrected for bias alone come near."""
    rng = np.random.default_rng(2)
    x, y = rng.exponential(size=12) + 1.5, rng.exponential(size=30)
    for variant, ddof in DDOF.items():

        def d(a, b, axis=-1, ddof=ddof):
            pooled = 11 * a.var(axis, ddof=ddof) + 29 * b.var(axis, ddof=ddof)
            return (a.mean(axis) - b.mean(axis)) / np.sqrt(pooled / 40)

        scipys = stats.bootstrap(
            (x, y), d, n_resamples=50_000, method="BCa", rng=np.random.default_rng(0), batch=5000
        ).confidence_interval
        one = found(x, y, variant=variant, resamples=50_000)
        assert (one.effect_low, one.effect_high) == pytest.approx(tuple(scipys), abs=0.04)
        assert one.effect_low < one.effect_size < one.effect_high


def test_half_of_the_resamples_that_equal_d_count_as_below_it():
    """As scipy's do. Of so few different values, a tenth of the resamples equal d."""
    x, y = np.array([1.0, 1, 1, 0, 1]), np.array([0.0, 0, 1, 0, 0, 1])

    def d(a, b, axis=-1):
        with np.errstate(divide="ignore", invalid="ignore"):
            pooled = 4 * a.var(axis, ddof=1) + 5 * b.var(axis, ddof=1)
            return (a.mean(axis) - b.mean(axis)) / np.sqrt(pooled / 9)

    drawn = np.random.default_rng(1)
    resampled = d(x[drawn.integers(0, 5, (20_000, 5))], y[drawn.integers(0, 6, (20_000, 6))])
    resampled = resampled[np.isfinite(resampled)]
    below = (np.mean(resampled < d(x, y) - 1e-9) + np.mean(resampled < d(x, y) + 1e-9)) / 2
    moved = stats.norm.ppf(below) + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(
        stats.norm.ppf(below) + moved / (1 - effects._acceleration(x, y, CORRECTED) * moved)
    )
    one = found(x, y, resamples=20_000)
    expected = np.quantile(resampled, levels).tolist()
    assert [one.effect_low, one.effect_high] == pytest.approx(expected, abs=0.02)


def test_the_acceleration_counts_groups_by_their_size():
    """Each value's influence by leaving it out, of both samples together."""
    x, y = groups(3, 4, 40)
    d = [
        [found(np.delete(x, i), y).effect_size for i in range(4)],
        [found(x, np.delete(y, i)).effect_size for i in range(40)],
    ]
    influence = np.concatenate([(np.mean(each) - each) * (1 - 1 / len(each)) for each in d])
    expected = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
    assert effects._acceleration(x, y, CORRECTED) == pytest.approx(expected)


@pytest.mark.parametrize("remaining", [14, 15, 29, 200, 401])
def test_alias_tables_hold_the_hypergeometric_distribution(remaining):
    lefts, taken = np.arange(remaining + 1)[:, None], np.arange(15)
    expected = stats.hypergeom.pmf(taken, remaining, 14, lefts)
    ways = permutations._log_choose(14, taken) + permutations._log_choose(remaining - 14, lefts - taken)
    tables = permutations._alias_tables(np.exp(ways - ways.max(axis=1, keepdims=True)))
    keep, other = (table.reshape(-1, 15) for table in tables)
    implied = keep.copy()
    np.add.at(implied, (lefts, other), 1 - keep)
    assert implied / 15 == pytest.approx(expected, abs=1e-11)
    assert (keep[expected == 0] == 0).all()
    assert (np.take_along_axis(expected, other, axis=1)[keep < 1] > 0).all()


@pytest.mark.parametrize("true", [0.0, 1.5])
def test_intervals_cover_the_effect_of_the_population(monkeypatch, true):
    """400 pairs of groups of 20 and 30. A 95 % interval, with the error of the simulation."""
    # takes most of the time, and has no part in the intervals
    monkeypatch.setattr(
        effects, "permutation_test", lambda *_, **__: permutations.Permutations(1.0, False, 1)
    )
    rng = np.random.default_rng(11)
    held = 0
    for seed in range(400):
        one = found(rng.normal(true, 1, 20), rng.normal(0, 1, 30), permutations=1, resamples=500, seed=seed)
        held += one.effect_low <= true <= one.effect_high
    assert 0.91 <= held / 400 <= 0.98


@pytest.mark.parametrize(
    ("x", "y", "side", "message"),
    [
        ([1.0], [1.0, 2.0], "x", "one image only; an effect size needs at least two"),
        ([1.0, 2.0], [], "y", "no image; an effect size"),
        ([1.0, 2.0], [1.0, math.nan], "y", "not a finite number"),
        ([1.0, math.inf], [1.0, 2.0], "x", "not a finite number"),
        ([0.1, 0.1, 0.1], [0.3, 0.3, 0.3], "x", "no variance"),
        ([0.1, 0.1, 0.1], [0.3, 0.4, 0.5], "x", "no variance"),
        ([0.3, 0.4, 0.5], [0.1, 0.1, 0.1], "y", "no variance"),
    ],
)
def test_degenerate_tests_are_refused(x, y, side, message):
    with pytest.raises(DegenerateTest, match=message) as caught:
        found(x, y)
    assert caught.value.side == side


def test_small_groups_have_numbers():
    """Resamples of groups of two often do not vary."""
    one = found([1.0, 2.0], [0.0, 0.5], resamples=500)
    assert one.effect_low <= one.effect_size <= one.effect_high
    assert one.p_permutation == 1 / 6


@pytest.mark.parametrize("wrong", [{"variant": "new"}, {"alternative": "other"}, {"permutations": 0}])
def test_unknown_choices_are_refused(wrong):
    with pytest.raises(ValueError, match=r"variant|alternative|permutations"):
        found([1.0, 2.0], [0.0, 3.0], **wrong)


def test_splits_up_to_the_limit_are_all_tried():
    assert effects.MOST_EXACT == 1_000_000
    assert found(*groups(7, 11, 11)).splits == math.comb(22, 11)
    assert found(*groups(7, 12, 11)).splits == 99
