"""Intervals of agreement, of captions, of groups together and of pull hold the truth of simulated studies
(PROTOCOL §10): small editions of the benchmarks of the same names."""

import numpy as np
import pytest

from benchmarks import (
    coverage_agreement,
    coverage_captions,
    coverage_groups,
    coverage_images,
    coverage_pull,
    coverage_tables,
    simulated_boxes,
    simulated_rules,
    simulated_shares,
)
from benchmarks.coverage_agreement import EACH, READINGS
from benchmarks.coverage_captions import ATTRIBUTES, KINDS
from benchmarks.simulated import Design
from metrics.agreement.stats import coefficients, rated_pairs
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.captions.stats import salience
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR
from metrics.planning.simulation import STEREO
from metrics.pull.stats import pull

LEAST = 0.86
"""95 % less three standard errors of 60 studies."""


class TestAgreement:
    def test_the_truth_is_what_a_very_large_study_finds(self):
        """Of people who answer once each, so that no two pairs share one."""
        design = simulated_shares.Design(items=30_000, of_people=0.8)
        rng = np.random.default_rng(4)
        items = design.of_items * rng.normal(size=(design.items, 1))
        odds = items + np.hypot(design.of_people, 1) * rng.normal(size=(design.items, 2 * EACH))
        odds[:, EACH:] -= coverage_agreement.LESS
        labels = 1 + np.searchsorted(simulated_rules.BOUNDS, odds)
        units = np.repeat(np.arange(design.items), 2 * EACH)
        second = np.tile(np.arange(2 * EACH) >= EACH, design.items)
        counts = np.eye(5, dtype=int)[labels.ravel() - 1]
        true = coverage_agreement.truth(design)
        for level, kept in READINGS:
            table = Ratings(counts[:, kept - 1], units, units, np.full(units.size, UNKNOWN_ANNOTATOR))
            within = coefficients.within(table.of(~second), kept.tolist(), level=level)
            between = coefficients.between(table, second, kept.tolist(), level=level)
            assert within.alpha.value == pytest.approx(true[f"alpha, {level}"], abs=0.012)
            assert between.kappa.value == pytest.approx(true[f"between, {level}"], abs=0.012)
            if level == "nominal":
                assert within.share.value == pytest.approx(true["percentage"], abs=0.008)
                assert between.share.value == pytest.approx(true["percentage between"], abs=0.008)
        table = np.array([np.bincount(row - 1, minlength=5) for row in labels[:, :EACH]])
        found = simulated_rules._rules(table)[0].mean(axis=0)
        assert dict(zip(("consensus", "by mean score"), found, strict=True)) == pytest.approx(
            simulated_rules.truth_of_rules(design), abs=0.01
        )

    def test_the_truth_of_boxes_is_that_of_another_population_too(self):
        one, other = (simulated_boxes.truth_of_boxes(1.0, 0.5, size) for size in (20_000, 40_000))
        assert one == pytest.approx(other, abs=0.005)
        assert 0.5 < one < 1
        assert simulated_boxes.truth_of_boxes(1.0, 1.5, 20_000) < one

    def test_intervals_hold_the_truth_as_often_as_they_say_but_of_a_single_item(self):
        """Three people make an interval no wider than their three answers, which hold the middle of what
        people find in three of four cases at most: docs/statistics.md."""
        design = simulated_shares.DESIGNS["20 items, 12 people"]
        held = coverage_agreement.coverage(design, studies=60, resamples=120, population=20_000)
        assert 0.45 < held.pop(simulated_rules.ONE) < 0.85
        assert {score: share for score, share in held.items() if share < LEAST} == {}

    def test_intervals_that_leave_the_people_out_are_found_out(self, monkeypatch):
        drawn = rated_pairs.resampled

        def of_items_alone(cells, **more):
            nobody = np.full(len(cells.first), UNKNOWN_ANNOTATOR)
            return drawn(rated_pairs.Cells(cells.sums, cells.clusters, nobody, nobody), **more)

        monkeypatch.setattr(coefficients.pairs, "resampled", of_items_alone)
        design = simulated_shares.Design(items=50, of_people=1.5)
        held = coverage_agreement.coverage(design, studies=40, resamples=80, population=20_000)
        assert held["box IoU"] < 0.75


