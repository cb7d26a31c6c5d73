"""What agreement is made of (PROTOCOL §10), each by itself: distances, formulas, pairs, boxes."""

import numpy as np
import pandas as pd
import pytest

from metrics.agreement.stats import coincidences
from metrics.agreement.stats.boxes import iou
from metrics.agreement.stats.coefficients import mean_over_pairs, table_of
from metrics.agreement.stats.rated_pairs import Cells, resampled
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR

GIVEN = [3, 0, 5, 2]
VALUES = [-1, 0, 2, 7]
LEVELS = coincidences.LEVELS


def slow_distance(c, k, level):
    """Krippendorff (2011), section C: the metric differences, as printed there."""
    if level == "nominal":
        return float(c != k)
    if level == "interval":
        return float((VALUES[c] - VALUES[k]) ** 2)
    low, high = min(c, k), max(c, k)
    between = sum(GIVEN[g] for g in range(low, high + 1))
    return (between - (GIVEN[c] + GIVEN[k]) / 2) ** 2 if c != k else 0.0


@pytest.mark.parametrize("level", LEVELS)
def test_distances_are_those_of_the_printed_formulas(level):
    found = coincidences.distances(GIVEN, VALUES, level=level)
    expected = [[slow_distance(c, k, level) for k in range(4)] for c in range(4)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("level", LEVELS)
def test_distances_are_symmetric_nothing_to_oneself_and_the_same_with_the_scale_turned_round(level):
    found = coincidences.distances(GIVEN, VALUES, level=level)
    np.testing.assert_array_equal(found, found.T)
    assert (np.diag(found) == 0).all()
    turned = coincidences.distances(GIVEN[::-1], [-value for value in VALUES[::-1]], level=level)
    np.testing.assert_allclose(turned, found[::-1, ::-1])


def test_ordinal_distances_know_the_order_alone_and_are_nothing_where_nobody_answered():
    plain = coincidences.distances(GIVEN, VALUES, level="ordinal")
    np.testing.assert_array_equal(plain, coincidences.distances(GIVEN, [1, 2, 3, 4], level="ordinal"))
    assert not coincidences.distances([0, 0], [0, 1], level="ordinal").any()


@pytest.mark.parametrize("values", [[1], [], [1, 1], [2, 1]])
def test_values_that_are_no_scale_are_refused(values):
    with pytest.raises(ValueError, match="two or more in rising order"):
        coincidences.distances(np.zeros(len(values)), values, level="interval")


def table_of_pairs(seed=1):
    """A random table of pairs of ratings by two groups, with the ratings of each group."""
    together = np.random.default_rng(seed).integers(1, 9, (4, 4)).astype(float)
    return together, together.sum(axis=1), together.sum(axis=0)


@pytest.mark.parametrize("level", LEVELS)
def test_many_tables_at_once_are_each_by_itself(level):
    tables = [table_of_pairs(seed) for seed in range(5)]
    stacked = coincidences.cross_kappa(
        *(np.stack(each) for each in zip(*tables, strict=True)), VALUES, level=level
    )
    each = [coincidences.cross_kappa(*table, VALUES, level=level) for table in tables]
    np.testing.assert_allclose(stacked, each)
    squares = np.stack([together + together.T for together, _, _ in tables])
    alphas = coincidences.alpha(squares, VALUES, level=level)
    np.testing.assert_allclose(alphas, [coincidences.alpha(one, VALUES, level=level) for one in squares])


def test_kappa_of_pairs_knows_no_names_and_no_number_of_pairs():
    together, _, _ = table_of_pairs()
    square, order = together + together.T, [2, 0, 3, 1]
    plain = coincidences.kappa(square)
    assert coincidences.kappa(square[np.ix_(order, order)]) == pytest.approx(plain)
    assert coincidences.kappa(7 * square) == pytest.approx(plain)
    # independent ratings agree as chance does, equal ones always
    shares = np.array([0.5, 0.3, 0.2])
    assert coincidences.kappa(np.outer(shares, shares)) == pytest.approx(0, abs=1e-12)
    assert coincidences.kappa(np.diag(shares)) == pytest.approx(1)
    assert np.isnan(coincidences.kappa(np.zeros((3, 3))))


def pairs_of_people(rows=30, seed=2):
    rng = np.random.default_rng(seed)
    number = rng.integers(1, 4, rows)
    sums = np.column_stack([rng.random(rows) * number, number])
    first = rng.integers(0, 5, rows)
    return Cells(sums, rng.integers(0, 6, rows), first, first + rng.integers(1, 3, rows))


def test_a_mean_over_pairs_is_that_of_pandas_in_any_order_and_moves_with_its_numbers():
    cells = pairs_of_people()
    found = mean_over_pairs(cells).value
    frame = pd.DataFrame(cells.sums, columns=["total", "pairs"])
    assert found == pytest.approx(np.average(frame.total / frame.pairs, weights=frame.pairs))
    assert mean_over_pairs(cells.of(slice(None, None, -1))).value == pytest.approx(found)
    moved = Cells(cells.sums @ [[2, 0], [3, 1]], cells.clusters, cells.first, cells.second)
    assert mean_over_pairs(moved).value == pytest.approx(2 * found + 3)
    with pytest.raises(ValueError, match="give rng"):
        mean_over_pairs(cells, resamples=10)


def test_without_a_pair_there_is_nothing_to_resample():
    none = np.zeros(0, dtype=int)
    with pytest.raises(ValueError, match="no pair to resample"):
        resampled(Cells(np.zeros((0, 2)), none, none, none), resamples=3, rng=np.random.default_rng(0))


def test_a_table_of_counts_is_ratings_of_nobody_known_unit_by_unit():
    counts = np.random.default_rng(3).integers(0, 3, (7, 4))
    found = table_of(counts)
    np.testing.assert_array_equal(found.counts, counts)
    assert found.units.tolist() == found.clusters.tolist() == list(range(7))
    assert set(found.raters.tolist()) == {UNKNOWN_ANNOTATOR}
    order = [3, 1, 0, 2]
    np.testing.assert_array_equal(table_of(counts[:, order]).counts, found.counts[:, order])
    assert len(table_of(np.zeros((0, 4), dtype=int)).units) == 0


def test_a_box_is_one_with_itself_nothing_with_its_neighbour_and_within_another_their_areas_ratio():
    assert iou([[0, 0, 5, 4]], [[0, 0, 5, 4]]).tolist() == [1]
    # they share an edge, a corner, nothing
    assert iou([[0, 0, 5, 4]] * 3, [[5, 0, 9, 4], [5, 4, 9, 9], [7, 6, 9, 9]]).tolist() == [0, 0, 0]
    assert iou([[0, 0, 10, 4]], [[2, 1, 4, 3]]).tolist() == [pytest.approx(4 / 40)]
    assert iou(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)


def test_overlap_does_not_depend_on_which_box_is_first_or_on_where_and_how_large_they_are():
    rng = np.random.default_rng(4)
    low = rng.uniform(0, 5, (2, 50, 2))
    one, other = np.concatenate([low, low + rng.uniform(0.5, 6, low.shape)], axis=2)
    found = iou(one, other)
    assert ((found >= 0) & (found < 1)).all()
    assert (found > 0).any()
    np.testing.assert_allclose(iou(other, one), found)
    np.testing.assert_allclose(iou(one * 3 + 7, other * 3 + 7), found)
    np.testing.assert_allclose(iou(one[:, [1, 0, 3, 2]], other[:, [1, 0, 3, 2]]), found)
