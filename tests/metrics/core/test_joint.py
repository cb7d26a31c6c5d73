"""Many scores at once: the test that all are equal, and the places that each can have."""

from dataclasses import replace

import numpy as np
import pytest

from metrics.core.stats import clustered, influence, joint
from metrics.core.stats.influence import influences

IMAGES, PEOPLE = 15, 12


def simulated(means, rng, *, people=PEOPLE, of_people=1.0, each=3, identified=True):
    """Values and influences of a score of each group: answers of normal numbers, about images of its own,
    by people who answer about images of all groups, `each` about an image."""
    effects = of_people * rng.normal(size=people)
    values, found = [], []
    for group, mean in enumerate(means):
        images = np.repeat(np.arange(IMAGES), each)
        who = np.concatenate([rng.permutation(people)[:each] for _ in range(IMAGES)])
        answers = mean + rng.normal(size=IMAGES)[images] + effects[who] + rng.normal(size=len(who))
        values.append(answers.mean())
        derivatives = (answers - answers.mean())[:, None] / len(answers)
        found.append(
            influences(derivatives, images=1000 * group + images, annotators=who if identified else -1 - who)
        )
    return np.array(values), found


@pytest.mark.parametrize(("groups", "studies"), [(5, 300), (30, 100)])
def test_equal_groups_are_told_apart_as_often_as_chance_allows(groups, studies):
    rng = np.random.default_rng(groups)
    p = np.array([joint.equal_p(*simulated(np.zeros(groups), rng)) for _ in range(studies)])
    assert 0.02 <= (p < 0.05).mean() <= 0.08
    assert 0.4 <= (p < 0.5).mean() <= 0.6


def test_groups_that_differ_are_found_to_differ():
    rng = np.random.default_rng(2)
    p = [joint.equal_p(*simulated(np.linspace(0, 2, 8), rng)) for _ in range(20)]
    assert max(p) < 0.001


@pytest.mark.parametrize(("identified", "near"), [(True, 0.3), (False, 0.01)])
def test_two_groups_give_the_p_of_their_difference(identified, near):
    values, found = simulated([0.0, 0.8], np.random.default_rng(3), identified=identified)
    apart = influence.total([(1.0, found[0]), (-1.0, found[1])])
    [expected] = clustered.two_sided_p([values[0] - values[1]], apart)
    assert joint.equal_p(values, found) == pytest.approx(expected, rel=near)


def test_the_places_of_all_groups_hold_at_once():
    rng = np.random.default_rng(4)
    means = np.array([0.0, 0.0, 0.0, 1.0, 1.2, 5.0])
    lowest, highest = np.array([4, 4, 4, 3, 2, 1]), np.array([6, 6, 6, 3, 2, 1])  # ties can change places
    held = []
    for _ in range(200):
        found = joint.places(*simulated(means, rng))
        held.append(bool(((found.low <= lowest) & (highest <= found.high)).all()))
        assert (found.low <= found.place).all()
        assert (found.place <= found.high).all()
    assert np.mean(held) >= 0.93
    assert found.high[-1] == 1  # 5 is far above all others
    assert found.low[:3].min() > 1


def test_people_who_are_the_same_in_all_groups_cancel():
    """A large effect of people on the level of all groups leaves their order."""
    means = [0.0, 3.0, 6.0]
    known = joint.places(*simulated(means, np.random.default_rng(5), of_people=8.0, each=PEOPLE))
    assert known.low.tolist() == known.high.tolist() == [3, 2, 1]


def test_differences_have_at_least_the_standard_errors_of_single_differences():
    _, found = simulated(np.zeros(3), np.random.default_rng(6))
    errors, freedom = joint._of_pairs(joint._covariance(found))
    for one, other in ((0, 1), (1, 2)):
        apart = influence.total([(1.0, found[one]), (-1.0, found[other])])
        expected, _ = apart.standard_errors()
        assert 0.95 * expected[0] < errors[one, other] < 1.3 * expected[0]
        assert 10 < freedom[one, other] < 2 * IMAGES + PEOPLE


def test_images_of_several_groups_are_the_same_images():
    _, [one, _] = simulated([0.0, 0.0], np.random.default_rng(7))
    covariance = joint._covariance([one, one])
    assert covariance.images[0, 1] == pytest.approx(covariance.images[0, 0])


