"""Prediction-powered estimates, beside ppi-python, and their coverage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from metrics.core.stats import clustered
from metrics.core.stats.scales import NUMBER, RATIO, SHARE, Scale
from metrics.machine_judges.stats.prediction_powered import combine
from tests.metrics.machine_judges.partly_judged import Partly, estimates, mean_estimate


def drawn(seed: int, *, labelled: int = 200, rest: int = 1500, noise: float = 1.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3.0, 1.0, labelled + rest)
    judge = 0.5 + 0.8 * truth + noise * rng.normal(size=len(truth))
    return truth[:labelled], judge[:labelled], judge[labelled:]


def as_estimates(people, part, rest):
    def of(values, first):
        return mean_estimate(values, first + np.arange(len(values)), np.full(len(values), -1), NUMBER)

    return of(people, 0), of(part, 0), of(rest, len(part))


@pytest.mark.parametrize("tuning", [0.3, 1.0])
def test_with_a_given_tuning_it_is_what_ppi_python_finds(tuning):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    for seed in range(5):
        arrays = drawn(seed)
        found = combine(*as_estimates(*arrays), NUMBER, tuning=tuning)
        point = np.ravel(ppi_mean_pointestimate(*arrays, lam=tuning))[0]
        low, high = (np.ravel(each)[0] for each in ppi_mean_ci(*arrays, alpha=0.05, lam=tuning))
        assert found.value == pytest.approx(point, rel=1e-12)
        # theirs is normal with variances of n, ours t with those of the jackknife
        se, _ = found.influences.standard_errors()
        assert se[0] == pytest.approx((high - low) / 2 / 1.959964, rel=0.01)
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (low, high), abs=0.03 * (high - low)
        )


@pytest.mark.parametrize("noise", [0.3, 1.0, 4.0])
def test_tuned_it_is_near_what_ppi_python_tunes(noise):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    arrays = drawn(7, noise=noise)
    found = combine(*as_estimates(*arrays), NUMBER)
    low, high = (np.ravel(each)[0] for each in ppi_mean_ci(*arrays, alpha=0.05))
    point = np.ravel(ppi_mean_pointestimate(*arrays))[0]
    # theirs takes the judge's variance from part and rest together
    assert found.value == pytest.approx(point, abs=0.1 * (high - low))
    assert found.interval.high - found.interval.low == pytest.approx(high - low, rel=0.03)
    others = [combine(*as_estimates(*arrays), NUMBER, tuning=each) for each in np.linspace(0, 1, 21)]
    least = found.influences.standard_errors()[0][0]
    assert all(least <= each.influences.standard_errors()[0][0] + 1e-12 for each in others)


def test_a_judge_that_says_the_opposite_is_not_relied_on():
    people, part, rest = drawn(1)
    found = combine(*as_estimates(people, -part, -rest), NUMBER)
    own, *_ = as_estimates(people, part, rest)
    assert (found.tuning, found.value) == (0.0, own.value)
    assert found.interval == clustered.intervals([own.value], own.influences, NUMBER)[0]
    # nor more than a person, who varies five times as much
    assert combine(*as_estimates(5 * people, part, rest), NUMBER).tuning == 1.0


STUDIES = 300


def simulated(design: Partly, seed: int):
    """The combined and people's interval and value of each of many studies."""
    rng = np.random.default_rng(seed)
    for _ in range(STUDIES):
        people, part, rest = estimates(design, rng)
        (alone,) = clustered.intervals([people.value], people.influences, SHARE)
        yield combine(people, part, rest, SHARE), alone


@pytest.mark.parametrize(
    "design",
    [
        Partly(of_images=3.0, skill=2.0),
        Partly(of_images=3.0, skill=2.0, bias=3.0),
        Partly(level=-4.0, bias=2.0),
        Partly(skill=0.0),
    ],
    ids=["skilled", "biased", "rare", "useless"],
)
def test_the_intervals_hold_the_truth_and_the_judge_does_not_bias(design):
    found, truth = list(simulated(design, seed=11)), design.truth
    held = sum(each.interval.low <= truth <= each.interval.high for each, _ in found)
    # four standard errors of a binomial share of 0.95, and room for a small sample
    assert held / STUDIES > 0.945 - 4 * math.sqrt(0.05 * 0.95 / STUDIES)
    values = np.array([each.value for each, _ in found])
    assert abs(values.mean() - truth) < 4 * values.std() / math.sqrt(STUDIES)
    widths = np.array([[each.interval.high - each.interval.low, one.high - one.low] for each, one in found])
    combined, alone = widths.mean(axis=0)
    assert combined < 1.02 * alone
    if design.skill == 2.0 and not design.bias:
        assert combined < 0.85 * alone
        # and not only the intervals: the estimates themselves vary less
        only_people = [combine(*each, SHARE, tuning=0.0).value for each in _drawn_again(design)]
        assert values.std() < 0.9 * np.std(only_people)


