"""Differences of agreement between groups of annotators (PROTOCOL §10): the five kinds of test of each
function, and a planted difference that must be found."""

import csv
import io

import krippendorff
import numpy as np
import pytest
from django.core.management import call_command

from benchmarks.coverage_few import VALUES, Groups, answers, compared, coverage, rated, two_groups
from metrics.agreement.scores.differences import MIN_PEOPLE
from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.agreement.stats import rated_pairs
from metrics.agreement.stats.coefficients import share_and_alpha, table_of, within
from metrics.agreement.stats.differences import agreement_difference
from metrics.agreement.stats.rated_pairs import Cells, Ratings, paired_resampled, resampled
from metrics.core.stats.bootstrap import cluster_weights, joint_weights
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR
from metrics.core.stats.differences import difference, false_discovery
from metrics.score_runs.evaluation import evaluate
from tests import factories
from tests.metrics.cast import visual_study


def simulated(seed, **design):
    return two_groups(Groups(**{"spread": 0.0, **design}), np.random.default_rng(seed))


def found(first, second, *, level="nominal", resamples=200, seed=0):
    return compared(first, second, level=level, resamples=resamples, rng=np.random.default_rng(seed))


def test_bad_input_is_refused_with_its_numbers():
    cells = rated_pairs.within(rated([[0, 1], [1, 1]]))
    with pytest.raises(ValueError, match="sums has 18 columns; 3 values need 11"):
        agreement_difference(cells, cells, (0, 1, 2), level="nominal")
    other = rated_pairs.within(table_of([[1, 1]]))
    for sides in ((cells, other), (other, cells)):
        with pytest.raises(ValueError, match="sums has 6 columns; 4 values need 18"):
            agreement_difference(*sides, VALUES, level="nominal")
    with pytest.raises(ValueError, match="needs a random generator"):
        agreement_difference(cells, cells, VALUES, level="nominal", resamples=10)
    with pytest.raises(ValueError, match="level is 'ratio'"):
        agreement_difference(cells, cells, VALUES, level="ratio")
    none = rated_pairs.within(rated([[0, -1]]))
    with pytest.raises(ValueError, match="no pair to resample on one of the sides"):
        paired_resampled(cells, none, resamples=3, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("knows", "spread"), [((0.7, 0.2), 0.25), ((0.85, 0.55), 0.0)])
def test_the_true_alphas_are_those_of_endless_people(knows, spread):
    drawn = np.random.default_rng(1).normal(knows, spread, (1_000_000, 2))
    endless = np.clip(drawn, 0, 1).mean(axis=0) ** 2
    assert Groups(knows=knows, spread=spread).alphas == pytest.approx(tuple(endless), abs=1e-3)


def test_the_other_way_round_only_the_sign_changes():
    first, second = simulated(1, knows=(0.9, 0.6))
    one, other = found(first, second, resamples=999), found(second, first, resamples=999)
    for name in ("share", "alpha"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.value == pytest.approx(-b.value)
        # the strata are drawn in another order, so that these are other draws
        assert (a.p, a.interval.low) == (
            pytest.approx(b.p, abs=0.01),
            pytest.approx(-b.interval.high, abs=0.03),
        )


def test_what_items_and_people_are_called_does_not_matter():
    first, second = simulated(2)
    renamed = [
        Ratings(side.counts, 7 * side.units + 3, 7 * side.clusters + 3, 5 * side.raters + 11)
        for side in (first, second)
    ]
    assert found(first, second) == found(*renamed)


def test_a_group_does_not_differ_from_itself_in_any_resample():
    first, _ = simulated(3)
    same = found(first, first)
    for each in (same.share, same.alpha):
        assert (each.value, each.interval.low, each.interval.high, each.p) == (0, 0, 0, 1)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_values_are_the_differences_of_the_package_and_of_a_plain_count(level):
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 4, 30)
    said = [answers(rng, truth, people=5, knows=knows) for knows in (0.8, 0.5)]
    said[0][rng.random(said[0].shape) < 0.2] = -1
    expected = [
        krippendorff.alpha(
            reliability_data=np.where(each < 0, np.nan, each).T,
            value_domain=list(VALUES),
            level_of_measurement=level,
        )
        for each in said
    ]
    both = found(*map(rated, said), level=level, resamples=0)
    assert both.alpha.value == pytest.approx(expected[0] - expected[1])
    pairs = [
        [row[i] == row[j] for row in each for i in range(5) for j in range(i) if min(row[i], row[j]) >= 0]
        for each in said
    ]
    assert both.share.value == pytest.approx(np.mean(pairs[0]) - np.mean(pairs[1]))
    assert np.isnan([both.alpha.p, both.alpha.interval.low, both.share.p]).all()


