"""Combined means of all groups, where the part has another fraction of each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metrics.core.stats import clustered
from metrics.core.stats.influence import total
from metrics.core.stats.scales import SHARE
from metrics.machine_judges.stats.by_group import Ratings, by_group
from metrics.machine_judges.stats.prediction_powered import combine
from metrics.machine_judges.stats.weighted_means import weighted_mean

STUDIES, RIGHT, OVERLAP, PEOPLE = 300, 0.85, 3, 60


def simulated(sizes, rates, rng, *, share=0.1):
    """People's ratings of the part, the judge's of part and rest. The judge is right in 85 % of all items, a
    person in 90 %."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    truth = rng.random(len(groups)) < rates[groups]
    judged = np.where(rng.random(len(groups)) < RIGHT, truth, ~truth)
    inside = np.concatenate([rng.permutation(n) < max(1, round(share * n)) for n in sizes])
    about = np.repeat(np.flatnonzero(inside), OVERLAP)
    who = np.concatenate([rng.permutation(PEOPLE)[:OVERLAP] for _ in range(inside.sum())])
    said = np.where(rng.random(len(about)) < 0.9, truth[about], ~truth[about])

    def ratings(values, items, annotators):
        return Ratings(values.astype(np.float64), np.ones(len(items)), items, annotators, groups[items])

    part, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
    return (
        ratings(said, about, who),
        ratings(judged[part], part, np.full(len(part), -1)),
        ratings(judged[rest], rest, np.full(len(rest), -1)),
    )


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ([300] + [2] * 60, [0.2] + [0.8] * 60),
        ([5] * 40 + [15] * 20, [0.2] * 40 + [0.7] * 20),
        ([1] * 60 + [400], [0.8] * 60 + [0.2]),
    ],
    ids=["one large", "small and middling", "some drawn whole"],
)
def test_the_intervals_hold_the_truth_where_groups_have_other_fractions(sizes, rates):
    number, rate = np.array(sizes), np.array(rates)
    truth = 0.1 + 0.8 * float(number @ rate) / number.sum()
    rng = np.random.default_rng(5)
    held, values, widths = np.zeros(2), [], []
    for _ in range(STUDIES):
        found = by_group(*simulated(number, rate, rng), dict(enumerate(sizes)), SHARE)
        both = combine(found.people, found.part, found.rest, SHARE)
        (alone,) = clustered.intervals([found.people.value], found.people.influences, SHARE)
        held += [each.low <= truth <= each.high for each in (both.interval, alone)]
        values.append((both.value, found.people.value))
        widths.append((both.interval.high - both.interval.low, alone.high - alone.low))
    least = 0.945 - 4 * math.sqrt(0.05 * 0.95 / STUDIES)
    assert (held / STUDIES > least).all()
    points = np.array(values)
    assert (np.abs(points.mean(axis=0) - truth) < 4 * points.std(axis=0) / math.sqrt(STUDIES)).all()
    combined, people = np.mean(widths, axis=0)
    assert combined < 0.95 * people


def ratings(values, items, groups):
    return Ratings(
        np.array(values, dtype=np.float64),
        np.ones(len(values)),
        np.array(items),
        np.full(len(items), -1),
        np.array(groups),
    )


def test_groups_of_many_items_are_strata():
    """A difference between groups is no uncertainty where each has items enough."""
    rng = np.random.default_rng(3)
    groups = np.repeat([0, 1], [20, 40])
    values = groups * 0.2 + 0.8 * rng.random(60)
    people = ratings(values, np.arange(60), groups)
    rest = ratings(rng.random(200), 100 + np.arange(200), np.repeat([0, 1], 100))
    found = by_group(people, people, rest, {0: 120, 1: 140}, SHARE)
    each = [
        weighted_mean(x, np.ones(len(x)), i, np.full(len(i), -1), SHARE)
        for x, i in ((values[groups == 0], np.arange(20)), (values[groups == 1], np.arange(20, 60)))
    ]
    shares = 120 / 260, 140 / 260
    assert found.people.value == pytest.approx(
        sum(w * mean for w, (mean, _) in zip(shares, each, strict=True))
    )
    apart = total([(w, influences) for w, (_, influences) in zip(shares, each, strict=True)])
    mine = found.people.influences.standard_errors()[0][0]
    assert mine == pytest.approx(apart.standard_errors()[0][0], rel=0.005)


