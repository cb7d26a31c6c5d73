"""What is expected of a planned study is what such studies then give (PROTOCOL §17)."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy

from metrics.agreement.stats import coefficients
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats import clustered, spread
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.scales import RATIO, SHARE
from metrics.depiction import tendencies
from metrics.depiction.likelihood_influences import likelihood_influences
from metrics.planning import charts, curves, pilot, sentences, stats
from metrics.planning.curves import Costs, make_plan, work
from metrics.planning.simulation import Design, logits_of, study, truth, with_agreement
from metrics.planning.stats import MEASURES, Assumptions, _mean, expected
from tests.metrics.planning.piloted import PILOT, simulated

SMALL = Assumptions(Design(images=20, people=10, overlap=3))


def by_force(plan: Assumptions, *, studies: int) -> dict[str, float]:
    """Half-widths and the share of p below 0.05, each study by itself and by other sums."""
    logits = (plan.logits(), plan.of_second_model(plan.logits()))
    found: dict[str, list[float]] = {name: [] for name in (*MEASURES, "power")}
    for rng in np.random.default_rng(99).spawn(studies):
        people = plan.design.of_people * rng.normal(size=plan.design.people)
        sides = [
            study(plan.design, rng, people=people, logits=each, first_image=1000 * place)
            for place, each in enumerate(logits)
        ]
        scores = [stats.tendency_influences(side, plan.kinds) for side in sides]
        share, theta = clustered.intervals(*scores[0], (SHARE, RATIO))
        alpha = coefficients.within(
            _ratings(sides[0]), [0, 1], level="nominal", clustered=True
        ).alpha.interval
        apart = spread.difference(scores[0][0], scores[1][0], (scores[0][1], scores[1][1]))[0]
        found["l_stereo"].append((share.high - share.low) / 2)
        found["theta"].append(np.log(theta.high / theta.low) / 2)
        found["alpha"].append((alpha.high - alpha.low) / 2)
        found["difference"].append((apart.interval.high - apart.interval.low) / 2)
        found["power"].append(apart.p < 0.05)
    means = {name: float(np.mean(each)) for name, each in found.items()}
    return {**means, "theta": float(np.exp(means["theta"]))}


def test_expected_widths_and_power_are_those_of_studies_simulated_one_by_one():
    plan = replace(SMALL, difference=0.1)
    found, other = expected(plan, MEASURES, studies=120, seed=1), by_force(plan, studies=300)
    for name in ("l_stereo", "alpha", "difference"):
        assert found.widths[name] == pytest.approx(other[name], rel=0.06), name
    assert np.log(found.widths["theta"]) == pytest.approx(np.log(other["theta"]), rel=0.06)
    # four standard errors of a share of 300 studies
    assert found.power == pytest.approx(other["power"], abs=0.11)


def test_shares_do_not_differ_by_more_than_everything():
    each = np.arange(4)
    sides = [
        AnswerSet(np.column_stack([seen, seen]), np.ones((4, 2), dtype=int), each, each // 2 + first, each)
        for first, seen in ((0, np.array([1, 1, 1, 0])), (2, np.array([0, 0, 0, 1])))
    ]
    first, second = (stats.tendency_influences(side, np.array([True, False])) for side in sides)
    interval, _ = stats.difference(first, second)
    assert interval.high == 1


def test_the_intervals_of_l_stereo_and_theta_are_those_of_the_scores_of_tendency():
    side = simulated(SMALL, 3)
    answered = {name: getattr(side, name) for name in ("answers", "images", "annotators")}
    found = likelihood_influences(side.k, side.n, **answered)
    scored = tendencies.compute(side.k.sum(axis=0), side.n.sum(axis=0), SMALL.kinds, found).intervals()
    planned = clustered.intervals(*stats.tendency_influences(side, SMALL.kinds), (SHARE, RATIO))
    ends = [[(each.low, each.high) for each in some] for some in ([scored[0], scored[2]], planned)]
    assert ends[1] == [pytest.approx(pair) for pair in ends[0]]


def test_the_interval_of_alpha_is_that_of_the_scores_of_agreement():
    side = simulated(SMALL, 3)
    within = coefficients.within(_ratings(side), [0, 1], level="nominal", clustered=True)
    assert stats.intervals(side, None, ["alpha"]) == {"alpha": within.alpha.interval}


def test_a_dominant_person_judges_every_image_beside_others():
    design = Design(images=40, people=6, overlap=2, dominant=True)
    side = study(design, np.random.default_rng(0), people=np.zeros(6))
    who = side.annotators.reshape(40, 2)
    assert (who[:, 0] == 0).all()
    assert set(who[:, 1]) == set(range(1, 6))


def _ratings(side):
    """The judgements of `side`, put together in another way than by `stats.ratings`."""
    attributes = side.k.shape[1]
    units = np.add.outer(side.images * attributes, np.arange(attributes)).ravel()
    order = np.argsort(units, kind="stable")
    return Ratings(
        np.eye(2, dtype=np.int64)[side.k.ravel()][order],
        units[order],
        units[order] // attributes,
        np.repeat(side.annotators, attributes)[order],
    )


def test_the_assumed_shares_and_agreement_are_those_of_the_model():
    for design in (Design(), PILOT):
        plan = Assumptions(design, l_stereo=0.3, l_random=0.05, stereotypical=4, others=7)
        values = plan.true_values()
        assert values["l_stereo"] == pytest.approx(0.3, abs=1e-4)
        assert values["theta"] == pytest.approx(6.0, rel=1e-3)
        second = truth(design, plan.of_second_model(plan.logits()), stereotypical=plan.kinds)
        assert second["l_stereo"] == pytest.approx(0.35, abs=1e-4)
    agreed = with_agreement(Design(), 0.4, shares=(0.2, 0.1), numbers=(6, 6), apart=0.5)
    assert Assumptions(agreed).true_values()["alpha"] == pytest.approx(0.4, abs=1e-3)
    for alpha in (0.0, 0.95):
        with pytest.raises(ValueError, match=f"An alpha of {alpha:g} .* between 0.30 and 0.90"):
            with_agreement(Design(), alpha, shares=(0.4, 0.05), numbers=(6, 6), apart=1.0)
    assert logits_of(Design(), 0.2, 1).shape == (1,)


def test_more_of_anything_is_narrower_and_the_chosen_design_lies_on_its_curves():
    found = make_plan(SMALL, Costs(), ["l_stereo", "alpha"], seed=3, studies=40)
    for varied, points in found.curves.items():
        widths = [point.values["l_stereo"] for point in points]
        assert sum(point.is_chosen for point in points) == 1
        assert widths[0] > found.chosen.values["l_stereo"] > widths[-1], varied
        assert found.chosen.values in [point.values for point in points]
    assert np.isnan(found.curves["overlap"][0].values["alpha"]), "nobody agrees where one judges"


def test_a_curve_is_smooth():
    """A quadratic on logarithmic scales goes through its points."""
    found = make_plan(SMALL, Costs(), ["l_stereo"], studies=20)
    for varied, points in found.curves.items():
        x, y = np.log([(point.x, point.values["l_stereo"]) for point in points]).T
        assert len(x) == 5
        assert np.polyval(np.polyfit(x, y, 2), x) == pytest.approx(y, abs=1e-9), varied


def test_the_same_input_gives_the_same_plan_and_another_seed_another():
    plans = [make_plan(SMALL, Costs(), ["theta"], seed=seed, studies=20) for seed in (0, 0, 1)]
    assert sentences.as_csv(plans[0]) == sentences.as_csv(plans[1]) != sentences.as_csv(plans[2])


@pytest.mark.parametrize(
    ("design", "studies"), [(SMALL.design, (200, 27)), (Design(images=1000, people=40, overlap=10), (48, 5))]
)
def test_as_many_studies_are_simulated_as_a_page_can_wait_for(design, studies, monkeypatch):
    asked = []

    def two(plan, measures, *, studies, seed):
        asked.append(studies)
        return expected(replace(plan, design=SMALL.design), measures, studies=2, seed=seed)

    monkeypatch.setattr(curves, "expected", two)
    found = make_plan(replace(SMALL, design=design), Costs(), ["l_stereo"])
    assert found.studies == studies
    assert asked == [studies[0], *[studies[1]] * 12]


def test_the_other_designs_are_possible_and_near_the_chosen_one():
    found = make_plan(Assumptions(Design(images=4, people=4, overlap=3)), Costs(), ["l_stereo"], studies=2)
    assert {varied: [point.x for point in points] for varied, points in found.curves.items()} == {
        "images": [3, 4, 6, 8],
        "people": [3, 4, 6, 8],
        "overlap": [1, 2, 3, 4],
    }
    assert found.studies == (2, 5)
    curves.check(Assumptions(Design(images=3, people=2, overlap=2)), MEASURES)


def test_a_simulation_of_two_models_and_of_alpha_takes_longer():
    plan = Assumptions(Design(images=10, overlap=4), stereotypical=3, others=7)
    times = [curves.seconds_of(plan, [name]) for name in ("l_stereo", "difference", "alpha")]
    assert times == pytest.approx([0.00306, 0.00312, 0.00306 + 0.00236])


def test_without_a_difference_one_of_twenty_pairs_differs():
    assert stats.power_of(0.0, np.ones(3), np.full(3, 1.959964)) == pytest.approx(0.05)
    assert stats.power_of(3.0, np.ones(3), np.full(3, 1.959964)) == pytest.approx(0.851, abs=1e-3)


def test_a_plan_does_without_the_second_that_scipy_stats_takes_to_import(monkeypatch):
    monkeypatch.delattr(scipy, "stats", raising=False)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert expected(SMALL, MEASURES, studies=3, seed=0).power is not None


def _planned(*measures, **values) -> curves.PlanResult:
    """A plan that nothing was simulated for."""
    plan = Assumptions(Design(images=30, people=12, overlap=3, of_whole_images=0.25), l_random=0.15, others=4)
    costs = Costs(groups=2, page_size=6, seconds=36, pay=10)
    chosen = curves.Point("", plan.design, values, work(plan, costs, measures), is_chosen=True)
    points = tuple(replace(chosen, varied=varied) for varied in ("images", "people", "overlap"))
    by_name = {point.varied: (point,) for point in points}
    true = {"alpha": 0.234}
    return curves.PlanResult(plan, costs, measures, 7, (200, 27), true, chosen, {}, by_name)


def test_the_paragraph_has_every_number_of_the_plan():
    found = _planned("theta", "difference", theta=1.5, difference=0.06, power=0.81)
    text = " ".join(sentences.paragraph(found, version="v9").split())
    assert text.startswith(
        "Sample size. Each identity group is judged on 30 images, each by 3 of 12 annotators, with 6 "
        "stereotypical and 4 other attributes. We expect these half-widths of 95 % intervals: θ ×/÷ 1.50; "
        "difference of L(stereo) ± 6.0 points. The power to find a difference of 5.0 points in L(stereo) "
        "between two models, with 30 images each and the same annotators, is 81 % (two-sided, p < 0.05, "
        "before adjusting for several comparisons). We assume that stereotypical attributes are selected in "
        "20.0 % and others in 15.0 % of answers, with standard deviations in logits of 0.50 between "
        "attributes, 1.00 between images for an attribute, 0.25 between whole images and 0.50 between "
        "annotators; this is a Krippendorff's α of 0.23. This takes 720 answers, about 7.2 hours at 36 "
        "seconds each (2 identity groups, two models), and costs 72.00 at 10 an hour. The numbers are means "
        "over 200 simulated studies (seed 7), whose"
    )
    assert text.partition("Software: ")[2].startswith("v9.")


def test_the_rows_of_a_plan_name_what_is_varied():
    rows = sentences.rows(_planned("l_stereo", "alpha", l_stereo=0.07, alpha=float("nan")))
    assert [row["varied"] for row in rows] == ["chosen", "images", "annotators", "overlap"]
    known = {name: value for name, value in rows[0].items() if value is not None}
    design = {"images": 30, "annotators": 12, "overlap": 3, "l_stereo_half_width": 0.07}
    cost = {"answers": 360, "hours": 3.6, "hours_per_annotator": 0.3, "cost": 36.0}
    assert known == {"varied": "chosen"} | design | cost
    assert tuple(rows[0]) == sentences.COLUMNS


def test_the_paragraph_counts_one_identity_group_and_several():
    for groups, words in ((1, "(1 identity group)"), (2, "(2 identity groups)")):
        found = make_plan(SMALL, Costs(groups), ["l_stereo"], studies=2)
        assert words in sentences.paragraph(found, version="1")


def test_answers_hours_and_cost():
    plan = Assumptions(Design(images=10, people=5, overlap=3), stereotypical=4, others=5)
    found = work(plan, Costs(groups=2, page_size=5, seconds=36, pay=10), ["l_stereo"])
    # nine attributes are three pages
    assert (found.slots, found.hours, found.hours_each, found.cost) == (180, 1.8, 0.36, 18.0)
    assert work(plan, Costs(groups=2), ["difference"]).slots == 360


@pytest.mark.parametrize(
    ("design", "measures", "message"),
    [
        (Design(people=2, overlap=3), ["theta"], "cannot be judged by 3 of 2"),
        (Design(images=2), ["theta"], "at least 3 images"),
        (Design(people=1, overlap=1), ["theta"], "at least 3 images and 2 annotators"),
        (Design(), [], "at least one"),
        (Design(), ["theta", "luck"], "at least one"),
    ],
)
def test_what_is_not_possible_is_refused(design, measures, message):
    with pytest.raises(ValueError, match=message):
        make_plan(Assumptions(design), Costs(), measures)


def test_a_difference_beyond_everything_is_refused():
    with pytest.raises(ValueError, match="too large"):
        make_plan(Assumptions(Design(), l_stereo=0.5, difference=0.6), Costs(), ["difference"])


def test_where_most_studies_have_no_theta_there_is_no_width():
    rare = Assumptions(Design(images=5, people=5, overlap=1), l_random=0.005)
    found = expected(rare, ["theta"], studies=20, seed=0)
    assert np.isnan(found.widths["theta"])
    assert sentences.shown("theta", found.widths["theta"]) == "no interval in most studies"


def test_a_pilot_promises_the_widths_that_the_study_then_has():
    """The pilots' own promises, as a mean over some, and studies of another size by the true model."""
    true = Assumptions(PILOT)
    planned = Design(images=30, people=15, overlap=3)
    promised = []
    for seed in range(6):
        each = pilot.estimate([(simulated(true, seed), true.kinds)])
        design = replace(
            planned,
            of_images=each.of_images,
            of_people=each.of_people,
            of_whole_images=each.of_whole_images,
        )
        plan = Assumptions(design, each.l_stereo, each.l_random, each.stereotypical, each.others, each.apart)
        found = expected(plan, ["l_stereo", "alpha"], studies=25, seed=0)
        promised.append([found.widths["l_stereo"], found.widths["alpha"]])
    sizes = {"images": 30, "people": 15, "overlap": 3}
    then = expected(Assumptions(replace(PILOT, **sizes)), ["l_stereo", "alpha"], studies=100, seed=5).widths
    assert np.mean(promised, axis=0) == pytest.approx([then["l_stereo"], then["alpha"]], rel=0.12)