@pytest.mark.parametrize("known", [True, False])
def test_the_resamples_are_those_of_a_plain_loop_over_items_and_people(known):
    """Items 0 to 3 are of both groups, 4 and 5 of the first, 6 of the second; person 2 is in both groups."""
    rng = np.random.default_rng(5)
    people = ([0, 1, 2], [2, 3, 4]) if known else ([UNKNOWN_ANNOTATOR] * 3,) * 2
    items = (np.arange(6), np.array([0, 1, 2, 3, 6]))
    said = [rng.integers(0, 4, (len(each), 3)) for each in items]
    tables = [rated(s, people=p, items=i) for s, p, i in zip(said, people, items, strict=True)]
    sides = [rated_pairs.within(table) for table in tables]
    drawn = paired_resampled(*sides, resamples=20_000, rng=np.random.default_rng(6))

    def plain(rng):
        times = {}
        for stratum in ([0, 1, 2, 3], [4, 5], [6]):
            for item in rng.choice(stratum, len(stratum)):
                times[item] = times.get(item, 0) + 1
        of = {}
        for stratum in ([2], [0, 1], [3, 4]):
            for person in rng.choice(stratum, len(stratum)):
                of[person] = of.get(person, 0) + 1
        shares = []
        for side in (0, 1):
            same = number = 0
            for row, item in zip(said[side], items[side].tolist(), strict=True):
                for i in range(3):
                    for j in range(i):
                        weight = times.get(item, 0)
                        if known:
                            weight *= of.get(people[side][i], 0) * of.get(people[side][j], 0)
                        same, number = same + weight * (row[i] == row[j]), number + weight
            shares.append((same, number))
        return np.array(shares, dtype=float).ravel()

    loop = np.random.default_rng(7)
    expected = np.array([plain(loop) for _ in range(4000)])
    got = np.concatenate([side[:, -2:] for side in drawn], axis=1)
    scale = expected.std(axis=0) + 0.1
    assert (np.abs(got.mean(axis=0) - expected.mean(axis=0)) < 0.08 * scale).all()
    assert np.abs(np.cov(got.T) - np.cov(expected.T)).max() < 0.1 * np.cov(expected.T).max()


def test_groups_with_nothing_in_common_are_drawn_apart_as_each_by_itself():
    first, second = simulated(8, items=12, people=4)
    moved = Ratings(second.counts, second.units + 50, second.clusters + 50, second.raters)
    sides = [rated_pairs.within(side) for side in (first, moved)]
    drawn = paired_resampled(*sides, resamples=3000, rng=np.random.default_rng(0))
    alone = [resampled(side, resamples=3000, rng=np.random.default_rng(9)) for side in sides]
    for one, other in zip(drawn, alone, strict=True):
        a, b = (share_and_alpha(sums, VALUES, level="nominal")[0] for sums in (one, other))
        assert np.nanquantile(a, [0.1, 0.5, 0.9]) == pytest.approx(
            np.nanquantile(b, [0.1, 0.5, 0.9]), abs=0.03
        )
    shares = [share_and_alpha(sums, VALUES, level="nominal")[0] for sums in drawn]
    defined = ~np.isnan(shares).any(axis=0)
    assert abs(np.corrcoef(np.array(shares)[:, defined])[0, 1]) < 0.06


def test_items_that_both_rated_cancel():
    """The same hard and easy items make both groups agree less or more: paired draws are narrower."""
    rng = np.random.default_rng(10)
    hard = rng.random(80) < 0.5
    truth = rng.integers(0, 4, 80)
    said = [np.where(hard[:, None], rng.integers(0, 4, (80, 20)), truth[:, None]) for _ in range(2)]
    first, second = rated(said[0]), rated(said[1], people=100 + np.arange(20))
    apart_items = Ratings(second.counts, second.units + 500, second.clusters + 500, second.raters)
    widths = []
    for other in (second, apart_items):
        interval = found(first, other, resamples=400).share.interval
        widths.append(interval.high - interval.low)
    assert widths[0] < 0.5 * widths[1]


