"""Clustered intervals of depictions (PROTOCOL §10): influences are derivatives, all intervals possible."""

import math

import numpy as np
import pytest

from annotation.models import Judgement, Response
from metrics.core.answers import stereotypes
from metrics.core.stats import bootstrap
from metrics.core.stats.scales import Scale
from metrics.depiction import offensiveness, stats, tendencies
from metrics.depiction.likelihood_influences import SumInfluences, likelihood_influences
from metrics.depiction.scores import measures
from metrics.score_runs.rows import Inputs
from metrics.score_runs.shared_resamples import sharing_resamples
from tests.metrics import cast

STEREO = np.array([True, True, False, False, False])
STEP = 1e-6


def answered(rng, images=6, people=5):
    """Each person about each image, twice about some; the last attribute was never shown."""
    image, person = np.repeat(np.arange(images), people), np.tile(np.arange(people), images)
    image, person = np.append(image, image[:4]), np.append(person, person[:4])
    n = (rng.random((len(image), 5)) < 0.8).astype(int)
    n[:, 4] = 0
    return (rng.random(n.shape) < 0.5) * n, n, image, person


def scores(k, n, image, person, weights):
    """l_stereo, l_random, theta and ln theta by the sums of the bootstrap; weights in millionths."""
    top, bottom = bootstrap.weighted_sums(
        k, n, image, person, image_weights=weights[0][None], annotator_weights=weights[1][None]
    )
    likely = stats.mean_over(top / np.where(bottom, bottom, np.nan), STEREO)
    random = stats.mean_over(top / np.where(bottom, bottom, np.nan), ~STEREO)
    return np.concatenate([likely, random, likely / random, np.log(likely / random)])


@pytest.mark.parametrize("by", ["image", "person"])
def test_influences_are_the_derivatives_of_the_weighted_sums(by):
    k, n, image, person = answered(np.random.default_rng(1))
    found = tendencies.compute(
        k.sum(0),
        n.sum(0),
        STEREO,
        likelihood_influences(k, n, answers=np.arange(len(k)), images=image, annotators=person),
    )
    stereo, random, theta = found.values.tolist()
    gradient = [[1, 0, 1 / random, 1 / stereo], [0, 1, -theta / random, -1 / random]]
    influences = found.likelihoods.of(gradient)
    clusters = influences.images if by == "image" else influences.annotators
    number = len(clusters.labels)
    sums = clusters.change * (1 - clusters.mass)[:, None] / math.sqrt((number - 1) / number)
    million = round(1 / STEP)
    for place in range(number):
        ends = []
        for sign in (1, -1):
            weights = [
                np.full(6, 1 if by == "person" else million),
                np.full(5, 1 if by == "image" else million),
            ]
            weights[by == "person"][place] += sign
            ends.append(scores(k, n, image, person, weights))
        assert (ends[0] - ends[1]) / (2 * STEP) == pytest.approx(sums[place], rel=1e-4, abs=1e-6)


def test_the_influences_on_a_mean_are_those_of_each_group_by_its_share():
    rng = np.random.default_rng(2)
    groups = []
    for first in (0, 100):
        k, n, image, person = answered(rng)
        each = likelihood_influences(k, n, answers=np.arange(len(k)), images=image + first, annotators=person)
        groups.append(tendencies.compute(k.sum(0), n.sum(0), STEREO, each))
    found = tendencies.mean(groups)
    assert isinstance(found.likelihoods, SumInfluences)
    both = found.likelihoods.of(np.eye(2))
    apart = [one.likelihoods.of(np.eye(2)) for one in groups]
    assert both.images.change == pytest.approx(np.concatenate([one.images.change for one in apart]) / 2)
    assert both.annotators.change == pytest.approx(sum(one.annotators.change for one in apart) / 2)
    assert both.images.mass.sum() == pytest.approx(1)
    assert [each.many_items for each in (both, *apart)] == [True, False, False]


def tendency(selected, *, identified=True, images=6, people=4):
    """Of `images` x `people` answers that select of one stereotype and one other attribute so many."""
    k = np.zeros((images * people, 2), dtype=int)
    for column, number in enumerate(selected):
        k[np.random.default_rng(column).permutation(len(k))[:number], column] = 1
    n = np.ones_like(k)
    who = np.tile(np.arange(people), images) if identified else -1 - np.arange(len(k))
    influences = likelihood_influences(
        k, n, answers=np.arange(len(k)), images=np.repeat(np.arange(images), people), annotators=who
    )
    return tendencies.compute(k.sum(0), n.sum(0), np.array([True, False]), influences)