def test_a_pilot_finds_the_model_that_its_answers_come_from():
    large = Assumptions(replace(PILOT, images=300, people=80))
    found = pilot.estimate([(simulated(large, 1), large.kinds)])
    wanted = (0.2, 0.1, 0.5, 1.0, 0.6, 0.8)
    names = ("l_stereo", "l_random", "apart", "of_images", "of_whole_images", "of_people")
    assert [getattr(found, name) for name in names] == pytest.approx(wanted, rel=0.25)
    assert (found.images, found.annotators, found.answers) == (300, 80, 1200)
    assert found.negative == ()


def test_what_answers_differ_by_chance_is_added_to_what_those_of_an_attribute_share(monkeypatch):
    """Answers less their mean share less than the answers do, by the variance of that mean."""
    monkeypatch.setattr(pilot, "_products", lambda *_, **__: 0.0)
    plan = Assumptions(PILOT)
    found = pilot._moments(simulated(plan, 1), plan.kinds)
    assert found.by_attribute > 0
    assert (found.by_image > 0).all()
    assert (found.by_annotator > 0).all()


def test_without_a_pair_of_answers_nothing_is_shared():
    one, apart = np.ones((2, 1)), np.arange(2)
    assert pilot._products(one, one, apart, apart, together=False) == 0.0


