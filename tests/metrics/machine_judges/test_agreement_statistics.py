"""Agreement of a judge with people against plain loops over pairs, and which groups may be shown."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from metrics.agreement.stats import across, coefficients
from metrics.agreement.stats.cell_influences import difference_influences
from metrics.agreement.stats.pairs_by_subject import in_parts
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.machine_judges.scores.small_groups import shown_groups
from metrics.machine_judges.stats import shares
from metrics.machine_judges.stats.agreement import beside_each, judge_cells
from metrics.machine_judges.stats.boxes import boxes_beside

VALUES = (1, 2, 4)


def answers_of(seed: int, *, images=12, units=3, identified=True):
    """(image, unit, person, value) and {unit: verdict}, with one to four people a unit; people differ in how
    they answer, and the judge is right half of the time."""
    rng = np.random.default_rng(seed)
    rows, verdicts = [], {}
    for image in range(images):
        for unit in range(image * units, image * units + units):
            true = rng.integers(3)
            verdicts[unit] = int(true if rng.random() < 0.5 else rng.integers(3))
            for person in rng.choice(8, size=rng.integers(1, 5), replace=False).tolist():
                said = int(true if rng.random() < 0.3 + 0.08 * person else rng.integers(3))
                rows.append((image, unit, person if identified else -1, said))
    return rows, verdicts


def as_table(rows, verdicts):
    image, unit, person, said = np.array(sorted(rows)).T
    counts = np.eye(3, dtype=int)[said]
    return Ratings(counts, unit, image, person), np.array([verdicts[each] for each in unit.tolist()])


def found_of(rows, verdicts, *, level="nominal", clustered=False):
    table, chosen = as_table(rows, verdicts)
    nothing = np.zeros(len(rows), dtype=int)
    [found] = beside_each(table, chosen, nothing, VALUES, parts=1, level=level, clustered=clustered)
    return found


def distance(a: int, b: int, level: str) -> float:
    return float(a != b) if level == "nominal" else float((VALUES[a] - VALUES[b]) ** 2)


def of_several(rows):
    units = [row[1] for row in rows]
    return [row for row in rows if units.count(row[1]) > 1]


def by_loops(rows, verdicts, level):
    """Equal pairs, pairs and the coefficient of the judge with people; the same of people. Of units with two
    answers."""
    rows = of_several(rows)
    pairs = [(verdicts[unit], said) for _, unit, _, said in rows]
    shown = [verdicts[unit] for unit in {row[1] for row in rows}]
    chance = [distance(a, said, level) for a in shown for *_, said in rows]
    observed = sum(distance(*pair, level) for pair in pairs) / len(pairs)
    judge = sum(a == b for a, b in pairs), len(pairs), 1 - observed / (sum(chance) / len(chance))
    by_unit = {unit: [row[3] for row in rows if row[1] == unit] for unit in {row[1] for row in rows}}
    among = [pair for said in by_unit.values() for pair in combinations(said, 2)]
    paired = [each for said in by_unit.values() for each in said]
    apart = sum(
        distance(a, b, level) / (len(said) - 1) for said in by_unit.values() for a, b in permutations(said, 2)
    )
    expected = sum(distance(a, b, level) for a, b in permutations(paired, 2)) / (len(paired) - 1)
    return judge, (sum(a == b for a, b in among), len(among), 1 - apart / expected)


@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize("seed", range(3))
def test_both_sides_are_those_of_plain_loops_over_pairs(seed, level):
    rows, verdicts = answers_of(seed)
    found = found_of(rows, verdicts, level=level)
    judge, people = by_loops(rows, verdicts, level)
    for side, (equal, number, coefficient) in ((found.judge, judge), (found.people, people)):
        assert (side.equal, side.number) == (equal, number)
        assert side.share.value == pytest.approx(equal / number)
        assert side.coefficient.value == pytest.approx(coefficient)
    assert found.judge.units == found.people.units == len({row[1] for row in of_several(rows)})
    assert found.share.value == pytest.approx(found.judge.share.value - found.people.share.value)
    assert found.coefficient.value == pytest.approx(judge[2] - people[2])
    assert found.annotators == len({row[2] for row in of_several(rows)})
    for side in (found.judge, found.people):  # none were asked for
        assert side.share.interval is side.coefficient.interval is None
    assert math.isnan(found.share.p)


@pytest.mark.parametrize("alike", [False, True])
def test_people_have_the_intervals_of_the_scores_of_agreement(alike):
    """Also where nothing varies, as with a pair that differs about everything."""
    rows, verdicts = answers_of(3)
    if alike:
        rows = [(image, image, -1, said) for image in range(9) for said in (0, 1)]
    found = found_of(rows, verdicts, clustered=True).people
    within = coefficients.within(as_table(rows, verdicts)[0], VALUES, level="nominal", clustered=True)
    assert found.share.interval == within.share.interval
    for end in ("low", "high"):
        assert getattr(found.coefficient.interval, end) == pytest.approx(getattr(within.alpha.interval, end))
    assert found.coefficient.interval.low < found.coefficient.interval.high


def test_the_judge_is_compared_with_what_alpha_would_be_with_endless_people():
    """People who use the values differently: the alpha of a few of them is too small."""
    rng = np.random.default_rng(0)
    liked = (0, 0, 2, 2, 0, 2)
    rows = [
        (unit, unit, person, liked[person] if rng.random() < 0.4 else unit % 3)
        for unit in range(40)
        for person in range(6)
    ]
    table, _ = as_table(rows, dict.fromkeys(range(40), 1))
    found = found_of(rows, {unit: unit % 3 for unit in range(40)}, clustered=True)
    [some] = in_parts(table, np.zeros(len(rows), dtype=int), 1)
    [alpha] = coefficients.alpha_of_people(some.total, some.same_person, VALUES, level="nominal")
    assert alpha - found.people.coefficient.value > 0.01
    apart, interval = found.coefficient, found.coefficient.interval
    assert apart.value == pytest.approx(found.judge.coefficient.value - found.people.coefficient.value)
    assert (interval.low + interval.high) / 2 == pytest.approx(found.judge.coefficient.value - alpha)
    equal = found.share.interval
    assert (equal.low + equal.high) / 2 == pytest.approx(found.share.value)


def test_a_verdict_is_wanted_for_each_answer():
    table, chosen = as_table(*answers_of(0))
    with pytest.raises(
        ValueError, match=f"verdicts has shape .{len(chosen) - 1},.; .{len(chosen)},. is needed"
    ):
        judge_cells(table, chosen[:-1])


def test_shares_do_not_differ_by_more_than_everything():
    """Of four units on which two people agree, the judge agrees with them about one."""
    rows = [(unit, unit, person, 0) for unit in range(4) for person in (1, 2)]
    found = found_of(rows, {0: 0, 1: 1, 2: 1, 3: 1}, clustered=True)
    assert (found.share.value, found.share.interval.low) == (-0.75, -1)


@pytest.mark.parametrize("clustered", [False, True])
def test_units_with_one_answer_change_nothing_of_a_difference(clustered):
    """The judge is wrong wherever a single person answered, and as good as people elsewhere."""
    shared = [(unit, unit, person, unit % 2) for unit in range(8) for person in (1, 2)]
    alone = [(unit, unit, 3, unit % 2) for unit in range(8, 16)]
    verdicts = {unit: unit % 2 if unit < 8 else 1 - unit % 2 for unit in range(16)}
    found = found_of([*shared, *alone], verdicts, clustered=clustered)
    assert (found.share.value, found.coefficient.value) == (0, 0)
    assert (found.judge, found.people) == tuple(
        getattr(found_of(shared, verdicts, clustered=clustered), side) for side in ("judge", "people")
    )
    assert found.annotators == 2


def test_a_unit_has_two_answers_in_its_part_or_counts_on_neither_side():
    """As groups of annotators: of three answers about a unit, two are of one group and one of the other."""
    rows = [(unit, unit, person, 0) for unit in range(4) for person in (1, 2, 3)]
    table, chosen = as_table(rows, dict.fromkeys(range(4), 0))
    groups = (table.raters == 3).astype(int)
    two, one = beside_each(table, chosen, groups, VALUES, parts=2, level="nominal", clustered=True)
    assert (two.judge.number, two.people.number, two.judge.units) == (8, 4, 4)
    assert (one.judge.number, one.people.number, one.judge.units) == (0, 0, 0)
    assert math.isnan(one.share.value)


def test_each_part_is_what_it_is_alone():
    rows, verdicts = answers_of(7)
    table, chosen = as_table(rows, verdicts)
    parts = table.units % 3  # as attributes: every image has some of each
    found = list(beside_each(table, chosen, parts, VALUES, parts=4, level="nominal", clustered=True))
    for part in range(3):
        alone = found_of([row for row in rows if row[1] % 3 == part], verdicts, clustered=True)
        assert found[part].judge == alone.judge
        assert found[part].people == alone.people
        assert found[part].share == alone.share
    assert found[3].judge.number == 0
    assert math.isnan(found[3].judge.share.value)


def test_the_interval_of_the_difference_is_that_of_leaving_out_each_image():
    """The judge and people are compared about the same images, so what makes an image hard cancels."""
    rows, verdicts = answers_of(1, images=40, identified=False)
    found = found_of(rows, verdicts, clustered=True)
    without = np.array(
        [found_of([row for row in rows if row[0] != image], verdicts).share.value for image in range(40)]
    )
    jackknife = math.sqrt(39 / 40 * ((without - without.mean()) ** 2).sum())
    half = (found.share.interval.high - found.share.interval.low) / 2
    assert half == pytest.approx(2.03 * jackknife, rel=0.05)
    assert found.annotators is None


def test_people_are_the_same_on_both_sides_of_the_difference():
    """Half of the people answer as the judge, half toss a coin: both sides depend on who was asked."""
    rng = np.random.default_rng(0)
    rows = [
        (unit, unit, person, 0 if person < 5 else int(rng.integers(2)))
        for unit in range(60)
        for person in rng.choice(10, size=3, replace=False).tolist()
    ]
    found = found_of(rows, dict.fromkeys(range(60), 0), clustered=True)
    judge, people = found.judge.share.interval, found.people.share.interval
    apart = math.hypot(judge.high - judge.low, people.high - people.low)
    assert 0 < found.share.interval.high - found.share.interval.low < 0.6 * apart


def test_answers_that_are_on_both_sides_leave_nothing_of_an_equal_difference():
    """Else what an annotator answered about one image would be subtracted twice, and intervals be too
    narrow."""
    rows, verdicts = answers_of(5)
    side = across.side_of(judge_cells(*as_table(rows, verdicts)), VALUES, level="nominal")
    found = difference_influences(side, side)
    assert len(found.annotators.labels) == 8
    assert not found.answers.any()
    alone = side.influences()
    assert alone.answers.all()
    nothing = replace(side, statistics=lambda sums: np.zeros((*sums.shape[:-1], 2)))
    against = difference_influences(side, nothing)
    uneven = replace(side, mass=side.mass * (side.cells.second + 2))  # of the other side, as much in all
    mass = difference_influences(side, uneven).annotators.mass
    assert mass == pytest.approx((alone.annotators.mass + uneven.influences().annotators.mass) / 2)
    assert against.images.change.ravel() == pytest.approx(alone.images.change.ravel())


def test_where_everybody_answers_alone_nothing_is_compared():
    found = found_of([(1, 1, 5, 0), (2, 2, 5, 1)], {1: 0, 2: 0}, clustered=True)
    assert (found.people.number, found.judge.number, found.judge.equal) == (0, 0, 0)
    assert math.isnan(found.share.value)
    assert found.annotators == 0


def test_confusion_adds_up_to_all_pairs_and_each_value_of_people_to_one():
    rows, verdicts = answers_of(3)
    found = shares.confusion(*as_table(rows, verdicts), clustered=True)
    assert sum(each.number for each in found) == len(rows)
    for value in range(3):
        own = [each for each in found if each.people == value]
        assert sum(each.share.value for each in own) == pytest.approx(1)
        assert {each.answers for each in own} == {sum(row[3] == value for row in rows)}
        for each in own:
            assert each.number == sum(verdicts[row[1]] == each.judge for row in rows if row[3] == value)
            assert each.share.interval.low <= each.share.value <= each.share.interval.high


def test_boxes_of_the_judge_and_of_people_are_means_of_their_pairs():
    judge = Cells(np.array([[0.2, 1], [0.4, 1], [0.9, 1]]), np.arange(3), np.full(3, -1), np.array([7, 8, 9]))
    people = Cells(
        np.array([[0.5, 1], [0.7, 1], [0.6, 1]]), np.arange(3), np.array([7, 7, 8]), np.array([8, 9, 9])
    )
    found = boxes_beside(judge, people, clustered=True)
    assert (found.judge.value, found.people.value) == pytest.approx((0.5, 0.6))
    assert found.difference.value == pytest.approx(-0.1)
    assert found.difference.interval.low < -0.1 < found.difference.interval.high
    assert found.annotators == 3
    without = boxes_beside(judge, people)
    assert without.judge.interval is without.people.interval is None
    unknown = boxes_beside(replace(judge, second=np.array([7, -1, 9])), people, clustered=True)
    assert unknown.annotators is None
    apart = Cells(np.array([[0.1, 1], [0, 1], [0, 1]]), np.arange(3), np.full(3, -1), np.full(3, -1))
    alike = Cells(np.ones((3, 2)), np.arange(3), np.full(3, -1), np.full(3, -1))
    assert boxes_beside(apart, alike, clustered=True).difference.interval.low == -1
    # of three pairs, a person's boxes are in two where people are compared with each other
    many = Cells(np.ones((30, 2)), np.arange(30), np.full(30, -1), np.full(30, -1))
    equal = boxes_beside(many, many, clustered=True)
    assert equal.judge.interval.low > equal.people.interval.low + 0.05


def test_answers_after_the_first_are_compared_with_the_first():
    later, same = shares.later_and_first([9, 4, 9, 9, 4], [3, 1, 1, 2, 2], [0, 1, 1, 0, 1])
    assert dict(zip(later.tolist(), same.tolist(), strict=True)) == {0: 0, 3: 0, 4: 1}
    alike = shares.share_alike(same, [1, 2, 2], clustered=True)
    assert alike.value == pytest.approx(1 / 3)
    assert alike.interval.low < 1 / 3 < alike.interval.high
    assert shares.share_alike(same, [1, 2, 2]).interval is None
    many = shares.share_alike([1, 1, 1, 0] * 10, np.repeat(np.arange(20), 2), clustered=True)
    assert 0.5 < many.interval.low < many.value == 0.75 < many.interval.high


@pytest.mark.parametrize("image_of", [int, math.isqrt], ids=["one unit an image", "several"])
def test_a_confusion_is_as_sure_as_the_units_in_which_people_gave_the_value(image_of):
    rows = [(image_of(unit), unit, -1, int(unit % 3 == 0)) for unit in range(64)]
    verdicts = {unit: int(unit % 6 == 0) for unit in range(64)}
    found = shares.confusion(*as_table(rows, verdicts), clustered=True)
    for value in (0, 1) if image_of is int else (1,):
        own = [(verdicts[unit] == value, image) for image, unit, _, said in rows if said == value]
        [share] = [each.share for each in found if each.people == each.judge == value]
        alike = shares.share_alike(*zip(*own, strict=True), clustered=True)
        assert share.value == alike.value == 1 - value / 2
        assert share.interval.low == pytest.approx(alike.interval.low)


class TestGroupsThatMayBeShown:
    """Cells are (region, group); -1: all regions."""

    def shown(self, *people: tuple[int, int, int], units=None):
        who, regions, groups = np.array(people).T
        about = np.arange(len(who)) if units is None else np.array(units)
        return shown_groups(who, about, regions, groups, least=3)

    def test_a_group_of_two_is_left_out_and_with_it_what_would_give_it_away(self):
        large = [(person, 0, 0) for person in range(5)]
        middle = [(person, 0, 1) for person in range(10, 13)]
        small = [(person, 0, 2) for person in (20, 21)]
        assert self.shown(*large, *middle) == {(-1, 0), (-1, 1), (0, 0), (0, 1)}
        assert self.shown(*large, *middle, *small) == {(-1, 0), (0, 0)}

    def test_a_group_that_is_left_out_is_left_out_in_every_region(self):
        large = [(person, region, 0) for person in range(5) for region in (0, 1)]
        middle = [(person, region, 1) for person in range(10, 13) for region in (0, 1)]
        small = [(person, 0, 2) for person in (20, 21)]
        assert self.shown(*large, *middle, *small) == {(-1, 0), (0, 0), (1, 0)}

    def test_two_small_groups_that_cannot_be_told_apart_take_nobody_with_them(self):
        large = [(person, 0, 0) for person in range(5)]
        small = [(20, 0, 1), (21, 0, 1), (30, 0, 2)]
        assert self.shown(*large, *small) == {(-1, 0), (0, 0)}

    def test_a_region_in_which_few_of_a_group_answered_is_not_found_by_subtraction(self):
        here = [(person, 0, 0) for person in range(5)]
        there = [(person, 1, 0) for person in (0, 1)]
        assert self.shown(*here, *there) == {(-1, 0)}

    def test_who_is_not_identified_is_as_many_people_as_answered_about_one_unit(self):
        assert self.shown(*[(-each, 0, 0) for each in (5, 6)]) == {(-1, 0), (0, 0)}
        mixed = [(1, 0, 0), (-5, 0, 0), (-6, 0, 0)]
        assert self.shown(*mixed, units=[1, 1, 2]) == set()
        assert self.shown(*mixed, units=[1, 1, 1]) == {(-1, 0), (0, 0)}