@pytest.mark.parametrize("identified", [True, False])
class TestLimits:
    def test_theta_0_has_an_upper_limit(self, identified):
        stereo, _, theta = tendency((0, 8), identified=identified).intervals()
        assert stereo.low == theta.low == 0
        assert 0.1 < stereo.high < 0.4
        assert 0.3 < theta.high < 2
        fewer = tendency((0, 8), identified=identified, images=3).intervals()[2]
        assert fewer.high > theta.high

    def test_an_infinite_theta_is_the_reciprocal_of_one_that_is_0(self, identified):
        turned = tendency((0, 8), identified=identified).intervals()[2]
        found = tendency((8, 0), identified=identified)
        _, random, theta = found.intervals()
        assert found.point.theta == theta.high == math.inf
        assert theta.low > 0
        assert random.high > 0
        same = tendency((0, 8), identified=identified)
        assert same.likelihoods.of([[0.0], [1.0]]).step == found.likelihoods.of([[1.0], [0.0]]).step
        assert theta.low == pytest.approx(1 / turned.high, rel=0.5)

    def test_0_of_0_has_no_interval(self, identified):
        stereo, random, theta = tendency((0, 0), identified=identified).intervals()
        assert math.isnan(theta.low)
        assert math.isnan(theta.high)
        assert stereo.high > 0
        assert random.high > 0

    def test_everything_selected_has_a_lower_limit(self, identified):
        stereo, *_ = tendency((24, 8), identified=identified).intervals()
        assert stereo.low < 1
        assert stereo.high == 1


def test_one_image_or_one_annotator_has_no_interval():
    assert all(math.isnan(one.low) for one in tendency((2, 2), images=1).intervals())
    assert all(math.isnan(one.low) for one in tendency((2, 2), people=1).intervals())


@pytest.mark.django_db
class TestScores:
    def rows(self, study, metric, variant="corrected", **more):
        compute = getattr(measures, f"{metric}_scores")
        return {
            (row.group, row.attribute, row.name): row
            for row in compute(Inputs(study, variant, clustered=True))
        }

    @pytest.mark.parametrize("variant", ["corrected", "published"])
    @pytest.mark.parametrize("metric", ["tendency", "likelihood", "offensiveness"])
    def test_values_are_the_same_and_intervals_possible(self, metric, variant):
        study = cast.depiction_study()
        compute = getattr(measures, f"{metric}_scores")
        plain = compute(Inputs(study, variant))
        found = list(self.rows(study, metric, variant).values())
        assert [(row.name, row.value, row.n) for row in found] == [
            (row.name, row.value, row.n) for row in plain
        ]
        with_interval = [row for row in found if row.name not in ("o_scaled", "unrated", "theta")]
        if metric == "tendency" or variant == "corrected":
            assert with_interval
        for row in with_interval:
            assert row.low <= row.value <= row.high
            assert row.low < row.high
            assert row.low >= 0
            assert row.infinite is row.undefined is None
            assert row.name == "o" or row.high <= 1

    def test_none_of_the_above_dilutes_the_published_l_random_with_certainty(self):
        """It halves every derivative where there is one other attribute, and adds none of its own."""
        study = cast.depiction_study()
        Judgement.objects.filter(option__attribute__text="kind").delete()
        groups = [
            next(iter(measures.measured_groups(Inputs(study, variant, clustered=True), **kept)))
            for variant, kept in (("corrected", {}), ("published", {"none_of_above_selected": False}))
        ]
        one, other = (
            tendencies.compute(each.k, each.n, each.frame.stereotypical, each.likelihoods).likelihoods.of(
                [[0.0], [1.0]]
            )
            for each in groups
        )
        assert other.images.change == pytest.approx(one.images.change / 2)
        assert other.annotators.change == pytest.approx(one.annotators.change / 2)
        assert other.step == pytest.approx(one.step / 2)

    def test_the_interval_of_o_is_that_of_l_stereo_times_the_ratings_even_below_0(self):
        study = cast.depiction_study()
        stereotypes(study).update(offensiveness=[0.5])  # which attributes are marked changes nothing
        stereo = self.rows(study, "tendency")["Mexican", "", "l_stereo"]
        o = self.rows(study, "offensiveness")["Mexican", "", "o"]
        assert [o.value, o.low, o.high] == pytest.approx(
            [r * 0.5 for r in (stereo.value, stereo.low, stereo.high)]
        )
        measured = next(iter(measures.measured_groups(Inputs(study, clustered=True))))
        for mean in (-1.0, 0.0):
            ratings = dict.fromkeys(measures.read_ratings(study, "corrected"), mean)
            point, spread, scale = measures.group_offensiveness(measured, ratings)
            (interval,) = measures.intervals_or_none(spread, [point.value], scale)
            if mean:
                assert [interval.low, interval.high] == pytest.approx([-stereo.high, -stereo.low])
            else:
                assert math.isnan(interval.low)

    def test_people_who_are_not_identified(self):
        study = cast.depiction_study()
        known = self.rows(study, "tendency")["Mexican", "", "l_stereo"]
        Response.objects.update(annotator=None)
        unknown = self.rows(study, "tendency")["Mexican", "", "l_stereo"]
        assert unknown.value == known.value
        assert unknown.low < unknown.value < unknown.high
        assert (unknown.low, unknown.high) != (known.low, known.high)

    def test_metrics_share_influences_and_read_the_answers_once(self, monkeypatch):
        study = cast.depiction_study()
        wanted = [
            (m, v) for m in ("tendency", "likelihood", "offensiveness") for v in ("corrected", "published")
        ]
        apart = [self.rows(study, *each) for each in wanted]
        read, reading = [], measures.read_depiction
        monkeypatch.setattr(
            measures, "read_depiction", lambda *args, **kw: read.append(1) or reading(*args, **kw)
        )
        with sharing_resamples():
            assert [self.rows(study, *each) for each in wanted] == apart
        assert len(read) == 1

    def test_as_many_queries_as_with_resamples(self, django_assert_max_num_queries):
        study = cast.depiction_study()
        counts = []
        for how in ({"clustered": True}, {"resamples": 100}):
            with django_assert_max_num_queries(50) as asked:
                measures.tendency_scores(Inputs(study, **how))
            counts.append(len(asked))
        assert counts[0] == counts[1]

    def test_shared_influences_are_small(self):
        measured = next(iter(measures.measured_groups(Inputs(cast.depiction_study(), clustered=True))))
        kept = measured.without_responses().likelihoods
        assert {kept.answers.dtype, kept.images.dtype, kept.annotators.dtype} == {np.dtype(np.int32)}
        assert len(kept.derivatives) <= len(kept.answers)