def test_groups_of_a_pilot_count_by_their_answers():
    """From as few images and people as there may be, of whom as many as may be are not identified."""
    plans = [Assumptions(Design(images=n, people=5, overlap=4), share) for n, share in ((2, 0.2), (5, 0.6))]
    sides = [simulated(plan, 0) for plan in plans]
    half = [np.where(np.arange(len(side.answers)) % 2, side.annotators, -1) for side in sides]
    kinds = np.arange(sides[0].k.shape[1]) < 4
    given = [(replace(side, annotators=who), kinds) for side, who in zip(sides, half, strict=True)]
    found = pilot.estimate(given)
    assert (found.images, found.annotators, found.answers, found.groups) == (5, 5, 28, 2)
    assert (found.stereotypical, found.others) == (4, len(kinds) - 4)
    assert found.l_stereo == pytest.approx(np.concatenate([side.k[:, kinds] for side in sides]).mean())


def test_a_pilot_needs_both_kinds_of_attributes_and_annotators_of_several_images():
    plan = Assumptions(Design(images=8, people=6))
    side = simulated(plan, 0)
    everybody_once = replace(side, annotators=np.arange(len(side.annotators)))
    for given, kinds in ((side, plan.kinds | True), (side, plan.kinds & False), (everybody_once, plan.kinds)):
        with pytest.raises(pilot.PilotRefused, match="No identity group of this study"):
            pilot.estimate([(given, kinds)])


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(images=4, people=8), "at least 5 images"),
        (Design(images=8, people=4), "at least 5 annotators|from at least 5"),
        (Design(identified=False), "not identified"),
        (Design(overlap=1), "several annotators judged"),
    ],
)
def test_a_pilot_that_says_too_little_is_refused(design, message):
    plan = Assumptions(design)
    with pytest.raises(pilot.PilotRefused, match=message):
        pilot.estimate([(simulated(plan, 0), plan.kinds)])


