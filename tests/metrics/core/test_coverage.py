"""Intervals hold the truth of simulated studies (PROTOCOL §10): a small edition of benchmarks/coverage.py."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import coverage as one_group
from benchmarks import coverage_groups, coverage_shares, simulated_shares
from benchmarks.coverage import coverage, false_discoveries, measured
from benchmarks.simulated import DESIGNS, Design, truth
from metrics.core.stats import bootstrap, differences
from metrics.planning.simulation import LOGITS, STEREO, study

SIZE = {"resamples": 150}


def test_the_truth_is_what_a_very_large_study_finds():
    design = Design(images=3000, people=400, of_people=1.0)
    rng = np.random.default_rng(0)
    side = study(design, rng, people=design.of_people * rng.normal(size=400))
    found = side.k.mean(axis=0)
    assert found[STEREO].mean() == pytest.approx(truth(design)["l_stereo"], abs=0.02)
    plain = truth(Design(of_images=0.0, of_people=0.0))
    rates = 1 / (1 + np.exp(-LOGITS))
    assert plain["l_stereo"] == pytest.approx(rates[STEREO].mean())
    assert plain["theta"] == pytest.approx(rates[STEREO].mean() / rates[~STEREO].mean())


@pytest.mark.parametrize("name", ["as ViSAGe: 15 images, 12 people", "people not identified"])
def test_intervals_hold_the_truth_as_often_as_they_say(name):
    """Of 120 studies 95 % less three standard errors, 89 %, is the least that chance leaves. Of agreement of
    people whom nobody knows it is less: images alone are drawn (docs/statistics.md)."""
    held = coverage(DESIGNS[name], studies=120, **SIZE)
    if not DESIGNS[name].identified:
        assert min(held.pop(score) for score in ("percentage", "alpha", "kappa")) > 0.78
    assert {score: share for score, share in held.items() if share < 0.89} == {}


def test_intervals_that_leave_the_people_out_are_found_out(monkeypatch):
    """The test above can fail: resampling images alone is too sure where people differ."""

    def of_images_alone(k, n, answers, images, annotators, *, image_weights, rng, annotator_draws):
        ones = np.ones((len(image_weights), len(answers)), int)
        return bootstrap.weighted_sums(
            k[answers],
            n[answers],
            images,
            np.arange(len(answers)),
            image_weights=image_weights,
            annotator_weights=ones,
        )

    monkeypatch.setattr(bootstrap, "sums_over_annotators", of_images_alone)
    assert coverage(DESIGNS["people differ much"], studies=120, **SIZE)["l_stereo"] < 0.8


def test_where_nothing_differs_hardly_anything_is_found():
    """The false discovery rate of 5 %, and three standard errors of 25 families."""
    found = false_discoveries(DESIGNS["as ViSAGe: 15 images, 12 people"], families=25, groups=6, **SIZE)
    assert found["difference of l_stereo"] < 0.08
    assert found["any q"] <= 0.18


CLUSTERED = {"method": "clustered", "resamples": 0}


@pytest.mark.parametrize(
    "name", ["as ViSAGe: 15 images, 12 people", "people differ much", "neither images nor people differ"]
)
def test_clustered_intervals_hold_the_truth_and_are_no_wider_than_they_must_be(name):
    """Of 150 studies 95 % less three standard errors is 89 %. The standard deviation of the estimates, which
    the oracle knows, has an error of 6 % itself."""
    found = measured(DESIGNS[name], studies=150, **CLUSTERED)
    assert {score: row["coverage"] for score, row in found.items() if row["coverage"] < 0.88} == {}
    assert {score: row["width"] for score, row in found.items() if not 0.8 < row["width"] < 1.35} == {}
    assert all(row["none"] == 0 for row in found.values())
    stereo = found["difference of l_stereo"]
    assert stereo["found"] > stereo["power"] - 0.2


def test_clustered_intervals_that_leave_the_people_out_are_found_out(monkeypatch):
    plain = one_group.influences_of
    monkeypatch.setattr(
        one_group, "influences_of", lambda side: plain(replace(side, annotators=-1 - side.annotators))
    )
    found = measured(DESIGNS["people differ much"], studies=100, **CLUSTERED)
    assert found["l_stereo"]["coverage"] < 0.8
    assert found["l_stereo"]["width"] < 0.7


def test_clustered_p_is_below_5_percent_in_5_of_100_where_nothing_differs():
    """Of 300 comparisons 5 % and three standard errors are 9 %."""
    found = false_discoveries(DESIGNS["60 images, 30 people"], families=30, groups=10, **CLUSTERED)
    assert 0.015 < found["difference of l_stereo"] < 0.09
    assert found["any q"] <= 0.18


def test_clustered_intervals_of_contrasts_and_means_hold_the_truth():
    found = coverage_groups.measured("people differ much", studies=60, **CLUSTERED)
    assert {score: row["coverage"] for score, row in found.items() if row["coverage"] < 0.86} == {}
    assert max(row["width"] for row in found.values()) < 1.5


def test_clustered_intervals_with_other_people_for_each_group_are_found_out(monkeypatch):
    """What one of them does in all groups would then cancel."""
    plain, numbers = coverage_groups.influences_of, itertools.count()
    monkeypatch.setattr(
        coverage_groups,
        "influences_of",
        lambda side: plain(replace(side, annotators=side.annotators + 1000 * next(numbers))),
    )
    found = coverage_groups.measured("people differ much", studies=25, **CLUSTERED)
    assert found["mean of l_stereo"]["coverage"] < 0.8
    assert found["group against the rest"]["width"] > 1.5


def test_a_bias_that_was_planted_is_found_where_it_is():
    """Of ten groups two were planted, by 2 logits: their q alone is below 5 %, and the interval holds it."""
    design = Design(images=30, people=12)
    p, bounds = [], []
    for group in range(10):
        rng = np.random.default_rng([7, group])
        people = design.of_people * rng.normal(size=12)
        planted = LOGITS - (2.0 * STEREO if group < 2 else 0.0)
        first = study(design, rng, people=people)
        other = study(design, rng, people=people, logits=planted, first_image=1000)
        (x, _), (y, _) = differences.paired_likelihoods(first, other, resamples=400, rng=rng)
        found = differences.difference(
            first.k[:, STEREO].mean(),
            other.k[:, STEREO].mean(),
            first_samples=x[:, STEREO].mean(axis=1),
            second_samples=y[:, STEREO].mean(axis=1),
        )
        p.append(found.p)
        bounds.append((found.interval.low, found.interval.high))
    true = truth(design)["l_stereo"] - truth(design, LOGITS - 2.0 * STEREO)["l_stereo"]
    assert [q < 0.05 for q in differences.false_discovery(p)] == [True] * 2 + [False] * 8
    assert all(low <= true <= high for low, high in bounds[:2])


def test_the_truth_of_shares_is_what_a_very_large_study_finds():
    design = simulated_shares.Design(items=20_000, people=400, of_people=1.0)
    agreed, points, _ = simulated_shares.study(design, np.random.default_rng(3))
    truth, said = simulated_shares.truth(design), agreed[:, :3].sum(axis=1)
    for number in (1, 2, 3):
        assert (said >= number).mean() == pytest.approx(truth[f"{number} of 3"], abs=0.03)
    both = (said >= 2) & (agreed[:, 3:].sum(axis=1) >= 2)
    assert both.mean() == pytest.approx(truth["2 of 3 in both pools"], abs=0.03)
    assert agreed.mean() == pytest.approx(truth["likelihood"], abs=0.03)
    assert points.mean() == pytest.approx(truth["mean rating"], abs=0.15)


@pytest.mark.parametrize("name", ["100 items, 12 people", "people not identified"])
def test_shares_and_means_of_ratings_hold_the_truth_as_often_as_they_say(name):
    """Of 100 studies 95 % less three standard errors, 88 %, is the least that chance leaves. Of a stereotype
    source it is less: items alone are drawn (docs/statistics.md)."""
    held = coverage_shares.coverage(simulated_shares.DESIGNS[name], studies=100, resamples=150)
    assert 0.65 < min(held.pop(score) for score in ("2 of 3, source", "mean rating, source")) < 0.9
    # three people make an interval no wider than their three answers
    assert 0.45 < held.pop("rating of one item") < 0.85
    assert {score: share for score, share in held.items() if share < 0.88} == {}


def test_shares_whose_people_are_not_drawn_are_found_out(monkeypatch):
    drawn = coverage_shares.passing_shares.resampled_shares

    def of_items_alone(units, labels, annotators, **more):
        return drawn(units, labels, np.zeros(len(labels)), **more)

    monkeypatch.setattr(coverage_shares.passing_shares, "resampled_shares", of_items_alone)
    held = coverage_shares.coverage(simulated_shares.DESIGNS["people differ much"], studies=60, resamples=150)
    assert held["2 of 3"] < 0.8