def test_a_score_without_variance_has_no_place_and_does_not_count():
    values, found = simulated([0.0, 1.0, 2.0], np.random.default_rng(8))
    single = influences([[0.5], [-0.5]], images=[1, 1], annotators=[1, 2])
    places = joint.places([*values, 9.0], [*found, single])
    np.testing.assert_array_equal(places.place, [3, 2, 1, np.nan])
    assert np.isnan([places.low[3], places.high[3]]).all()
    assert joint.equal_p([*values, 9.0], [*found, single]) == joint.equal_p(values, found)
    assert np.isnan(joint.equal_p([1.0, 9.0], [found[0], single]))
    assert joint.places([1.0, 9.0], [found[0], single]).place[0] == 1


def test_scores_that_cannot_vary_are_no_evidence():
    values, found = simulated([0.0, 1.0], np.random.default_rng(8))
    fixed = [one.scaled(0.0) for one in found]
    assert np.isnan(joint.equal_p(values, fixed))
    assert np.isnan(joint.places(values, fixed).place).all()
    assert joint.equal_p([*values, 9.0], [*found, fixed[0]]) == joint.equal_p(values, found)


def test_a_group_without_known_people_leaves_what_is_known_of_the_others():
    rng = np.random.default_rng(10)
    (_, [known, _]), (_, [_, other]) = (simulated([0.0, 0.0], rng, identified=some) for some in (True, False))
    alone = joint._covariance([known, known]).people_freedom
    assert joint._covariance([known, other]).people_freedom == pytest.approx(alone)
    assert joint._covariance([other, other]).people_freedom == np.inf


def test_people_who_are_not_identified_are_no_clusters():
    values, found = simulated([0.0, 4.0], np.random.default_rng(9), identified=False)
    assert joint.equal_p(values, found) < 0.01
    assert joint.places(values, found).place.tolist() == [2, 1]


def test_shapes_that_do_not_fit_are_refused():
    values, found = simulated([0.0, 1.0], np.random.default_rng(10))
    with pytest.raises(ValueError, match="each value needs those of one score"):
        joint.equal_p(values, found[:1])


@pytest.mark.parametrize(("other", "low", "high"), [([3, 3, 4], 1, 1), ([4, 4, 5], 0.01, 1)])
def test_the_same_people_who_answer_alike_or_apart_by_the_same_do_not_make_a_score_certain(other, low, high):
    both = [[3, 3, 4], other]
    found = [
        influences(
            [[(one - np.mean(each)) / 3] for one in each],
            images=[0, 1, 2],
            annotators=[0, 1, 2],
            step=[1 / 3],
        )
        for each in both
    ]
    values = [np.mean(each) for each in both]
    assert low <= joint.equal_p(values, found) <= high
    places = joint.places(values, found)
    assert (places.low.tolist(), places.high.tolist()) == ([1, 1], [2, 2])


@pytest.mark.parametrize(
    ("people", "of_people", "by", "least", "p", "errors", "freedom"),
    [
        (12, 1.0, 0, 0.01, 0.021255416, 0.41532018, 24.276505),
        (12, 0.0, 0, 0.01, 0.0099862502, 0.41883516, 25.220303),
        (4, 0.5, 0, 0.01, 0.056195841, 0.41752754, 28.211228),
        (3, 0.3, 0, 0.01, 0.081873609, 0.33007654, 26.907891),
        (12, 1.0, 0, 0.3, 0.022609087, 0.42439697, 24.461097),
        (5, 6.0, 1, 0.01, 0.90836692, 2.4894584, 7.4560005),
        (8, 1.0, 0.5, 0.01, 0.42849211, 0.5634857, 21.38997),
        (2, 2.0, 0.5, 0.01, 0.46851916, 0.51339764, 2.986656),
    ],
    ids=[
        "usual",
        "people alike",
        "few people",
        "everybody",
        "coarse",
        "people differ",
        "by little",
        "two answer",
    ],
)
def test_no_term_of_the_formulas_is_lost(people, of_people, by, least, p, errors, freedom):
    """Of four groups, by all terms of the formulas. What people add is negative in some by chance, and large
    where their effects do not cancel, as each score is `by` larger than the one before."""
    rng = np.random.default_rng(people)
    values, found = simulated(
        [0, 0.2, 0.4, 0.9], rng, people=people, of_people=of_people, each=min(people, 3)
    )
    found = [replace(one.scaled(1 + by * place), least=np.array([least])) for place, one in enumerate(found)]
    assert joint.equal_p(values, found) == pytest.approx(p, rel=1e-6)
    of_pairs = joint._of_pairs(joint._covariance(found))
    assert [each[0, 1] for each in of_pairs] == pytest.approx([errors, freedom], rel=1e-6)


def test_a_sum_of_squares_is_not_negative_where_its_estimate_is_all_chance():
    assert joint._squared(np.eye(3), np.full((3, 3), 1.6)) == 0
