"""Intervals of agreement (PROTOCOL §10): a thousand weighted tables at once, and what they cover."""

import krippendorff
import numpy as np
import pytest

from metrics.agreement.stats import coincidences
from metrics.agreement.stats import rated_pairs as pairs
from metrics.agreement.stats.coefficients import between, mean_over_pairs, table_of, within
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR

LEVELS = ("nominal", "ordinal", "interval")
VALUES = [-1, 0, 2]


def rows_of(said, *, clusters=None) -> Ratings:
    """Ratings of labels `said` (annotators, units), -1 where there is none."""
    unit, rater = np.nonzero(said.T >= 0)
    counts = np.eye(said.max() + 1, dtype=int)[said.T[unit, rater]]
    return Ratings(counts, unit, unit if clusters is None else clusters[unit], rater)


def simulated(rng, *, raters, units, reliability, missing=0.0):
    """Everybody gives the true label with the probability `reliability`, or else one by chance: nominal
    alpha is then `reliability` squared, whatever the labels' frequencies."""
    shares = [0.6, 0.3, 0.1]
    truth = rng.choice(3, units, p=shares)
    said = np.where(
        rng.random((raters, units)) < reliability, truth, rng.choice(3, (raters, units), p=shares)
    )
    said[rng.random(said.shape) < missing] = -1
    return said