def test_weights_of_both_sides_are_the_same_where_they_share_a_cluster():
    rng = np.random.default_rng(0)
    one, other = joint_weights([3, 1, 1, 2], [2, 9, 3, 8], 500, rng)
    assert (one[:, 1:] == other[:, :2]).all()
    assert (one.sum(axis=1) == 3).all()
    assert (other.sum(axis=1) == 4).all()
    same, again = joint_weights([1, 2], [1, 2], 5, np.random.default_rng(3))
    assert (same == cluster_weights(2, 5, np.random.default_rng(3))).all()
    assert (same == again).all()


def test_what_cannot_be_drawn_or_told_is_undefined():
    one_item = rated([[0, 0, 1]])
    several = rated([[0, 1, 1], [1, 1, 1], [2, 2, 0]])
    some = found(one_item, several)
    assert some.share.value == pytest.approx(1 / 3 - 5 / 9)
    assert np.isnan([some.share.p, some.share.interval.low]).all()
    assert some.share.interval.undefined == 200
    assert np.isnan(found(several, one_item).share.p)
    alike = rated([[1, 1], [1, 1]])
    assert np.isnan(found(alike, several).alpha.value)
    assert np.isnan(found(alike, several).alpha.p)
    assert found(alike, several).share.value == pytest.approx(4 / 9)
    nothing = Cells(np.zeros((0, 18)), *(np.zeros(0, dtype=int),) * 3)
    empty = agreement_difference(
        nothing, nothing, VALUES, level="nominal", resamples=5, rng=np.random.default_rng(0)
    )
    assert np.isnan([empty.share.value, empty.alpha.value, empty.share.p]).all()


def test_the_value_is_that_of_each_group_by_itself():
    first, second = simulated(11, knows=(0.9, 0.4))
    alone = [within(side, VALUES, level="nominal") for side in (first, second)]
    both = found(first, second, resamples=0)
    assert both.alpha.value == pytest.approx(alone[0].alpha.value - alone[1].alpha.value)
    assert both.share.value == pytest.approx(alone[0].share.value - alone[1].share.value)
    unknown = table_of([[2, 0, 0, 0], [0, 2, 0, 0]])
    assert found(unknown, unknown).alpha.value == 0


@pytest.mark.parametrize(
    "design",
    [
        Groups(items=40, people=7, spread=0.0),
        Groups(items=40, people=7, knows=(0.85, 0.55), spread=0.1),
        Groups(items=40, people=7),
    ],
)
def test_intervals_hold_the_difference_of_all_items_and_people_there_could_be(design):
    told = coverage(design, studies=100, resamples=200)
    # a true 95 % gives 89 or fewer of 100 in one case of a hundred
    assert told["held"] >= 0.9
    significant = told["p below 5 %"]
    assert significant <= 0.11 if design.truth == 0 else significant >= 0.8


def test_where_no_groups_differ_few_families_have_any_discovery():
    """Four groups that agree alike, six pairs and both measures: how often any q is below 5 %."""
    discoveries = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, len(VALUES), 40)
        cells = [
            rated_pairs.within(
                rated(answers(rng, truth, people=6, knows=0.7, spread=0.1), people=100 * group + np.arange(6))
            )
            for group in range(4)
        ]
        p = []
        for place, first in enumerate(cells):
            for second in cells[:place]:
                one = agreement_difference(first, second, VALUES, level="nominal", resamples=400, rng=rng)
                p += [one.share.p, one.alpha.p]
        discoveries += bool((false_discovery(p) < 0.05).any())
    assert discoveries <= 8  # a true 5 % gives more in one case of a hundred


