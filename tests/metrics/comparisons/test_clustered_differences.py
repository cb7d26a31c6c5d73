"""Comparisons and contrasts of depictions with clustered intervals (PROTOCOL §10)."""

import math

import numpy as np
import pytest

from annotation.models import Response
from metrics.comparisons import paired_groups, scores
from metrics.core.stats import clustered
from metrics.core.stats.scales import NUMBER
from metrics.depiction import tendencies
from metrics.depiction.likelihood_influences import likelihood_influences
from metrics.depiction.scores import measures
from metrics.score_runs.rows import Inputs
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories
from tests.metrics.comparisons.test_difference_scores import TEXTS, simulated
from tests.metrics.comparisons.test_offensiveness_differences import rate

METRICS = ("tendency_difference", "offensiveness_difference", "tendency_contrast", "offensiveness_contrast")


@pytest.fixture
def people():
    return [factories.annotator(profile={"gender": gender}) for gender in ("woman", "man", "woman")]


def compared(study, metric="tendency_difference", variant="corrected", how=None, **parameters):
    compute = getattr(scores, f"{metric}_scores")
    parameters = dict.fromkeys(("against", "by", "first", "second"), "") | parameters
    rows = compute(Inputs(study, variant, parameters=parameters, **(how or {"clustered": True})))
    return {(row.group, row.part, row.name): row for row in rows}


@pytest.mark.django_db
class TestComparisons:
    @pytest.mark.parametrize("metric", METRICS[:2])
    @pytest.mark.parametrize("variant", ["corrected", "published"])
    def test_a_model_that_stereotypes_more_is_found(self, people, metric, variant):
        first = simulated("a", {"Mexican": 0.7, "Nepali": 0.3}, people=people)
        simulated(
            "b", {"Mexican": 0.2, "Nepali": 0.3}, people=people, image_set=factories.image_set("b"), seed=1
        )
        rate(3, 3)
        name, ratings = (
            ("l_stereo", 1) if metric == "tendency_difference" else ("o", 3 - (variant == "published"))
        )
        found = compared(first, metric, variant, against="b")
        planted = found["Mexican", "", name]
        assert 0 < planted.low < 0.5 * ratings < planted.high
        assert found["Mexican", "", f"{name}_q"].value < 0.05
        assert found["Nepali", "", name].low < 0 < found["Nepali", "", name].high
        both = found["", "", name]
        assert both.value == pytest.approx((planted.value + found["Nepali", "", name].value) / 2)
        assert both.low < both.value < both.high
        assert found["", "side: first", name].high <= ratings
        drawn = compared(first, metric, variant, {"resamples": 100}, against="b")
        assert {key: row.value for key, row in found.items() if key[2][-2:] not in ("_p", "_q")} == {
            key: row.value for key, row in drawn.items() if key[2][-2:] not in ("_p", "_q")
        }

    def test_the_side_of_a_comparison_has_the_interval_of_its_tendency(self, people):
        first = simulated("a", {"Mexican": 0.7}, people=people)
        simulated("b", {"Mexican": 0.2}, people=people, image_set=factories.image_set("b"), seed=1)
        found = compared(first, against="b")
        for row in measures.tendency_scores(Inputs(first, clustered=True)):
            side = found["Mexican", "side: first", row.name]
            assert (side.value, side.low, side.high) == (row.value, row.low, row.high)

    def test_a_side_of_one_annotator_has_no_interval(self, people):
        study = simulated("a", {"Mexican": 0.5}, people=people)
        found = compared(study, by="gender", first="woman", second="man")
        assert found["Mexican", "side: first", "l_stereo"].low is not None
        for part in ("side: second", ""):
            row = found["Mexican", part, "l_stereo"]
            assert row.value is not None
            assert row.low is row.high is None
        assert found["Mexican", "", "l_stereo_p"].value is None

    def test_two_image_sets(self, people):
        study = simulated("a", {"Mexican": 0.8}, people=people)
        pictures = factories.images(range(50, 56), of=factories.image_set("second"))
        units = factories.page_units(study.tasks.get(), [(picture, TEXTS) for picture in pictures])
        factories.responses(
            (unit, [0, unit.image.index % 2, 0, 0, 1], who) for unit in units for who in people
        )
        found = compared(study, by="image_set", first="test-set", second="second")
        assert found["Mexican", "", "l_stereo"].low > 0
        theta = found["Mexican", "", "log_theta"]
        assert theta.value == -math.inf
        assert theta.low == -math.inf
        assert math.isfinite(theta.high)
        assert found["Mexican", "", "log_theta_p"].value is None

    def test_a_group_and_a_region_against_the_others(self, people):
        study = simulated("a", {"Mexican": 0.8, "Peruvian": 0.8, "Nepali": 0.2}, people=people)
        rate(3, 3)
        for metric, name, times in (("tendency_contrast", "l_stereo", 1), ("offensiveness_contrast", "o", 3)):
            found = compared(study, metric)
            region = found["", "region: Latin America", name]
            assert 0 < region.low < 0.6 * times < region.high
            assert found["", "region: Latin America", f"{name}_q"].value < 0.05
            other = found["Nepali", "", name]
            assert [other.low, other.high] == pytest.approx([-region.high, -region.low])
            itself = found["Mexican", "side: itself", name]
            assert itself.low < itself.value < itself.high <= times

    @pytest.mark.parametrize("metric", METRICS)
    def test_as_many_queries_as_with_resamples_and_fewer_reads(
        self, people, metric, django_assert_max_num_queries, monkeypatch
    ):
        study = simulated("a", {"Mexican": 0.7, "Nepali": 0.3}, people=people, images=2)
        simulated(
            "b", {"Mexican": 0.2, "Nepali": 0.3}, people=people, images=2, image_set=factories.image_set("b")
        )
        rate()
        asked = {"against": "b"} if metric.endswith("difference") else {}
        Response.objects.update(annotator=None)  # so that nothing is drawn once more for all groups
        counts = []
        for how in ({"clustered": True}, {"resamples": 100}):
            with django_assert_max_num_queries(60) as captured:
                alone = compared(study, metric, how=how, **asked)
            counts.append(len(captured))
        assert counts[0] == counts[1]
        with sharing_resamples():
            assert compared(study, metric, how=how, **asked) == alone

    @pytest.mark.parametrize("how", [{"clustered": True}, {"resamples": 0}])
    def test_metrics_that_compare_the_same_sides_read_them_once(self, people, monkeypatch, how):
        study = simulated("a", {"Mexican": 0.7}, people=people, images=3)
        simulated("b", {"Mexican": 0.2}, people=people, images=3, image_set=factories.image_set("b"))
        rate()
        read, reading = [], paired_groups.read_depiction
        for module in (paired_groups, measures):
            monkeypatch.setattr(
                module, "read_depiction", lambda *args, **kw: read.append(1) or reading(*args, **kw)
            )
        with sharing_resamples():
            for metric in METRICS:
                compared(
                    study, metric, how=how, **({"against": "b"} if metric.endswith("difference") else {})
                )
        assert len(read) == 3  # both studies for the differences, this one for the contrasts