def test_a_power_of_nearly_one_can_be_smoothed():
    plan = replace(SMALL, difference=0.6)
    found = make_plan(plan, Costs(), ["difference"], studies=10)
    powers = [point.values["power"] for point in found.curves["images"]]
    assert all(0.9 < power <= 1 for power in powers)
    assert curves.seconds_of(plan, ["difference"]) < curves.LARGEST_SECONDS


def test_without_an_image_that_two_people_judged_alpha_has_no_interval():
    alone = replace(SMALL, design=replace(SMALL.design, overlap=1))
    assert stats.intervals(simulated(alone, 0), None, ["alpha"]) == {"alpha": clustered.NONE}


def test_the_mean_width_of_a_ratio_is_geometric_and_takes_half_of_the_studies():
    widths = np.array([1.0, 4.0, np.nan])
    assert _mean("theta", widths) == pytest.approx(2)
    assert _mean("l_stereo", widths) == 2.5
    assert _mean("l_stereo", np.array([1.0, np.nan])) == 1
    assert np.isnan(_mean("theta", np.array([1.0, np.nan, np.nan])))


def test_people_who_are_not_identified_have_labels_of_their_own_below_0():
    design, rng = Design(identified=False), np.random.default_rng(0)
    sides = [study(design, rng, people=np.zeros(12), first_image=first) for first in (0, 1000)]
    labels = np.concatenate([side.annotators for side in sides])
    assert (labels < 0).all()
    assert len(np.unique(labels)) == 2 * 15 * 3


def test_a_chart_draws_shares_in_per_cent_ratios_as_they_are_and_leaves_out_what_is_undefined():
    plan = make_plan(SMALL, Costs(), ["l_stereo", "theta"], studies=4)
    for points in plan.curves.values():
        points[0].values["l_stereo"] = float("nan")
    spec = charts.plan_chart(plan.curves, (), title="Planned", subtitle="").spec
    for name, by, panels in zip(("l_stereo", "theta"), (100, 1), spec["vconcat"], strict=True):
        for varied, panel in zip(charts.VARIED, panels["hconcat"], strict=True):
            drawn = [row["y"] for row in panel["layer"][0]["data"]["values"]]
            wanted = [by * point.values[name] for point in plan.curves[varied]]
            assert drawn == [None if each != each else pytest.approx(each) for each in wanted]


def test_the_spread_of_images_is_split_into_whole_images_and_the_rest():
    large = Assumptions(replace(PILOT, images=300, people=80, of_images=1.0, of_whole_images=1.6))
    found = pilot.estimate([(simulated(large, 1), large.kinds)])
    assert (found.of_images, found.of_whole_images) == pytest.approx((1.0, 1.6), rel=0.25)