def groups_of_annotators(knows, *, people=8, words=40, seed=0, name="planted"):
    """A study in which each group of annotators knows the true label with its own probability."""
    rng = np.random.default_rng(seed)
    labels = np.array([1, 2, 4, 5])
    truth = rng.integers(0, 4, words)
    said = [answers(rng, truth, people=people, knows=each) for each in knows.values()]
    table = labels[np.concatenate(said, axis=1)]
    who = [
        factories.annotator(profile={"gender": said} if said else None, simulated=True)
        for said in knows
        for _ in range(people)
    ]
    ratings = {f"word {place}": table[place].tolist() for place in range(words)}
    return visual_study(ratings, people=who, strata=["any"] * len(who), name=name)


def scores(study, resamples=300, by="gender"):
    rows = evaluate(
        study=study,
        metric="agreement",
        variant="corrected",
        resamples=resamples,
        seed=0,
        parameters={"by": by},
    ).rows
    return {(row.part, row.name): row for row in rows if not row.attribute}


@pytest.mark.django_db
def test_a_planted_difference_is_found_and_one_that_is_not_there_is_not():
    got = scores(groups_of_annotators({"a": 0.95, "b": 0.5, "c": 0.5}))
    part = "task: visual_nature; reading: nominal; difference: {} and {}"
    for pair in (("a", "b"), ("a", "c")):
        row = got[part.format(*pair), "alpha_difference"]
        # 0.95² - 0.5² = 0.65
        assert row.low <= 0.65 <= row.high
        assert got[part.format(*pair), "alpha_difference_q"].value < 0.05
        assert got[part.format(*pair), "percentage_difference_q"].value < 0.05
        assert row.n == 40
        assert got[part.format(*pair), "percentage_difference"].n == 2 * 40 * 28
    for name in ("alpha", "percentage"):
        row = got[part.format("b", "c"), f"{name}_difference"]
        assert row.low <= 0 <= row.high
        assert got[part.format("b", "c"), f"{name}_difference_q"].value > 0.05
    base = part.split("; difference")[0]
    alone = [got[f"{base}; within: {group}", "alpha"].value for group in "ab"]
    assert got[part.format("a", "b"), "alpha_difference"].value == pytest.approx(alone[0] - alone[1])
    points = [got[f"{base}; within: {group}", "percentage"].value for group in "ab"]
    assert got[part.format("a", "b"), "percentage_difference"].value == pytest.approx(points[0] - points[1])
    assert got[part.format("a", "b").replace("nominal", "ordinal"), "alpha_difference"].value > 0.2


@pytest.mark.django_db
def test_q_is_over_both_measures_of_all_pairs_of_a_task_and_level():
    study = groups_of_annotators({"a": 0.9, "b": 0.7, "c": 0.6}, people=6)
    rows = [row for row in evaluate_agreement(study=study, by="gender", resamples=200) if row.p]
    for level in ("nominal", "ordinal", "interval"):
        family = [row for row in rows if row.level == level]
        assert [(row.group, row.other) for row in family] == [("a", "b"), ("a", "c"), ("b", "c")]
        expected = false_discovery([row.p[name] for row in family for name in ("percentage", "alpha")])
        assert [row.q[name] for row in family for name in ("percentage", "alpha")] == expected.tolist()


@pytest.mark.django_db
def test_too_few_people_have_no_difference_and_those_who_did_not_say_neither():
    assert MIN_PEOPLE == 5, "as the pages say"
    study = groups_of_annotators({"a": 0.9, "b": 0.7, "": 0.7}, people=MIN_PEOPLE, words=10)
    rows = evaluate_agreement(study=study, by="gender")
    for scope in ("between", "difference"):
        found = [(row.group, row.other, row.annotators) for row in rows if row.scope == scope]
        assert set(found) == {("a", "b", None)}
    fewer = groups_of_annotators({"c": 0.9, "d": 0.7}, people=MIN_PEOPLE - 1, words=10, name="fewer")
    assert {row.scope for row in evaluate_agreement(study=fewer, by="gender")} == {"all", "within", "between"}
    alone = visual_study({"hat": [5, 5, 1]}, strata=("origin: Asia", "origin: Asia", "origin: Europe"))
    assert {row.scope for row in evaluate_agreement(study=alone, by="origin")} == {"all", "within", "between"}


