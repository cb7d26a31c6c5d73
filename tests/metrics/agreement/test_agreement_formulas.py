"""What agreement is made of (PROTOCOL §10), each by itself: distances, formulas, pairs, boxes."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.coverage_few import rated
from metrics.agreement.stats import across, coefficients, coincidences, rated_pairs
from metrics.agreement.stats.boxes import iou
from metrics.agreement.stats.cell_influences import coefficient_step, influences_from
from metrics.agreement.stats.coefficients import mean_over_pairs, table_of
from metrics.agreement.stats.rated_pairs import Cells, Ratings, resampled
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
    with pytest.raises(ValueError, match=rf"values is \[{str(values)[1:-1]}\]; two or more in rising order"):
        coincidences.distances(np.zeros(len(values)), values, level="interval")


def test_what_is_nothing_but_rounding_divides_nothing():
    found = coincidences.ratio([1, 1e-9, -1], [1e-15, 1e-9, -1e-15])
    np.testing.assert_array_equal(found, [np.nan, 1, np.nan])


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


@pytest.mark.parametrize("level", LEVELS)
def test_what_one_rating_can_change_is_what_a_slow_plain_program_says(level):
    first, second, values = [0, 0, 2, 1], [0, 1, 1, 2, 2, 2], [1, 2, 4]
    given = [np.bincount(side, minlength=3) for side in (first, second)]
    distance = coincidences.distances(given[0] + given[1], values, level=level)
    apart = np.array([distance[a, b] for a in first for b in second])
    expected = np.sqrt((apart[apart > 0] ** 2).mean()) / (4 * apart.mean())
    for one, other in (given, given[::-1]):
        assert coefficient_step(one, other, values, level=level) == pytest.approx(expected)


def test_chance_has_to_make_one_rating_differ_to_say_what_one_can_change():
    one, fewer = (
        coefficient_step(np.array(each), np.array([4, 0, 0]), [1, 2, 4], level="interval")
        for each in ([6, 1, 1], [7, 1, 1])
    )
    assert one == pytest.approx(np.sqrt((1**2 + 9**2) / 2) / (4 * (1 + 9) / 8))
    assert fewer == 1
    assert coefficient_step(np.zeros(2), np.zeros(2), [0, 1], level="nominal") == 1


@pytest.mark.parametrize("level", LEVELS)
def test_one_rating_across_groups_changes_as_much_as_the_smaller_of_them_lets_it(level):
    """Four ratings of the first group and six of the second, which makes eight pairs."""
    said = [[0, -1, 0, 1], [2, -1, 2, 3], [0, 1, 1, 2]]
    second = np.array([False, True, True] * 2 + [False, False, True, True])
    cells = rated_pairs.between(rated(said, people=[UNKNOWN_ANNOTATOR] * 4), second)
    mass, step, least = across.scope(cells, VALUES, level=level)
    own = coefficient_step(np.array([2, 1, 1, 0]), np.array([1, 2, 2, 1]), VALUES, level=level)
    assert mass.sum() == 8
    np.testing.assert_allclose(step, [1 / 4, own])
    np.testing.assert_allclose(least, [1 / 4, 0.5 * own])


@pytest.mark.parametrize("level", LEVELS)
def test_one_rating_within_a_group_changes_two_of_all_that_are_paired(level):
    cells = rated_pairs.within(rated([[0, 1, 2], [2, 2, -1], [1, -1, 1], [3, -1, -1]]))
    given = np.array([1, 3, 3, 0])
    step, least = coefficients.within_steps(cells.total, VALUES, level=level)
    own, nominal = (2 * coefficient_step(given, given, VALUES, level=each) for each in (level, "nominal"))
    np.testing.assert_allclose(step, [2 / 7, own, nominal])
    np.testing.assert_allclose(least, [2 / 7, 0.5 * own, 0.5 * nominal])


def test_what_rounding_leaves_of_nothing_does_not_vary_unless_the_least_error_is_as_small():
    cells = Cells(np.array([[1e-7], [-1e-7]]), np.arange(2), *np.full((2, 2), UNKNOWN_ANNOTATOR))
    found = [
        influences_from(cells, np.ones((1, 1)), mass=[1, 1], step=[1.0], least=least).images.change
        for least in (None, [0.01])
    ]
    assert not found[0].any()
    assert found[1].all()


@pytest.mark.parametrize("name", ["units", "clusters", "raters"])
def test_each_rating_needs_its_unit_its_image_and_its_annotator(name):
    columns = {"units": np.arange(2), "clusters": np.arange(2), "raters": np.arange(2), name: np.arange(1)}
    with pytest.raises(ValueError, match=rf"{name} has shape \(1,\); \(2,\) is needed"):
        Ratings(np.eye(2, dtype=int), **columns)


def test_an_attribute_of_two_images_is_two_units_and_those_of_an_image_are_in_order():
    two = np.array([5, 5])
    table = Ratings(np.eye(2, dtype=int), two, np.array([1, 2]), two)
    assert table.numbered.tolist() == [0, 1]
    assert table.of(slice(None, None, 2)).clusters.tolist() == [1]
    with pytest.raises(ValueError, match="within a cluster by unit"):
        Ratings(np.eye(2, dtype=int), np.array([6, 5]), two, two)


def test_what_one_person_said_twice_of_a_unit_is_drawn_with_that_person_once():
    table = Ratings(np.eye(2, dtype=int), *np.array([[0, 0], [0, 0], [5, 5]]))
    cells = rated_pairs.within(table)
    assert (cells.first.tolist(), cells.second.tolist()) == ([5], [UNKNOWN_ANNOTATOR])


def test_images_are_told_apart_by_all_their_sums_and_these_are_hardly_rounded():
    # both rows weigh the square root of 6
    kinds, many = rated_pairs._kinds(np.array([[3**0.5, 0], [0, 2**0.5], [0, 2**0.5]]))
    assert (kinds.tolist(), many.tolist()) == ([[0, 2**0.5], [3**0.5, 0]], [2, 1])
    cells = Cells(np.full((2, 1), 1 / 3), np.arange(2), *np.full((2, 2), UNKNOWN_ANNOTATOR))
    drawn = resampled(cells, resamples=5, rng=np.random.default_rng(0))
    np.testing.assert_allclose(drawn, 2 / 3, rtol=1e-8)


def test_people_are_drawn_on_the_side_that_knows_its_own():
    sums, images = np.ones((2, 1)), np.arange(2)
    known = Cells(sums, images, np.full(2, 8), np.full(2, 7))
    unknown = Cells(sums, images, *np.full((2, 2), UNKNOWN_ANNOTATOR))
    expected = [{0.0, 2.0}, {2.0}]
    for sides, totals in (((known, unknown), expected), ((unknown, known), expected[::-1])):
        drawn = rated_pairs.paired_resampled(*sides, resamples=20, rng=np.random.default_rng(0))
        assert [set(side.ravel().tolist()) for side in drawn] == totals