@pytest.mark.parametrize(
    ("sizes", "said", "together"),
    [
        ((10, 10), (0, 1), False),
        ((9, 12), (0, 1), True),
        ((6, 6, 6), (0, 0, 1), True),
        ((20, 5, 20), (0, 0, 1), False),
    ],
)
def test_a_stratum_has_ten_items_of_groups_of_about_the_same_size(sizes, said, together):
    """Answers that differ between groups only: strata have no uncertainty, groups that are one have."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    people = ratings(np.array(said)[groups], np.arange(len(groups)), groups)
    everywhere = np.repeat(np.arange(len(sizes)), 20)
    rest = ratings(everywhere % 2, 100 + np.arange(len(everywhere)), everywhere)
    found = by_group(people, people, rest, dict.fromkeys(range(len(sizes)), 40), SHARE)
    assert found.people.influences.images.change.any() == together
    few = by_group(
        people, people, rest.only(np.arange(len(everywhere)) % 20 < 9), {0: 40, 1: 40, 2: 40}, SHARE
    )
    assert few.people.influences.images.change.any()  # nine of each in the rest


def test_a_group_that_was_drawn_whole_counts_with_peoples_mean():
    people = ratings([1, 0, 0], [1, 2, 3], [7, 8, 8])
    part = ratings([0, 1, 0], [1, 2, 3], [7, 8, 8])
    rest = ratings([1, 1], [4, 5], [8, 8])
    found = by_group(people, part, rest, {7: 1, 8: 4}, SHARE)
    assert found.people.value == pytest.approx(0.2)
    both = combine(found.people, found.part, found.rest, SHARE, tuning=1.0)
    assert both.value == pytest.approx(0.2 * 1 + 0.8 * (0 + 1 - 0.5))
    assert found.judge.value == pytest.approx(0.2 * 0 + 0.8 * 0.75)
    # its item varies as the others do: the interval is not that of the other group alone
    assert 1 in found.people.influences.images.labels[found.people.influences.images.change[:, 0] != 0]


@pytest.mark.parametrize(("elsewhere", "of_judge"), [([(1, 4, 7)], 0.2 * 1 + 0.8 * 0.75), ([], 0.75)])
def test_a_group_that_the_judge_did_not_answer_about_in_the_part_counts_with_peoples_mean(
    elsewhere, of_judge
):
    """Nor in the rest, where the judge's score is that of the other group."""
    people = ratings([1, 0, 0], [1, 2, 3], [7, 8, 8])
    part = ratings([1, 0], [2, 3], [8, 8])
    rest = ratings(*zip(*elsewhere, (1, 5, 8), (1, 6, 8), strict=True))
    found = by_group(people, part, rest, {7: 1, 8: 4, 9: 50}, SHARE)  # nobody was asked about the third
    both = combine(found.people, found.part, found.rest, SHARE, tuning=1.0)
    assert both.value == pytest.approx(0.2 * 1 + 0.8 * (0 + 1 - 0.5))
    assert found.judge.value == pytest.approx(of_judge)
    _, alone = weighted_mean([1, 0], [1, 1], [2, 3], [-1, -1], SHARE)
    assert found.part.influences.images.change == pytest.approx(0.8 * alone.images.change)


def test_without_a_group_in_part_and_rest_there_is_nothing_to_combine():
    people = ratings([1, 0], [1, 2], [7, 7])
    assert by_group(people, people, ratings([1], [4], [8]), {7: 2, 8: 1}, SHARE) is None