class TestCaptions:
    def test_the_truth_is_what_a_very_large_study_finds(self):
        design = coverage_captions.Design(images=20_000, of_images=1.5)
        groups = coverage_captions.study(design, np.random.default_rng(5))
        true = coverage_captions.truth(design)
        captions = design.images * design.captions
        holding = sum(one.holding.sum(axis=0) for one in groups)
        found = groups[0].holding.sum(axis=0) / captions
        salient = salience.salience(groups[0].matches.sum(axis=0), holding, len(groups) * captions)
        for name, values in (("found", found), ("salience", salient)):
            of_kind = values.reshape(len(KINDS), -1).mean(axis=1)
            assert of_kind == pytest.approx([true[f"{name}, {kind}"] for kind in KINDS], rel=0.02)

    def test_the_truth_of_agreement_is_that_of_another_population_too(self):
        design = coverage_captions.Design(captions=5)
        one, other = (coverage_captions.truth_of_agreement(design, studies) for studies in (150, 200))
        assert one == pytest.approx(other, abs=0.02)

    def test_intervals_hold_the_truth_nearly_as_often_as_they_say(self):
        """Percentiles of a few dozen images are a little too narrow, those of rare attributes more: the least
        that is asked of each is what docs/statistics.md has, less three standard errors."""
        design = coverage_captions.Design(images=40, captions=10, people=20)
        held = coverage_captions.coverage(design, studies=40, resamples=100, population=200)
        assert {score: share for score, share in held.items() if share < 0.78} == {}
        assert held["found, common"] > 0.89

    def test_intervals_of_single_captions_are_found_out(self, monkeypatch):
        """Captions of an image are alike: drawn as if they were not, they make intervals too narrow."""
        drawn = coverage_captions.bootstrap.cluster_weights

        def hardly(clusters, resamples, rng):
            return np.stack(
                [drawn(50 * clusters, 1, rng)[0].reshape(clusters, 50).sum(1) for _ in range(resamples)]
            )

        monkeypatch.setattr(coverage_captions.bootstrap, "cluster_weights", hardly)
        design = coverage_captions.Design(people=15)
        groups = coverage_captions.study(design, np.random.default_rng(1))
        assert groups[0].holding.shape == (15, ATTRIBUTES)
        held = []
        true = coverage_captions.truth(design)
        for rng in np.random.default_rng(2).spawn(30):
            groups = coverage_captions.study(design, rng)
            found = coverage_captions.of_captions(groups, design.captions, resamples=100, rng=rng)
            for name in ("found, common", "salience, common"):
                held += [one.low <= true[name] <= one.high for _, one in found[name]]
        assert np.mean(held) < 0.4


