"""Agreement (PROTOCOL §10): bad input, invariance, theory, printed values, degenerate."""

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from metrics.agreement.stats.boxes import box_agreement, iou
from metrics.agreement.stats.coefficients import between, mean_over_pairs, table_of, within
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, example C: 4 observers (rows), 12 units,
# '.' where an observer did not judge. Printed there: nominal 0.743, ordinal 0.815, interval 0.849.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
VALUES = (1, 2, 3, 4, 5)
# Fleiss (1971), as worked in the literature: 10 subjects, 14 raters, 5 categories; kappa 0.210.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)


def observed(text):
    columns = zip(*(line.split() for line in text.strip().splitlines()), strict=True)
    return np.array([[column.count(str(value)) for value in VALUES] for column in columns])


LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(counts, values, *, level):
    return within(table_of(counts), values, level=level).alpha.value


def fleiss_kappa(counts):
    return within(table_of(counts), range(np.shape(counts)[1]), level="nominal").fleiss_kappa.value


def agreeing_pairs(counts):
    found = within(table_of(counts), range(np.shape(counts)[1]), level="nominal")
    return found.share.value, found.agreeing, found.pairs


def between_groups(first, second, values, *, level):
    """Of two tables of counts of the same units."""
    x, y = table_of(first), table_of(second)
    units = np.concatenate([x.units, y.units])
    order = np.argsort(units, kind="stable")
    rows = Ratings(
        np.concatenate([x.counts, y.counts])[order],
        units[order],
        units[order],
        np.full(len(units), UNKNOWN_ANNOTATOR),
    )
    return between(rows, order >= len(x.units), values, level=level)


def one_rating_each(raters):
    """Tables of one rating a unit, from labels 0, 1, 2."""
    return [np.eye(3, dtype=int)[labels] for labels in raters]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: krippendorff_alpha([[1, 1]], [0, 1], level="ratio"), "it is one of nominal, ordinal"),
        (lambda: krippendorff_alpha([[1, 1]], [1, 0], level="nominal"), "in rising order"),
        (lambda: krippendorff_alpha([[1, 1]], [0, 1, 2], level="nominal"), "2 columns for 3 values"),
        (lambda: krippendorff_alpha([[1, -1]], [0, 1], level="nominal"), "negative"),
        (lambda: table_of([1, 2]), "2 are needed"),
        (lambda: table_of([[0.5]]), "it holds 0.5"),
        (lambda: between(table_of([[1, 0]]), [True] * 2, [0, 1], level="nominal"), "second has shape"),
        (lambda: between(table_of([[1, 0]]), [True], [0, 1, 2], level="nominal"), "2 columns for 3 values"),
        (lambda: table_of([[1, 0]] * 2).of(slice(None, None, -1)), "must be sorted by cluster"),
        (lambda: Ratings(np.eye(2, dtype=int), *[np.zeros(1, dtype=int)] * 3), r"\(2,\) is needed"),
        (lambda: within(table_of([[1, 1]]), [0, 1], level="nominal", resamples=100), "give rng"),
        (lambda: between_groups([[1, 0]], [[1, 0]], [0, 1], level="some"), "it is one of"),
        (
            lambda: iou([[0, 0, 1]], [[0, 0, 1, 1]]),
            r"first has shape \(1, 3\); \(M, 4\) is needed: x0, y0, x1, y1",
        ),
        (lambda: iou([[0, 0, 1, 1]], [[0, 0, 1, 1, 9]]), r"second has shape \(1, 5\)"),
        (lambda: iou([0, 0, 1, 1], [[0, 0, 1, 1]]), r"first has shape \(4,\)"),
        (
            lambda: iou([[0, 0, 1, 1]] * 3, [[0, 0, 1, 1], [2, 3, 2, 4], [9, 8, 7, 9]]),
            r"second holds the box \[2.0, 3.0, 2.0, 4.0\]; x0 < x1",
        ),
        (lambda: iou([[1, 5, 2, 5]], [[0, 0, 1, 1]]), r"first holds the box \[1.0, 5.0, 2.0, 5.0\]"),
        (lambda: box_agreement([1], [1], [[0, 0, 1, np.inf]]), r"boxes holds the box \[0.0, 0.0, 1.0, inf\]"),
        (
            lambda: iou([[0, 0, 1, 1]] * 2, [[0, 0, 1, 1]]),
            r"first has shape \(2, 4\) and second \(1, 4\); they must be the same",
        ),
        (lambda: box_agreement([1], [1, 2], [[0, 0, 1, 1]]), "an item and an annotator"),
        (lambda: box_agreement([1, 2], [1], [[0, 0, 1, 1]]), "There are 1 boxes"),
    ],
)
def test_bad_input_is_refused_with_its_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_what_krippendorff_printed(level, printed):
    assert krippendorff_alpha(observed(OBSERVERS), VALUES, level=level) == pytest.approx(printed, abs=0.0005)