STEREO = np.array([True, True, False, False])


def side(rates, seed=0, images=10, people=6, first_image=0):
    """A tendency of two stereotypes and two other attributes, seen as often as `rates` say."""
    rng = np.random.default_rng(seed)
    k = (rng.random((images * people, 4)) < rates).astype(int)
    influences = likelihood_influences(
        k,
        np.ones_like(k),
        answers=np.arange(len(k)),
        images=first_image + np.repeat(np.arange(images), people),
        annotators=np.tile(np.arange(people), images),
    )
    return tendencies.compute(k.sum(0), np.full(4, len(k)), STEREO, influences)


SOME, NONE_STEREO, NONE_RANDOM, NOTHING = (
    (0.5, 0.5, 0.3, 0.3),
    (0, 0, 0.3, 0.3),
    (0.5, 0.5, 0, 0),
    (0, 0, 0, 0),
)


def test_what_images_on_both_sides_do_cancels():
    """Two groups of people who see the same in each image differ by 0 and little more; those of other images
    do not."""
    seen = np.repeat(np.random.default_rng(0).random((12, 4)) < 0.5, 6, axis=0).astype(int)
    sides = [
        tendencies.compute(
            seen.sum(0),
            np.full(4, len(seen)),
            STEREO,
            likelihood_influences(
                seen,
                np.ones_like(seen),
                answers=np.arange(len(seen)),
                images=first_image + np.repeat(np.arange(12), 6),
                annotators=first_person + np.tile(np.arange(6), 12),
            ),
        )
        for first_image, first_person in ((0, 0), (0, 50), (100, 50))
    ]
    same, other = (tendencies.differences_of(sides[0], each)[0] for each in sides[1:])
    assert same.value == other.value == 0
    assert same.p == other.p == 1
    assert 0 < same.interval.high < other.interval.high / 3


class TestLogRatios:
    def test_a_log_ratio_is_the_difference_of_logarithms(self):
        one, two = side(SOME), side(SOME, seed=1, first_image=100)
        *_, found = tendencies.differences_of(one, two)
        assert found.value == pytest.approx(math.log(one.point.theta / two.point.theta))
        assert found.interval.low < found.value < found.interval.high
        assert 0 < found.p < 1
        *_, turned = tendencies.differences_of(two, one)
        assert [turned.interval.low, turned.p] == pytest.approx([-found.interval.high, found.p])

    @pytest.mark.parametrize(("first", "sign"), [(NONE_STEREO, -1), (NONE_RANDOM, 1)])
    def test_where_one_theta_is_0_or_infinite_the_interval_has_one_limit(self, first, sign):
        one, two = side(first), side(SOME, seed=1, first_image=100)
        for pair, way in (((one, two), sign), ((two, one), -sign)):
            *_, found = tendencies.differences_of(*pair)
            assert found.value == way * math.inf
            assert math.isnan(found.p)
            limit, end = (found.interval.high, found.interval.low)[:: int(-way)]
            assert end == way * math.inf
            assert math.isfinite(limit)

    def test_opposite_ends_and_undefined_ones(self):
        nothing, low, high = side(NOTHING), side(NONE_STEREO), side(NONE_RANDOM)
        *_, found = tendencies.differences_of(high, low)
        assert found.value == found.interval.high == math.inf
        assert math.isfinite(found.interval.low)
        for pair in ((low, low), (high, high), (nothing, high), (side(SOME), nothing)):
            stereo, _, found = tendencies.differences_of(*pair)
            assert all(math.isnan(each) for each in (found.value, found.p, found.interval.low))
            assert stereo.interval.low <= stereo.value <= stereo.interval.high

    def test_theta_of_means_is_the_ratio_of_the_means(self):
        groups = [side(SOME, seed, first_image=100 * seed) for seed in range(4)]
        whole = tendencies.mean(groups)
        _, _, theta = whole.intervals()
        assert theta.low < whole.point.theta < theta.high
        by = [[0.0, 1 / whole.point.l_stereo], [0.0, -1 / whole.point.l_random]]
        logs = whole.likelihoods.of(by).columns([1])
        (same,) = clustered.intervals([math.log(whole.point.theta)], logs, NUMBER)
        assert [theta.low, theta.high] == pytest.approx(np.exp([same.low, same.high]))
        assert theta.high / theta.low < min(
            each.high / each.low for each in (one.intervals()[2] for one in groups)
        )