def _drawn_again(design: Partly):
    rng = np.random.default_rng(11)
    return [estimates(design, rng) for _ in range(STUDIES)]


def test_the_interval_of_a_biased_judge_alone_does_not_hold_the_truth():
    design = replace(Partly(), bias=2.0)
    rng, truth = np.random.default_rng(2), design.truth
    for _ in range(20):
        _, _, rest = estimates(design, rng)
        (alone,) = clustered.intervals([rest.value], rest.influences, SHARE)
        assert alone.low > truth


def test_a_combined_share_never_leaves_its_scale():
    people = mean_estimate([1, 0, 0, 0, 0, 0, 0, 0], np.arange(8), np.full(8, -1), SHARE)
    part = mean_estimate([1, 1, 0, 0, 0, 0, 0, 0], np.arange(8), np.full(8, -1), SHARE)
    rest = mean_estimate([0] * 39 + [1], np.arange(8, 48), np.full(40, -1), SHARE)
    found = combine(people, part, rest, SHARE, tuning=1.0)
    assert (found.value, found.interval.low) == (0.0, 0.0)
    assert 0.0 < found.interval.high < 1.0
    opposite = [replace(each, value=1 - each.value) for each in (people, part, rest)]
    above = combine(*opposite, SHARE, tuning=1.0)
    assert (above.value, above.interval.high) == (1.0, 1.0)


@pytest.mark.parametrize("scale", [SHARE, RATIO, NUMBER, Scale(1.0, 5.0)])
def test_a_judge_that_always_says_the_same_leaves_the_interval_of_people(scale):
    first, width = (0.0, 1.0) if scale.width == 1 else (scale.low, scale.width)
    about, nobody = np.arange(5), np.full(5, -1)
    people = mean_estimate(first + width * np.array([0.2, 0.5, 0.9, 0.4, 0.1]), about, nobody, scale)
    judge = mean_estimate(np.full(5, first + width / 2), about, nobody, scale)
    found = combine(people, judge, judge, scale, tuning=1.0).interval
    (alone,) = clustered.intervals([people.value], people.influences, scale)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_where_nothing_varies_it_is_people_alone():
    nothing = mean_estimate([0] * 8, np.arange(8), np.full(8, -1), SHARE)
    rest = mean_estimate([0, 1] * 8, np.arange(8, 24), np.full(16, -1), SHARE)
    found = combine(nothing, nothing, rest, SHARE)
    (alone,) = clustered.intervals([0.0], nothing.influences, SHARE)
    assert (found.value, found.tuning, found.interval) == (0.0, 0.0, alone)
    single = mean_estimate([2.0], [99], [-1], Scale(1.0, 5.0))
    assert combine(single, single, rest, Scale(1.0, 5.0)).tuning == 0.0
    undefined = replace(rest, value=float("nan"))
    assert combine(rest, undefined, rest, SHARE, tuning=1.0).value == rest.value
    unknown = replace(rest, influences=rest.influences.scaled(np.nan))
    assert combine(unknown, rest, nothing, SHARE).tuning == 0.0
    assert combine(nothing, rest, rest, SHARE, tuning=1.0).interval is clustered.NONE


def test_an_item_in_part_and_rest_has_one_change():
    """As an attribute that is rated for two groups."""
    people = mean_estimate([0, 1, 1], [4, 5, 6], [-1] * 3, NUMBER)
    part = mean_estimate([0, 1, 0], [4, 5, 6], [-1] * 3, NUMBER)
    rest = mean_estimate([0, 1, 1], [5, 6, 7], [-1] * 3, NUMBER)
    found = combine(people, part, rest, NUMBER)
    each = [one.influences.images.change.ravel() for one in (people, part, rest)]
    ours, here = np.append(each[0], 0), np.append(each[1], 0) - np.append(0, each[2])
    assert found.influences.images.labels.tolist() == [4, 5, 6, 7]
    assert found.influences.images.change.ravel() == pytest.approx(ours - found.tuning * here)
    assert found.tuning == pytest.approx(max(0, ours @ here / (here @ here)))