def test_fleiss_kappa_is_the_published_one_and_that_of_statsmodels():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=0.0005)
    assert fleiss_kappa(FLEISS) == pytest.approx(statsmodels_kappa(FLEISS), rel=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_order_of_the_units_does_not_matter(level):
    table = observed(OBSERVERS)
    turned = table[::-1]
    assert krippendorff_alpha(table, VALUES, level=level) == pytest.approx(
        krippendorff_alpha(turned, VALUES, level=level)
    )
    assert fleiss_kappa(FLEISS) == pytest.approx(fleiss_kappa(FLEISS[::-1]))
    assert agreeing_pairs(table) == agreeing_pairs(turned)


def test_nominal_agreement_does_not_care_which_label_is_which():
    table = observed(OBSERVERS)
    assert krippendorff_alpha(table, VALUES, level="nominal") == pytest.approx(
        krippendorff_alpha(table[:, ::-1], VALUES, level="nominal")
    )


def test_interval_alpha_does_not_change_with_the_unit_of_the_scale():
    table = observed(OBSERVERS)
    assert krippendorff_alpha(table, VALUES, level="interval") == pytest.approx(
        krippendorff_alpha(table, [10 + 3 * value for value in VALUES], level="interval")
    )


def test_answers_by_chance_agree_as_chance_does():
    labels = np.random.default_rng(1).integers(0, 3, size=(3000, 3))
    table = np.stack([(labels == value).sum(axis=1) for value in range(3)], axis=1)
    assert krippendorff_alpha(table, [0, 1, 2], level="nominal") == pytest.approx(0, abs=0.03)
    assert fleiss_kappa(table) == pytest.approx(0, abs=0.03)
    assert agreeing_pairs(table)[0] == pytest.approx(1 / 3, abs=0.02)


def test_a_unit_with_one_rating_tells_nothing():
    table = observed(OBSERVERS)
    alone = [[0, 0, 0, 0, 1]]
    assert krippendorff_alpha(np.vstack([table, alone]), VALUES, level="ordinal") == pytest.approx(
        krippendorff_alpha(table, VALUES, level="ordinal")
    )
    assert agreeing_pairs(np.vstack([table, alone])) == agreeing_pairs(table)


@pytest.mark.parametrize("table", [np.zeros((0, 2)), [[1, 0]], [[3, 0], [2, 0]]])
def test_without_pairs_or_with_one_value_only_alpha_is_undefined(table):
    assert np.isnan(krippendorff_alpha(table, [0, 1], level="nominal"))


@pytest.mark.parametrize("table", [[[2, 0], [2, 1]], [[1, 0], [0, 1]], [[3, 0], [3, 0]], np.zeros((0, 2))])
def test_kappa_is_undefined_for_unequal_single_or_identical_ratings(table):
    assert np.isnan(fleiss_kappa(table))


def test_no_pair_has_no_share():
    share, _, pairs = agreeing_pairs([[1, 0], [0, 1]])
    assert np.isnan(share)
    assert pairs == 0


def test_between_two_raters_it_is_cohens_kappa():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200))
    cross = np.zeros((3, 3))
    np.add.at(cross, (first, second), 1)
    found = between_groups(*one_rating_each([first, second]), [0, 1, 2], level="nominal")
    assert found.kappa.value == pytest.approx(cohens_kappa(cross).kappa, rel=1e-12)
    assert found.share.value == pytest.approx(np.trace(cross) / 200)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_between_groups_a_slow_plain_program_gives_the_same(level):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 3, (30, 3)), rng.integers(0, 3, (30, 3))
    shared = [u for u in range(30) if x[u].sum() and y[u].sum()]
    totals = (x[shared] + y[shared]).sum(axis=0)

    def distance(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        low, high = min(a, b), max(a, b)
        return (sum(totals[low : high + 1]) - (totals[a] + totals[b]) / 2) ** 2 if a != b else 0.0

    def ratings(table, units):
        return [(u, value) for u in units for value in range(3) for _ in range(table[u, value])]

    within = [distance(a, b) for u in shared for _, a in ratings(x, [u]) for _, b in ratings(y, [u])]
    across = [distance(a, b) for _, a in ratings(x, shared) for _, b in ratings(y, shared)]
    found = between_groups(x, y, [0, 1, 2], level=level)
    assert found.kappa.value == pytest.approx(1 - np.mean(within) / np.mean(across), rel=1e-10)
    assert (found.pairs, found.units, found.ratings) == (len(within), len(shared), totals.sum())


def test_between_groups_it_does_not_matter_who_comes_first():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 3, (30, 3)), rng.integers(0, 3, (30, 3))
    assert between_groups(x, y, [0, 1, 2], level="ordinal") == between_groups(
        y, x, [0, 1, 2], level="ordinal"
    )