@pytest.mark.django_db
def test_a_group_with_one_image_has_values_and_no_interval():
    study = cast.depiction_study()
    Response.objects.filter(unit__image__index=2).delete()
    rows = measures.tendency_scores(Inputs(study, clustered=True))
    assert {row.low for row in rows if row.value is not None} == {None}
    assert len(rows) == 3


RATED = [1.0, 4.0, -1.0, 3.0]
EVERYBODY, NOBODY, ONE = (0, 1), (-1, -1), (-1, 1)


def marked(ratings, people=EVERYBODY):
    """O(id) of three images, judged by two people each. Stereotype 1 is marked once, on image 0 by the second
    person, 2 by the first person alone, 3 never. Before them is another attribute that is always marked."""
    said = [(0,), (0, 1), (0, 2), (0,), (2,), (0,)]
    k = np.array([[True, *(place in one for place in range(4))] for one in said]).astype(int)
    images, person = np.repeat(np.arange(3), 2), np.tile(people, 3)
    found = likelihood_influences(k, np.ones_like(k), answers=np.arange(6), images=images, annotators=person)
    return offensiveness.compute(k.sum(0), np.full(5, 6), np.arange(5) > 0, ratings, found, None)


def lost(clusters):
    """By how much the score changes without each."""
    number = len(clusters.labels)
    return clusters.change[:, 0] * math.sqrt(number / (number - 1))


@pytest.mark.parametrize("people", [EVERYBODY, NOBODY, ONE])
def test_an_attribute_that_one_image_or_one_annotator_brings_in_is_lost_without_them(people):
    """The mean rating is 4/3: 4/3 more than without stereotype 1, and 7/6 less than without 2."""
    flat = [4 / 3, 4 / 3, 4 / 3, 0.0]  # nothing is lost with any of these
    (point, found, scale), (plain, through_l_stereo, narrow) = (
        marked(each, people) for each in (RATED, flat)
    )
    assert point.value == pytest.approx(plain.value) == pytest.approx(1 / 3 * 4 / 3)
    assert (scale, narrow) == (Scale(-1.0, 4.0), Scale(0.0, pytest.approx(4 / 3)))
    first = 1 / 3 * 4 / 3 * 2 / 3  # of what is left without an image
    second = 1 / 3 * -7 / 6 / 2 if people == EVERYBODY else 0.0  # and without a person
    by_image = lost(found.images) - lost(through_l_stereo.images)
    mean = (first + second) / 3
    assert by_image / 1.5 == pytest.approx([first - mean, second / 2 - mean, second / 2 - mean])
    if people == EVERYBODY:
        by_person = lost(found.annotators) - lost(through_l_stereo.annotators)
        assert by_person / 2 == pytest.approx([(second - first) / 2, (first - second) / 2])


def test_a_single_attribute_is_compared_with_all_that_are_rated():
    nan = float("nan")
    _, found, scale = marked([nan, 4.0, nan, -1.0])
    _, through_l_stereo, narrow = marked([nan, 4.0, nan, nan])
    whole = 1 / 3 * (4 - 1.5) * 2 / 3
    assert (lost(found.images) - lost(through_l_stereo.images))[0] / 1.5 == pytest.approx(whole * 2 / 3)
    assert (scale, narrow) == (Scale(-1.0, 4.0), Scale(0.0, 4.0))
    assert marked([nan, 4.0, nan, 2.0])[2] == Scale(0.0, 4.0)
    assert marked([nan, -0.5, nan, -1.0])[2] == Scale(-1.0, 0.0)
    assert math.isnan(marked([nan] * 4)[0].value)