class TestGroups:
    def test_the_truth_is_what_a_very_large_study_finds(self):
        """Of many images and of people of whom there are as many."""
        design = Design(images=1500, people=1000)
        rng = np.random.default_rng(8)
        groups = coverage_groups.study(design, rng, np.zeros(9, dtype=int))
        points = np.array([[side.k[:, STEREO].mean() for side in sides] for sides in groups])
        true = coverage_groups.truth(design)
        assert points[:, 0].mean() == pytest.approx(true["mean of l_stereo"][0], abs=0.02)
        assert points[:, 0] - points[:, 2] == pytest.approx(true["annotators, one group"], abs=0.05)
        assert (points[:, 0] - points[:, 1]).mean() == pytest.approx(true["two models, mean"][0], abs=0.02)
        assert points[6:, 0].mean() - points[:6, 0].mean() == pytest.approx(
            true["region against the rest"][2], abs=0.03
        )
        others = np.delete(points[:, 0], 4).mean()
        assert points[4, 0] - others == pytest.approx(true["group against the rest"][4], abs=0.03)

    @pytest.mark.parametrize("name", ["people differ much", coverage_groups.OF_REGIONS])
    def test_intervals_hold_the_truth_as_often_as_they_say(self, name):
        held = coverage_groups.coverage(name, studies=40, resamples=100)
        assert {score: share for score, share in held.items() if share < 0.84} == {}

    def test_people_who_are_drawn_anew_for_each_group_are_found_out(self, monkeypatch):
        """What one of them does in all groups would then cancel."""

        def forgetful(people, annotators):
            return people._rng.poisson(1.0, size=(people._resamples, len(annotators)))

        monkeypatch.setattr(bootstrap.AnnotatorDraws, "weights", forgetful)
        held = coverage_groups.coverage("people differ much", studies=20, resamples=100)
        assert held["mean of l_stereo"] < 0.8
        assert held["annotators, mean"] < 0.8
        held = coverage_groups.coverage(coverage_groups.OF_REGIONS, studies=20, resamples=100)
        assert held["region against the rest"] < 0.85


def held(name, studies, method, resamples):
    """The coverage of pull in the design of that name."""
    design = coverage_pull.DESIGNS[name]
    return coverage_tables.shares(
        coverage_pull.measured(design, studies=studies, method=method, resamples=resamples)
    )


class TestPull:
    def test_the_truth_is_what_many_groups_find(self):
        each = []
        for number in range(150):
            rng = np.random.default_rng([6, number])
            ((values, _),) = coverage_pull.drawn(rng, [coverage_pull.pictures(rng, 3)], 3, "clustered", 0)
            each.append(values)
        true = coverage_pull.truth(3)
        for name, value in zip(pull.COLUMNS, np.mean(each, axis=0), strict=True):
            assert value == pytest.approx(true[name], abs=0.02)

    @pytest.mark.parametrize("intervals", ["clustered", "bootstrap"])
    def test_intervals_within_a_set_hold_the_truth_as_often_as_they_say(self, intervals):
        found = held("10 attributes", 60, intervals, 150)
        assert {name: share for name, share in found.items() if share < LEAST} == {}

    @pytest.mark.parametrize("intervals", ["clustered", "bootstrap"])
    def test_intervals_of_two_models_hold_their_difference(self, intervals):
        found = held("two models, 10 attributes", 60, intervals, 120)
        assert {name: share for name, share in found.items() if share < LEAST} == {}

    @pytest.mark.parametrize("compared", [False, True])
    def test_clustered_intervals_of_few_groups_hold_the_truth(self, compared):
        found = held("5 groups against others" if compared else "means over 5 groups", 80, "clustered", 0)
        assert {name: share for name, share in found.items() if share < LEAST} == {}

    def test_similarities_that_count_a_prompt_with_itself_are_found_out(self, monkeypatch):
        monkeypatch.setattr(pull, "_recentre_within", lambda drawn, _: drawn)
        found = held("10 attributes", 40, "bootstrap", 150)
        assert found["s_s_s"] < 0.85


class TestImages:
    @pytest.mark.parametrize(
        ("study", "truth"),
        [
            (coverage_images.share(12, 5, 0.1, 0.5), 0.1),
            (coverage_images.share(12, 1, 0.02, 0.1), 0.02),
            (coverage_images.mean_entailment(12, 40), 0.2),
            (coverage_images.brightness(12, 3, of_change=True), 10.0),
            (coverage_images.effect_size((8, 8), 0.8, "normal"), 0.8),
        ],
    )
    def test_clustered_intervals_hold_the_truth(self, study, truth):
        found = coverage_images.coverage(study, truth, method="clustered", studies=80)
        assert found["coverage"] >= LEAST

    def test_intervals_without_width_are_found_out(self):
        """No resample of images without a text of a kind has one."""
        rare = coverage_images.share(12, 1, 0.02, 0.1)
        assert coverage_images.coverage(rare, 0.02, method="bootstrap", studies=80)["coverage"] < 0.5