def test_groups_without_a_common_unit_or_a_second_value_cannot_be_compared():
    apart = between_groups([[1, 0], [0, 0]], [[0, 0], [0, 1]], [0, 1], level="nominal")
    assert np.isnan([apart.share.value, apart.kappa.value]).all()
    same = between_groups([[1, 0]], [[1, 0]], [0, 1], level="nominal")
    assert same.share.value == 1
    assert np.isnan(same.kappa.value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(8))
def test_on_random_tables_with_missing_ratings_the_package_gives_the_same(level, seed):
    rng = np.random.default_rng(seed)
    values = [-1, 1, 2, 5]
    truth = rng.integers(0, 4, 40)
    said = np.where(rng.random((5, 40)) < 0.6, truth, rng.integers(0, 4, (5, 40))).astype(float)
    said[rng.random(said.shape) < 0.4] = np.nan
    data = np.array([*values, np.nan])[np.nan_to_num(said, nan=4).astype(int)]
    expected = krippendorff.alpha(reliability_data=data, value_domain=values, level_of_measurement=level)
    known = ~np.isnan(said.T)
    unit, rater = np.nonzero(known)
    counts = np.eye(4, dtype=int)[said.T[known].astype(int)]
    found = within(Ratings(counts, unit, unit, rater), values, level=level)
    assert found.alpha.value == pytest.approx(expected, rel=1e-10)
    pooled = np.zeros((40, 4), dtype=int)
    np.add.at(pooled, unit, counts)
    assert krippendorff_alpha(pooled, values, level=level) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_on_random_tables_kappa_is_that_of_statsmodels(seed):
    table = np.random.default_rng(seed).multinomial(5, [0.5, 0.3, 0.2], size=30)
    assert fleiss_kappa(table) == pytest.approx(statsmodels_kappa(table), rel=1e-10)