def interval(table, *, level="nominal", resamples=400, seed=0):
    values = list(range(table.counts.shape[1]))
    found = within(table, values, level=level, resamples=resamples, rng=np.random.default_rng(seed))
    return found.alpha.value, found.alpha.interval


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_units_drawn_several_times_are_data_with_the_unit_repeated(level, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (12, 3))
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=6)
    cells = pairs.within(table_of(counts))
    drawn = np.zeros((6, 12))
    drawn[:, cells.clusters] = weights[:, cells.clusters]
    sums = drawn[:, cells.clusters] @ cells.sums
    found = coincidences.alpha(sums[:, :-2].reshape(6, 3, 3), VALUES, level=level)
    expected = [
        krippendorff.alpha(
            value_counts=np.repeat(counts, row, axis=0), value_domain=VALUES, level_of_measurement=level
        )
        for row in weights
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


class _Given:
    """Stands in for a random generator: whoever draws clusters is given these."""

    def __init__(self, *drawn):
        self.drawn = list(drawn)

    def integers(self, low, high, size):
        found = self.drawn.pop(0)
        assert (low, size) == (0, found.shape)
        return found.copy()


def test_a_resample_is_what_a_slow_plain_program_sums_over_pairs_of_ratings():
    rng = np.random.default_rng(1)
    said = simulated(rng, raters=4, units=9, reliability=0.7, missing=0.3)
    images = np.arange(9) // 3
    table = rows_of(said, clusters=images)
    by_image, by_person = rng.integers(0, 3, (5, 3)), rng.integers(0, 4, (5, 4))
    found = pairs.resampled(pairs.within(table), resamples=5, rng=_Given(by_image, by_person))
    for resample in range(5):
        expected = np.zeros((3, 3))
        for unit in range(9):
            who = [rater for rater in range(4) if said[rater, unit] >= 0]
            for one in who:
                for other in who:
                    if one != other:
                        weight = (by_image[resample] == images[unit]).sum()
                        weight *= (by_person[resample] == one).sum() * (by_person[resample] == other).sum()
                        expected[said[one, unit], said[other, unit]] += weight / (len(who) - 1)
        np.testing.assert_allclose(found[resample, :-2].reshape(3, 3), expected, atol=1e-9)
        assert found[resample, -1] >= found[resample, -2]


def test_across_groups_a_resample_is_what_a_slow_plain_program_sums():
    rng = np.random.default_rng(2)
    said = simulated(rng, raters=5, units=8, reliability=0.7, missing=0.2)
    table = rows_of(said, clusters=np.arange(8) // 2)
    second = table.raters >= 3
    by_image, by_person = rng.integers(0, 4, (4, 4)), rng.integers(0, 5, (4, 5))
    found = pairs.resampled(pairs.between(table, second), resamples=4, rng=_Given(by_image, by_person))
    for resample in range(4):
        together, x, y = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
        for unit in range(8):
            image = (by_image[resample] == unit // 2).sum()
            drawn = [image * (by_person[resample] == rater).sum() for rater in range(5)]
            first = [rater for rater in range(3) if said[rater, unit] >= 0]
            other = [rater for rater in range(3, 5) if said[rater, unit] >= 0]
            if not first or not other:
                continue
            for one in first:
                x[said[one, unit]] += drawn[one]
                for two in other:
                    together[said[one, unit], said[two, unit]] += (
                        drawn[one] * (by_person[resample] == two).sum()
                    )
            for two in other:
                y[said[two, unit]] += drawn[two]
        np.testing.assert_allclose(found[resample], [*together.ravel(), *x, *y])


def test_nobody_agrees_with_themselves_for_being_drawn_twice():
    """Who answers by chance agrees no better than chance, however often they are drawn."""
    said = simulated(np.random.default_rng(3), raters=6, units=300, reliability=0.0)
    alpha, bounds = interval(rows_of(said))
    assert alpha == pytest.approx(0, abs=0.05)
    assert bounds.low < 0 < bounds.high < 0.1


def test_the_same_seed_gives_the_same_interval_and_names_do_not_matter():
    said = simulated(np.random.default_rng(4), raters=5, units=60, reliability=0.8)
    table = rows_of(said)
    renamed = Ratings(table.counts, table.units * 7, table.clusters * 7, table.raters + 1000)
    assert interval(table) == interval(renamed)
    assert interval(table) != interval(table, seed=1)


@pytest.mark.parametrize("known", [True, False])
def test_four_times_the_data_halve_the_interval(known):
    def width(units, raters):
        said = simulated(np.random.default_rng(5), raters=raters, units=units, reliability=0.8)
        table = rows_of(said)
        if not known:
            table = Ratings(
                table.counts, table.units, table.clusters, np.full(len(table.units), UNKNOWN_ANNOTATOR)
            )
        _, bounds = interval(table)
        return bounds.high - bounds.low

    assert width(400, 20) / width(100, 5) < 0.65


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("reliability", [0.5, 0.8, 0.95])
def test_the_interval_covers_the_known_alpha_of_simulated_annotators(reliability, known):
    covered = 0
    for seed in range(40):
        said = simulated(
            np.random.default_rng(100 + seed), raters=12, units=80, reliability=reliability, missing=0.5
        )
        table = rows_of(said)
        if not known:
            table = Ratings(
                table.counts, table.units, table.clusters, np.full(len(table.units), UNKNOWN_ANNOTATOR)
            )
        _, bounds = interval(table, resamples=200, seed=seed)
        covered += bounds.low <= reliability**2 <= bounds.high
    # of 40 at 95 %, fewer than 33 would come once in 200 000 times
    assert covered >= 33


def test_the_interval_across_groups_covers_the_known_agreement():
    """Two groups of simulated annotators with reliability p and q: kappa across them is p q."""
    covered = 0
    for seed in range(30):
        rng = np.random.default_rng(200 + seed)
        truth = rng.choice(3, 80, p=[0.6, 0.3, 0.1])
        sure = rng.random((12, 80)) < np.repeat([0.9, 0.6], 6)[:, None]
        said = np.where(sure, truth, rng.choice(3, (12, 80), p=[0.6, 0.3, 0.1]))
        table = rows_of(said)
        found = between(
            table,
            table.raters >= 6,
            [0, 1, 2],
            level="nominal",
            resamples=200,
            rng=np.random.default_rng(seed),
        )
        covered += found.kappa.interval.low <= 0.54 <= found.kappa.interval.high
    assert covered >= 24


def test_resamples_without_a_second_value_are_counted_as_undefined():
    table = table_of([[2, 0], [2, 0], [0, 2]])
    alpha, bounds = interval(table, resamples=1000)
    assert alpha == 1
    # the third unit is missed by (2/3)^3 = 30 % of the draws, and is alone in 1/27
    assert bounds.undefined == pytest.approx(1000 * (8 / 27 + 1 / 27), abs=60)


@pytest.mark.parametrize(
    "counts", [[[2, 1]], np.zeros((0, 2), dtype=int), [[1, 0], [0, 1]], [[2, 0], [3, 0]]]
)
def test_one_unit_no_pair_and_one_value_only_have_no_interval(counts):
    _, bounds = interval(table_of(counts), resamples=100)
    assert np.isnan([bounds.low, bounds.high]).all()


def test_pairs_of_a_single_image_have_no_interval():
    sums = np.array([[1.0, 1], [0.0, 1], [0.5, 1]])
    cells = Cells(sums, np.full(3, 4), np.array([5, 5, 6]), np.array([6, 7, 7]))
    found = mean_over_pairs(cells, resamples=100, rng=np.random.default_rng(0))
    assert np.isnan([found.interval.low, found.interval.high]).all()
    assert (found.interval.infinite, found.interval.undefined) == (0, 100)


def test_the_mean_of_pairs_is_resampled_over_images_and_both_annotators():
    sums = np.array([[1.0, 1], [0.0, 1], [0.5, 1]])
    cells = Cells(sums, np.array([1, 1, 2]), np.array([5, 5, 6]), np.array([6, 7, 7]))
    found = mean_over_pairs(cells, resamples=500, rng=np.random.default_rng(0))
    assert found.value == 0.5
    assert (found.interval.low, found.interval.high) == (0, 1)
    # a pair needs both of its annotators
    assert found.interval.undefined > 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: coincidences.alpha(np.zeros((2, 3)), [0, 1, 2], level="nominal"),
            r"^coincidences has shape \(2, 3\); \(\.\.\., 3, 3\) is needed for 3 values",
        ),
        (lambda: coincidences.alpha(np.zeros((2, 2)), [1, 0], level="nominal"), "in rising order"),
        (
            lambda: coincidences.alpha(np.zeros((2, 2)), [0, 1], level="ratio"),
            "level is 'ratio'; it is one of",
        ),
        (lambda: coincidences.cross_kappa([[1]], [1], [1], [0, 1], level="nominal"), "together has shape"),
        (lambda: within(table_of([[1, 1]]), [0, 1, 2], level="nominal"), "2 columns for 3 values"),
    ],
)
def test_bad_input_is_refused_with_its_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()