@pytest.mark.django_db
def test_strata_of_unidentified_annotators_differ_too():
    strata = ("origin: Asia",) * 3 + ("origin: Europe",) * 3
    said = {"hat": [5, 5, 5, 1, 4, 2], "kind": [1, 1, 1, 1, 5, 4], "poor": [2, 2, 4, 2, 2, 2], "odd": [3] * 6}
    study = visual_study(said, strata=strata)
    got = scores(study, by="origin")
    row = got["task: visual_nature; reading: nominal; difference: Asia and Europe", "percentage_difference"]
    assert row.value == pytest.approx(100 * (7 - 3) / 12)
    assert row.low <= row.value <= row.high
    row = got["task: visual_nature; reading: ordinal; difference: Asia and Europe", "alpha_difference"]
    assert row.n == 3, "all were unsure of one"
    undrawn = {name for part, name in scores(study, resamples=0, by="origin") if part == row.part}
    assert undrawn == {"percentage_difference", "alpha_difference"}, "no p where nothing is drawn"


@pytest.mark.django_db
def test_a_side_of_a_single_unit_has_no_alpha_to_subtract():
    strata = ("origin: Asia",) * 2 + ("origin: Europe",) * 2
    study = factories.study()
    task = factories.task(study, strata=strata)
    for values in ((5, 4, 1, 2), (2, 2), (1, 4)):
        unit = factories.attribute_unit(task)
        for value in values:
            factories.response(unit, values=[value])
    rows = evaluate_agreement(study=study, by="origin", resamples=100)
    (row,) = (row for row in rows if row.scope == "difference" and row.level == "nominal")
    assert (row.alpha, row.p, row.q) == (None, {}, {})
    assert row.percentage == pytest.approx(100 / 3)
    assert (row.units, row.ratings, row.pairs) == (3, 8, 4), "of both groups"
    assert (row.agreeing, row.annotators, row.fleiss_kappa) == (0, None, None), "of one group only"
    rows = evaluate_agreement(study=study, by="origin", clustered=True)
    (row,) = (row for row in rows if row.scope == "difference" and row.level == "nominal")
    assert "alpha" not in {**row.p, **row.q, **row.intervals}
    unit = factories.attribute_unit(task)
    for value in (1, 2, 4, 4):
        factories.response(unit, values=[value])
    (row,) = (
        row
        for row in evaluate_agreement(study=study, by="origin")
        if row.scope == "difference" and row.level == "nominal"
    )
    assert row.alpha is not None, "a second one is enough"


@pytest.mark.django_db
def test_the_command_tells_differences_with_p_and_q():
    groups_of_annotators({"a": 0.95, "b": 0.4}, people=6, words=20)

    def run(*arguments):
        out = io.StringIO()
        call_command("agreement", "planted", *arguments, stdout=out, stderr=io.StringIO())
        return out.getvalue()

    rows = list(csv.DictReader(io.StringIO(run("--by", "gender", "--resamples", "200", "--format", "csv"))))
    (row,) = (row for row in rows if (row["scope"], row["level"]) == ("difference", "nominal"))
    assert (row["group"], row["other"], row["fleiss_kappa"], row["cross_kappa"]) == ("a", "b", "", "")
    assert float(row["alpha_low"]) <= float(row["alpha"]) <= float(row["alpha_high"])
    assert float(row["alpha_p"]) <= float(row["alpha_q"]) < 0.05
    assert all(row["alpha_q"] == "" for row in rows if row["scope"] != "difference")
    shown = run("--by", "gender", "--resamples", "200")
    assert "Scope 'difference'" in shown
    assert "alpha_q" in shown
    assert "_q" not in run("--resamples", "200", "--format", "csv")
    plain = run("--by", "gender", "--resamples", "0", "--format", "csv")
    assert "difference" in plain
    assert "alpha_q" not in plain


def test_the_difference_is_that_of_metrics_stats_differences():
    """The draws of both sides, subtracted one by one."""
    first, second = simulated(12, knows=(0.9, 0.7))
    sides = [rated_pairs.within(side) for side in (first, second)]
    drawn = paired_resampled(*sides, resamples=200, rng=np.random.default_rng(0))
    alphas = [share_and_alpha(sums, VALUES, level="nominal")[1] for sums in drawn]
    points = [float(share_and_alpha(side.total, VALUES, level="nominal")[1]) for side in sides]
    expected = difference(*points, first_samples=alphas[0], second_samples=alphas[1])
    assert found(first, second).alpha == expected