def test_iou_is_that_of_counted_pixels():
    rng = np.random.default_rng(5)
    corners = np.sort(rng.integers(0, 20, (40, 2, 2)), axis=1)
    corners[:, 1] += 1
    boxes = corners.reshape(40, 4)

    def pixels(box):
        return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}

    expected = [len(pixels(a) & pixels(b)) / len(pixels(a) | pixels(b)) for a in boxes for b in boxes]
    np.testing.assert_allclose(iou(np.repeat(boxes, 40, axis=0), np.tile(boxes, (40, 1))), expected)


def best_match(first, second):
    """A slow plain program: the mean of each box's best match, both ways."""
    table = [[float(iou([a], [b])[0]) for b in second] for a in first]
    ways = (table, list(zip(*table, strict=True)))
    return sum(sum(max(row) for row in way) / len(way) for way in ways) / 2


def test_every_two_annotators_of_an_item_are_compared_as_a_slow_plain_program_does():
    rng = np.random.default_rng(6)
    corners = np.sort(rng.integers(0, 20, (200, 2, 2)), axis=1)
    corners[:, 1] += 1
    boxes = corners.reshape(200, 4)
    items, drawers = rng.integers(0, 25, 200), rng.integers(50, 54, 200)
    expected = {}
    for item in sorted(set(items)):
        drawn = {
            who: boxes[(items == item) & (drawers == who)] for who in sorted(set(drawers[items == item]))
        }
        for low in drawn:
            for high in drawn:
                if low < high:
                    expected[item, low, high] = best_match(drawn[low], drawn[high])
    found = box_agreement(items, drawers, boxes)
    assert list(zip(found.items, found.first, found.second, strict=True)) == list(expected)
    np.testing.assert_allclose(found.values, list(expected.values()))


def test_large_data_are_compared_in_blocks_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(7)
    corners = np.sort(rng.integers(0, 20, (300, 2, 2)), axis=1)
    corners[:, 1] += 1
    given = (rng.integers(0, 40, 300), rng.integers(0, 5, 300), corners.reshape(300, 4))
    units = np.sort(rng.integers(0, 50, 300))
    table = Ratings(rng.integers(0, 3, (300, 3)), units, units // 4, rng.integers(0, 9, 300))
    second = rng.random(300) < 0.5
    whole = (box_agreement(*given), within(table, [0, 1, 2], level="ordinal"))
    across = between(table, second, [0, 1, 2], level="ordinal")
    monkeypatch.setattr("metrics.agreement.stats.boxes._AT_ONCE", 50)
    monkeypatch.setattr("metrics.agreement.stats.rated_pairs._AT_ONCE", 500)
    monkeypatch.setattr("metrics.core.stats.bootstrap._CHUNK_SIZE", 500)
    np.testing.assert_allclose(box_agreement(*given).values, whole[0].values)
    assert within(table, [0, 1, 2], level="ordinal").alpha.value == pytest.approx(whole[1].alpha.value)
    assert between(table, second, [0, 1, 2], level="ordinal").kappa.value == pytest.approx(across.kappa.value)


def test_boxes_may_be_moved_enlarged_and_put_in_another_order():
    boxes = np.array([[0, 0, 4, 4], [6, 6, 8, 9], [1, 1, 5, 5]])
    items, drawers = np.array([1, 1, 1]), np.array([1, 1, 2])
    found = box_agreement(items, drawers, boxes).values
    assert box_agreement(items, drawers, boxes * 3 + 7).values == pytest.approx(found)
    assert box_agreement(items, drawers[::-1], boxes[::-1]).values == pytest.approx(found)


def test_every_pair_of_annotators_counts_once_and_one_alone_does_not():
    found = box_agreement([1, 1, 1, 2], [1, 2, 3, 4], [[0, 0, 2, 2]] * 4)
    assert found.values.tolist() == [1, 1, 1]
    assert len(box_agreement([], [], np.zeros((0, 4))).values) == 0
    none = np.zeros(0, dtype=int)
    assert np.isnan(mean_over_pairs(Cells(np.zeros((0, 2)), none, none, none)).value)
