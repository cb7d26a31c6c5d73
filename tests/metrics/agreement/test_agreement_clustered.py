"""Clustered intervals of agreement (PROTOCOL §10): the influences of images and annotators, and what the
intervals made of them cover."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks import coverage_agreement, coverage_few, coverage_tables, simulated_rules
from benchmarks.coverage_few import VALUES, Groups, answers, compared, rated, two_groups
from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.agreement.stats import (
    cell_influences,
    coefficients,
    coincidences,
    estimates,
    pairs_by_subject,
    rated_pairs,
)
from metrics.agreement.stats.cell_influences import Side, difference_influences
from metrics.agreement.stats.coefficients import between, mean_over_pairs, within, within_each
from metrics.agreement.stats.differences import agreement_difference
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats import means, passing_shares
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import COEFFICIENT
from tests.metrics.cast import depiction_study, visual_study

LEVELS = ("nominal", "ordinal", "interval")
LEAST = 0.86
"""95 % less three standard errors of 60 studies."""


def said_of(items, people, *, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    said = answers(rng, rng.integers(0, 4, items), people=people, knows=0.7)
    said[rng.random(said.shape) < missing] = -1
    return said


def on_images(table, each=2):
    """The same ratings, with so many units to an image."""
    return Ratings(table.counts, table.units, table.clusters // each, table.raters)


def by_weight(cells, statistics, cluster=None, person=None, by=1e-5):
    """The derivative of the statistics with respect to the weight of an image or a person, through the sums
    of the bootstrap."""
    people = rated_pairs._people(cells)

    def at(weight):
        of_images = np.where(cells.clusters == cluster, weight, 1.0)[None]
        of_people = np.where(people == person, weight, 1.0)[None]
        return statistics(rated_pairs._weighed(cells, of_images, people, of_people))[0]

    return (at(1 + by) - at(1 - by)) / (2 * by)


def assert_derivatives(found, cells, statistics):
    images, people = found.images, found.annotators
    number = len(images.labels)
    for label, mass, change in zip(images.labels, images.mass, images.change, strict=True):
        once = change * (1 - mass) / np.sqrt((number - 1) / number)
        np.testing.assert_allclose(once, by_weight(cells, statistics, cluster=label), atol=1e-7)
    assert len(people.labels) > 2
    for label, mass, change in zip(people.labels, people.mass, people.change, strict=True):
        once = change * (1 - mass)
        np.testing.assert_allclose(once, by_weight(cells, statistics, person=label), atol=1e-7)


@pytest.mark.parametrize("level", LEVELS)
def test_influences_are_the_derivatives_of_what_the_bootstrap_weighs(level):
    cells = rated_pairs.within(on_images(rated(said_of(14, 5, missing=0.3))))

    def statistics(sums):
        share, alpha = coefficients.share_and_alpha(sums, VALUES, level=level)
        return np.stack([share, alpha, coincidences.kappa(sums[..., :-2].reshape(-1, 4, 4))], axis=-1)

    found = coefficients.within_influences(cells, VALUES, level=level)
    assert_derivatives(found, cells, statistics)


def influences_made(monkeypatch, name="cell_influences"):
    """The cells, the statistics and the influences of each estimate that is made from now on."""
    seen = []
    real = getattr(estimates, name)

    def watched(cells, statistics, **more):
        seen.append((cells, statistics, real(cells, statistics, **more)))
        return seen[-1][-1]

    monkeypatch.setattr(estimates, name, watched)
    return seen


@pytest.mark.parametrize("level", LEVELS)
def test_influences_across_groups_are_the_derivatives_too(level, monkeypatch):
    table = on_images(rated(said_of(14, 7, seed=1, missing=0.3)))
    seen = influences_made(monkeypatch, "influences_across")
    between(table, table.raters >= 4, VALUES, level=level, clustered=True)
    ((cells, statistics, found),) = seen
    assert_derivatives(found, cells, statistics)
    np.testing.assert_allclose(found.least, found.step * [1, 0.5])


def test_across_groups_chance_of_images_leaves_out_what_two_people_have_in_common(monkeypatch):
    """One by one, with people of both groups who are not identified and pairs that met once."""
    people = [3, UNKNOWN_ANNOTATOR, 5, 4, UNKNOWN_ANNOTATOR, 8, 9]
    table = on_images(rated(said_of(14, 7, seed=1, missing=0.6), people=people))
    second = rated(said_of(14, 7, seed=1, missing=0.6)).raters >= 3
    seen = influences_made(monkeypatch, "influences_across")
    between(table, second, VALUES, level="interval", clustered=True)
    ((cells, statistics, found),) = seen
    d = cells.sums @ cell_influences.gradient(statistics, cells.total)
    images, met, of_person = defaultdict(float), defaultdict(list), defaultdict(float)
    together = defaultdict(float)
    for value, image, *pair in zip(d, cells.clusters, cells.first, cells.second, strict=True):
        images[image] += value
        known = [who for who in pair if who >= 0]
        for who in known:
            of_person[image, who] += value
        if len(known) == 2:
            together[image, *known] += value
    for (_, *pair), value in together.items():
        met[tuple(pair)].append(value)
    assert {len(values) for values in met.values()} == {1, 2}
    labels = found.annotators.labels.tolist()
    assert labels == [3, 4, 5, 8, 9]
    for who, mass, squared in zip(labels, found.annotators.mass, found.answers, strict=True):
        squares = sum((of_person[image, who] - mass * whole) ** 2 for image, whole in images.items())
        common = sum(
            (sum(values) ** 2 - sum(each**2 for each in values)) / (len(values) - 1)
            for pair, values in met.items()
            if who in pair and len(values) > 1
        )
        each = sum(of_person[image, who] ** 2 for image in images)
        wanted = np.minimum(np.maximum(squares - common, 0) / (1 - mass) ** 2, each / (1 - mass))
        np.testing.assert_allclose(squared, wanted, atol=1e-12)


def test_an_image_counts_for_as_much_as_it_has_pairs(monkeypatch):
    cells = rated_pairs.within(rated([[0, 1, 1], [2, 2, -1], [3, 3, 3]], people=[UNKNOWN_ANNOTATOR] * 3))
    found = coefficients.within_influences(cells, VALUES, level="nominal")
    by_image = np.bincount(cells.clusters, cells.sums[:, -1])
    np.testing.assert_allclose(found.images.mass, by_image / 7)
    seen = influences_made(monkeypatch)
    for sums in ([[0.2, 1], [1.5, 3], [0.8, 2]], [[0.2, 1]]):
        one = np.arange(len(sums))
        mean_over_pairs(Cells(np.array(sums), one, one, one + 1), clustered=True)
    np.testing.assert_allclose(seen[0][-1].images.mass, [1 / 6, 3 / 6, 2 / 6])
    assert [found.step.tolist() for _, _, found in seen] == [[pytest.approx(2 / 6)], [1]]


def test_changes_of_people_are_not_made_smaller_for_their_number():
    cells = rated_pairs.within(rated(said_of(14, 5)))
    square = cells.sums[:, :-2].sum(axis=1)
    plain = influences(
        cells.sums @ cell_influences.gradient(lambda sums: sums[..., -2:-1] / sums[..., -1:], cells.total),
        images=cells.clusters,
        annotators=np.column_stack([cells.first, cells.second]),
        mass=square,
    )
    found = coefficients.within_influences(cells, VALUES, level="nominal").columns([0])
    np.testing.assert_allclose(found.annotators.change**2, plain.annotators.change**2 * 5 / 4)
    np.testing.assert_allclose(found.answers, plain.answers * 5 / 4)


@pytest.mark.parametrize("what", ["one image", "two people", "one person on a side"])
def test_there_is_no_interval_of_one_image_or_without_a_third_person(what):
    items, people = (1, 5) if what == "one image" else (12, 2 if what == "two people" else 4)
    table = rated(said_of(items, people))
    if what == "one person on a side":
        found = between(table, table.raters == 0, VALUES, level="nominal", clustered=True)
        made = [found.share, found.kappa]
    else:
        found = within(table, VALUES, level="nominal", clustered=True)
        made = [found.share, found.alpha, found.fleiss_kappa]
    assert found.pairs > 0
    assert np.isnan([each.interval.low for each in made]).all()


def test_without_pairs_there_is_nothing():
    table = rated([[0, -1], [-1, 1]])
    found = within(table, VALUES, level="nominal", clustered=True)
    assert (found.pairs, found.share.interval) == (0, None)
    none = table.raters == 9
    assert between(table, none, VALUES, level="nominal", clustered=True).share.interval is None
    nothing = Cells(np.zeros((0, 2)), *np.zeros((3, 0), dtype=int))
    assert mean_over_pairs(nothing, clustered=True).interval is None
    cells = [rated_pairs.within(each) for each in (table, rated(said_of(5, 4)))]
    for sides in (cells, cells[::-1]):
        apart = agreement_difference(*sides, VALUES, level="nominal", clustered=True)
        assert np.isnan([apart.alpha.interval.low, apart.alpha.p]).all()


def test_a_difference_does_not_leave_what_two_scores_can_differ_by():
    sides = (
        [[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 2]],
        [[0, 1, 2], [1, 0, 3], [2, 1, 0], [1, 3, 1]],
    )
    cells = [rated_pairs.within(rated(said)) for said in sides]
    apart = agreement_difference(*cells, VALUES, level="nominal", clustered=True)
    assert (apart.share.interval.high, apart.alpha.interval.high) == (1, 2)


@pytest.mark.parametrize("level", LEVELS)
def test_where_all_agree_the_limit_is_below_and_nearer_with_more_items(level):
    lows = []
    for items in (6, 20, 200):
        said = np.repeat(np.arange(items)[:, None] % 4, 3, axis=1)
        found = within(rated(said), VALUES, level=level, clustered=True)
        for each in (found.share, found.alpha, found.fleiss_kappa):
            assert each.value == each.interval.high == 1
            assert each.interval.low < 1
        lows.append((found.share.interval.low, found.alpha.interval.low))
    assert lows == sorted(lows)
    # none of 300 answers differs: 1 - 0.025 ^ (1 / 300), a little more for t, and over chance agreement
    assert 1 - lows[-1][0] == pytest.approx(1 - 0.025 ** (1 / 300), rel=0.4)
    if level == "nominal":
        assert 1 - lows[-1][1] == pytest.approx((1 - lows[-1][0]) / 0.75, rel=0.05)


def test_an_answer_that_is_rare_makes_the_interval_of_alpha_wide():
    """Two of 150 say it, of different items: alpha is nearly 0 and would hardly vary over such items."""
    said = np.zeros((50, 3), dtype=int)
    said[[3, 7], [0, 1]] = 1
    found = within(rated(said), VALUES, level="nominal", clustered=True)
    table = rated(np.column_stack([said, np.zeros(50, dtype=int)]))
    across = between(table, table.raters >= 2, VALUES, level="nominal", clustered=True)
    assert found.alpha.value == pytest.approx(0, abs=0.02)
    for each in (found.alpha, found.fleiss_kappa, across.kappa):
        assert each.interval.low < -0.2
        assert each.interval.high > 0.2


def test_a_share_of_nothing_is_not_below_nothing():
    table = rated([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]])
    cells = Cells(np.array([[0.0, 1], [0, 1], [0, 2]]), *np.array([[1, 2, 3], [4, 5, 6], [5, 6, 4]]))
    for share in (
        within(table, VALUES, level="nominal", clustered=True).share,
        between(table, table.raters >= 2, VALUES, level="nominal", clustered=True).share,
        mean_over_pairs(cells, clustered=True),
    ):
        assert (share.value, share.interval.low) == (0, 0)
        assert share.interval.high > 0


def test_a_coefficient_below_its_scale_is_in_its_interval():
    found = influences([[0.1], [-0.1], [0.1]], images=np.arange(3), annotators=np.full(3, -1))
    [estimate] = estimates.with_intervals(np.array([-1.3]), found, 0, [COEFFICIENT])
    assert estimate.interval.low == -1.3 < estimate.interval.high < 1


def test_parts_have_the_intervals_that_each_has_alone():
    table = rated(said_of(30, 5, seed=2, missing=0.2))
    part_of = table.units % 3
    found = within_each(table, part_of, VALUES, parts=3, level="interval", clustered=True)
    alone = [within(table.of(part_of == part), VALUES, level="interval", clustered=True) for part in range(3)]
    assert repr(found) == repr(alone)  # kappa is NaN
    assert all(one.alpha.interval.low < one.alpha.value < one.alpha.interval.high for one in found)


def test_people_who_are_not_known_do_not_widen():
    said = said_of(40, 4, seed=3)
    said[:, 0] = np.random.default_rng(3).integers(0, 4, 40)  # who guesses
    known = rated(said)
    nobody = replace(known, raters=np.full(len(known.raters), UNKNOWN_ANNOTATOR))
    widths = [
        (found := within(table, VALUES, level="nominal", clustered=True).alpha.interval).high - found.low
        for table in (known, nobody)
    ]
    assert widths[0] > 1.5 * widths[1]


def test_a_difference_is_known_no_better_than_the_side_that_is_known_worse():
    cells = Cells(np.array([[1.0, 2.0], [2.0, 2.0]]), np.arange(2), *np.full((2, 2), UNKNOWN_ANNOTATOR))
    sides = [
        Side(
            cells, lambda sums: sums[..., :1] / sums[..., 1:], np.ones(2), np.array([step]), np.array([least])
        )
        for step, least in ((0.5, 0.3), (0.25, 0.125))
    ]
    for first, second in (sides, sides[::-1]):
        found = difference_influences(first, second)
        assert (found.step.tolist(), found.least.tolist()) == ([0.5], [0.3])
    assert [side.influences().least.tolist() for side in sides] == [[0.3], [0.125]]


def test_two_attributes_of_an_image_are_one_cluster():
    said = np.repeat(said_of(20, 4, seed=4), 2, axis=0)
    table = rated(said)
    widths = [
        (found := within(each, VALUES, level="nominal", clustered=True).share.interval).high - found.low
        for each in (on_images(table), table)
    ]
    assert widths[0] > 1.15 * widths[1]


def test_differences_change_only_their_sign_the_other_way_round():
    first, second = two_groups(Groups(knows=(0.9, 0.6)), np.random.default_rng(1))
    one, other = (compared(*each, clustered=True) for each in ((first, second), (second, first)))
    for a, b in ((one.share, other.share), (one.alpha, other.alpha)):
        assert a.value == pytest.approx(-b.value)
        assert a.p == pytest.approx(b.p)
        assert a.interval.low == pytest.approx(-b.interval.high)
    assert one.alpha.p < 0.05
    itself = compared(first, first, clustered=True).alpha
    assert (itself.value, itself.p) == (0, 1)
    assert itself.interval.low < 0 < itself.interval.high


def test_what_is_alike_of_an_item_for_both_groups_cancels():
    """Both groups rate the same items, half of which nobody can tell."""
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 4, 40)
    said = answers(rng, truth, people=10, knows=0.95)
    said[::2] = rng.integers(0, 4, (20, 10))
    first, second = rated(said[:, :5]), rated(said[:, 5:], people=5 + np.arange(5))
    other_items = rated(said[:, 5:], people=5 + np.arange(5), items=100 + np.arange(40))
    widths = [
        (found := compared(first, each, clustered=True).alpha.interval).high - found.low
        for each in (second, other_items)
    ]
    assert widths[0] < 0.8 * widths[1]


@pytest.mark.django_db
def test_stored_rows_have_clustered_intervals_without_a_resample():
    rows = evaluate_agreement(study=depiction_study(), per=["attribute", "identity"], clustered=True)
    [row] = (row for row in rows if row.scope == "all" and not row.attribute and not row.identity)
    assert set(row.intervals) >= {"percentage", "alpha"}
    low, high = row.intervals["percentage"].low, row.intervals["percentage"].high
    assert 1 < low < row.percentage < high <= 100
    assert row.intervals["alpha"].infinite is None


@pytest.mark.django_db
def test_groups_of_annotators_are_compared_with_clustered_intervals():
    strata = ("origin: Asia",) * 3 + ("origin: Europe",) * 3
    said = {"hat": [5, 5, 5, 1, 4, 2], "kind": [1, 1, 1, 1, 5, 4], "poor": [2, 2, 4, 2, 2, 2]}
    study = visual_study(said, strata=strata)
    rows = [
        row for row in evaluate_agreement(study=study, by="origin", clustered=True) if row.level == "nominal"
    ]
    by_scope = {row.scope: row for row in rows}
    assert set(by_scope) == {"all", "within", "between", "difference"}
    for row in rows:
        assert "percentage" in row.intervals, row.scope
    assert 0 < by_scope["difference"].p["percentage"] <= by_scope["difference"].q["percentage"] <= 1
    assert by_scope["between"].intervals["cross_kappa"].infinite is None


def people_who_differ(seed):
    """Ratings of one group of people who differ much, of whom two in seven are not known."""
    design, more = coverage_agreement.DESIGNS["people differ much"]
    labels, who, _ = coverage_agreement.study(
        replace(design, items=12, people=7), np.random.default_rng(seed), more
    )
    said, who = labels[:, : coverage_agreement.EACH] - 1, np.where(who > 4, UNKNOWN_ANNOTATOR, who)
    kept = np.random.default_rng(seed).random(said.shape) < 0.7
    unit = np.repeat(np.arange(len(said)), said.shape[1]).reshape(said.shape)
    raters = who[:, : coverage_agreement.EACH][kept]
    return Ratings(np.eye(5, dtype=int)[said[kept]], unit[kept], unit[kept], raters)


def of_units_with_several(table):
    """(unit, person, value) of each rating that has another of its unit; who is not known, a person apart."""
    number = np.bincount(table.units)
    return [
        (unit, -1 - row if person == UNKNOWN_ANNOTATOR else person, value)
        for row, (unit, person, value) in enumerate(
            zip(
                table.units.tolist(), table.raters.tolist(), table.counts.argmax(axis=1).tolist(), strict=True
            )
        )
        if number[unit] > 1
    ]


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_ratings_by_one_person_are_those_of_plain_loops(seed):
    table = people_who_differ(seed)
    part_of = table.units % 2
    found = [matrix for some in pairs_by_subject.in_parts(table, part_of, 2) for matrix in some.same_person]
    for part, matrix in enumerate(found):
        said = of_units_with_several(table.of(part_of == part))
        expected = np.zeros((5, 5))
        for (_, one, first), (_, other, second) in product(said, repeat=2):
            expected[first, second] += one == other
        assert matrix.tolist() == expected.tolist()
    alone = pairs_by_subject.pairs_of_one(table.of(table.units < 0), np.zeros(0, dtype=int), 2)
    assert alone.tolist() == np.zeros((2, 5, 5)).tolist()


@pytest.mark.parametrize("level", LEVELS)
def test_chance_among_people_is_that_of_two_ratings_by_different_people(level):
    table = people_who_differ(1)
    said = of_units_with_several(table)
    totals = np.bincount([value for *_, value in said], minlength=5)
    distance = coincidences.distances(totals, range(5), level=level)
    pairs = list(product(said, repeat=2))
    of_unit = Counter(unit for unit, *_ in said)
    apart = sum(
        distance[x, y] / (of_unit[unit] - 1) for (unit, _, x), (other, _, y) in pairs if unit == other
    ) / len(said)
    by_chance = np.mean([distance[x, y] for (_, one, x), (_, other, y) in pairs if one != other])
    [some] = pairs_by_subject.in_parts(table, np.zeros(len(table.units), dtype=int), 1)
    [found] = coefficients.alpha_of_people(some.total, some.same_person, range(5), level=level)
    assert found == pytest.approx(1 - apart / by_chance)
    [apart_from_all] = coefficients.alpha_of_people(some.total, np.diag(totals)[None], range(5), level=level)
    assert apart_from_all == pytest.approx(
        coefficients.share_and_alpha(some.total, range(5), level=level)[1][0]
    )


def test_there_is_no_chance_among_people_if_one_gave_all_ratings():
    table = Ratings(np.array([[2, 1], [0, 2]]), np.arange(2), np.arange(2), np.array([7, 7]))
    [some] = pairs_by_subject.in_parts(table, np.zeros(2, dtype=int), 1)
    [found] = coefficients.alpha_of_people(some.total, some.same_person, [0, 1], level="nominal")
    assert np.isnan(found)


def test_intervals_of_alpha_and_kappa_lie_around_those_of_endless_people():
    """Of a study in which everybody rates all, so that kappa is defined as well."""
    design, more = coverage_agreement.DESIGNS["people differ much"]
    labels, who, _ = coverage_agreement.study(replace(design, people=3), np.random.default_rng(5), more)
    said, unit = labels[:, : coverage_agreement.EACH] - 1, np.repeat(np.arange(len(labels)), 3)
    table = Ratings(np.eye(5, dtype=int)[said.ravel()], unit, unit, who[:, :3].ravel())
    [some] = pairs_by_subject.in_parts(table, np.zeros(len(table.units), dtype=int), 1)
    for level in LEVELS:
        found = within(table, range(5), level=level, clustered=True)
        for estimate, of in ((found.alpha, level), (found.fleiss_kappa, "nominal")):
            [centre] = coefficients.alpha_of_people(some.total, some.same_person, range(5), level=of)
            low, high = np.arctanh([estimate.interval.low, estimate.interval.high])
            assert (low + high) / 2 == pytest.approx(np.arctanh(centre))
            assert estimate.value < centre
        ends = np.array([found.share.interval.low, found.share.interval.high])
        assert np.log(ends / (1 - ends)).mean() == pytest.approx(
            np.log(found.share.value / (1 - found.share.value))
        )


def test_alpha_of_few_people_who_differ_much_is_too_small_and_the_centre_is_not():
    design, more = coverage_agreement.DESIGNS["people differ much"]
    truth = coverage_agreement.truth(design, more)["alpha, ordinal"]
    errors = []
    for rng in np.random.default_rng(0).spawn(150):
        labels, who, _ = coverage_agreement.study(design, rng, more)
        _, (_, kept, table, second), _ = coverage_agreement._read(labels, who, True)
        table = table.of(~second)
        [some] = pairs_by_subject.in_parts(table, np.zeros(len(table.units), dtype=int), 1)
        _, [alpha] = coefficients.share_and_alpha(some.total, kept, level="ordinal")
        [centre] = coefficients.alpha_of_people(some.total, some.same_person, kept, level="ordinal")
        errors.append([alpha - truth, centre - truth])
    t = np.mean(errors, axis=0) / np.std(errors, axis=0) * np.sqrt(len(errors))
    assert t[0] < -2.5
    assert abs(t[1]) < 2


def test_intervals_hold_the_truth_as_often_as_they_say():
    design = coverage_agreement.DESIGNS["20 items, 12 people"]
    found = coverage_agreement.measured(
        design, studies=120, resamples=0, method="clustered", population=20_000
    )
    assert {name: row["coverage"] for name, row in found.items() if row["coverage"] < LEAST} == {}
    # a single item has three ratings, and its oracle is that of all items
    del found[simulated_rules.ONE]
    assert {name: row["width"] for name, row in found.items() if not 0.8 < row["width"] < 1.6} == {}
    false = [row["found"] for name, row in found.items() if name.endswith("the same")]
    assert np.mean(false) < 0.12
    few = coverage_few.measured(Groups(people=5), studies=100, resamples=0, method="clustered")
    assert min(row["coverage"] for row in few.values()) > 0.8


def test_the_few_people_count_where_intervals_would_be_too_narrow(monkeypatch):
    """In kappa across groups, in shares and means of ratings, and in the IoU of boxes, but not in alpha."""
    seen = []
    real = Influences.standard_errors

    def noted(influences):
        seen.append(influences.many_items)
        return real(influences)

    monkeypatch.setattr(Influences, "standard_errors", noted)
    table = Ratings(
        np.eye(2, dtype=int)[[0, 1] * 6],
        np.repeat(np.arange(6), 2),
        np.repeat(np.arange(6), 2),
        np.tile([7, 8, 8, 9], 3),
    )
    within(table, [0, 1], level="nominal", clustered=True)
    assert not any(seen)
    seen.clear()
    between(table, table.raters == 8, [0, 1], level="nominal", clustered=True)
    mean_over_pairs(Cells(np.ones((6, 2)), np.arange(6), np.full(6, 7), np.full(6, 8)), clustered=True)
    assert len(seen) == 2
    assert all(seen)
    [mean] = means.mean_influences(table.counts[:, 0], np.ones((12, 1), bool), table.units, table.raters)
    [share] = passing_shares.share_influences(
        table.units,
        table.raters % 2,
        table.raters,
        items=np.arange(6),
        number=2,
        rule=lambda labels: (labels[:, :1] > 0, labels.sum(axis=1, keepdims=True) > 0),
    )
    assert mean.many_items
    assert share.many_items


def test_intervals_that_leave_the_people_out_are_found_out(monkeypatch):
    real = cell_influences.influences

    def of_items_alone(values, *, annotators, **more):
        return real(values, annotators=np.full_like(annotators, UNKNOWN_ANNOTATOR), **more)

    monkeypatch.setattr(cell_influences, "influences", of_items_alone)
    few = coverage_few.measured(Groups(people=8), studies=60, resamples=0, method="clustered")
    assert few["alpha"]["coverage"] < 0.75


def test_a_record_of_intervals_is_compared_with_the_oracle():
    record = coverage_tables.Record(truth=0.0)
    for value in (-1.0, 1.0):
        record.add(value, Interval(value - 0.5, value + 1.5), p=0.04)
    record.add(0.0, None)
    found = record.summary()
    assert (found["coverage"], found["none"], found["found"]) == (0.5, pytest.approx(1 / 3), 1.0)
    assert found["width"] == pytest.approx(2 / (2 * 1.96), abs=0.001)
    assert found["power"] == pytest.approx(0.05)
    assert "50.0" in coverage_tables.as_tables({"clustered": {"design": {"scores": {"alpha": found}}}})
