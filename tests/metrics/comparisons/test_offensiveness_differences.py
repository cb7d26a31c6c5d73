"""Offensiveness of depictions of two models, groups of annotators, identity groups and regions compared."""

import json

import numpy as np
import pytest
from django.core.management import call_command
from scipy.stats import false_discovery_control

from annotation.core.leases import JobState
from annotation.models import Association, IdentityGroup, ProfileAnswer, Study, TaskKind
from metrics.comparisons import paired_groups, scores
from metrics.core.stats.scales import NUMBER
from metrics.depiction.data import read_depiction
from metrics.depiction.scores import measures
from metrics.score_runs import compared_rows, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.compared_rows import ComparedEstimates, Estimates
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories
from tests.metrics.comparisons.test_difference_scores import REGIONS, TEXTS, compared, simulated

pytestmark = pytest.mark.django_db
DIFFERENCE, CONTRAST = "offensiveness_difference", "offensiveness_contrast"


@pytest.fixture
def people():
    return [factories.annotator(profile={"gender": gender}) for gender in ("woman", "man", "woman")]


def rate(first=4, second=2):
    """How offensive 'hat' and 'sombrero' are, of whichever group."""
    for text, rating in (("hat", first), ("sombrero", second)):
        Association.objects.filter(attribute__text=text).update(
            offensiveness=[rating, rating, rating], offensiveness_mean=rating - 1
        )


def two_models(people, first, second, **given):
    """Studies with images by two models; the stereotypes are rated 4 and 2, 3 as a mean."""
    one = simulated("a", first, people=people, **given)
    other = simulated("b", second, people=people, image_set=factories.image_set("b"), seed=1, **given)
    rate()
    return one, other


def test_a_model_that_depicts_more_offensively_is_found_within_its_interval(people):
    one, other = two_models(people, {"Mexican": 0.7, "Nepali": 0.3}, {"Mexican": 0.2, "Nepali": 0.3})
    found = compared(one, DIFFERENCE, against=other.name)
    planted = found["Mexican", "", "o"]
    assert planted.low <= 3 * 0.5 <= planted.high
    assert planted.low > 0
    assert planted.n == 2
    assert found["Mexican", "", "o_q"].value < 0.05
    p, q = ([found[group, "", f"o_{end}"].value for group in ("Mexican", "Nepali")] for end in "pq")
    assert q == pytest.approx(false_discovery_control(p))
    same = found["Nepali", "", "o"]
    assert same.low <= 0 <= same.high
    assert found["Nepali", "", "o_q"].value > 0.05
    # the other way round it is the other sign, and over both groups the mean
    turned = compared(other, DIFFERENCE, against=one.name)
    assert turned["Mexican", "", "o"].value == pytest.approx(-planted.value)
    both = found["", "", "o"]
    assert both.value == pytest.approx((planted.value + same.value) / 2)
    assert both.n == 2
    for side in ("side: first", "side: second"):
        each = [found[group, side, "o"].value for group in ("Mexican", "Nepali")]
        assert found["", side, "o"].value == pytest.approx(sum(each) / 2)


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_both_sides_are_what_the_plain_metric_gives(people, variant):
    studies = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=4)
    found = compared(studies[0], DIFFERENCE, variant=variant, against=studies[1].name)
    for part, study in zip(("side: first", "side: second"), studies, strict=True):
        one, alone = (
            found["Mexican", part, "o"],
            compared(study, "offensiveness", variant=variant)["Mexican", "", "o"],
        )
        assert (one.value, one.n) == (alone.value, alone.n)
        assert one.low <= one.value <= one.high
    first, second = (found["Mexican", part, "o"].value for part in ("side: first", "side: second"))
    assert found["Mexican", "", "o"].value == pytest.approx(first - second)


def test_annotators_who_see_more_are_found_on_the_same_images(people):
    study = simulated("a", {"Mexican": {"woman": 0.8, "man": 0.3}}, people=people, images=12)
    rate()
    found = compared(study, DIFFERENCE, by="gender", first="woman", second="man")
    planted = found["Mexican", "", "o"]
    assert planted.low <= 1.5 <= planted.high
    assert planted.low > 0


def test_a_group_with_no_score_on_one_side_is_left_out_and_not_zero(people):
    """Nothing was marked present in the other model's images of Nepalis."""
    one, other = two_models(
        people, {"Mexican": 0.7, "Nepali": 0.7}, {"Mexican": 0.5, "Nepali": 0.0}, images=3
    )
    found = compared(one, DIFFERENCE, against=other.name)
    assert {group for group, *_ in found} == {"Mexican", ""}
    assert found["", "", "o"].value == found["Mexican", "", "o"].value
    assert found["", "side: first", "o"].n == 1


def test_a_seldom_selected_stereotype_is_undefined_in_some_resamples_and_they_are_counted(people):
    one, other = two_models(people, {"Mexican": 0.9}, {"Mexican": 0.0}, images=3)
    picture = factories.image(index=90, image_set=factories.image_set("b"))
    unit = factories.page_unit(other.tasks.get(), picture=picture, texts=TEXTS)
    factories.response(unit, values=[1, 0, 0, 0, 0], who=people[0])
    row = compared(one, DIFFERENCE, against=other.name)["Mexican", "", "o"]
    assert 0 < row.undefined < 400
    assert row.low <= row.value <= row.high


def test_without_resamples_there_are_values_and_no_p(people):
    one, other = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=2)
    for metric, chosen in ((DIFFERENCE, {"against": other.name}), (CONTRAST, {})):
        rows = compared(one, metric, resamples=0, **chosen)
        assert all(row.low is None and row.undefined is None for row in rows.values())
        assert {name for *_, name in rows} <= {"o"}


def test_what_cannot_be_compared_is_refused_with_the_cure():
    with pytest.raises(ValueError, match="Say what to compare: against=STUDY, or by=gender"):
        compared(factories.study("a"), DIFFERENCE)


def test_studies_without_answers_or_ratings_give_no_rows(people):
    study, other = factories.study("c"), factories.study("d")
    assert compared(study, DIFFERENCE, against=other.name) == {}
    assert compared(study, CONTRAST) == {}
    one = simulated("a", {"Mexican": 0.7, "Nepali": 0.7}, people=people, images=2)
    Association.objects.update(offensiveness=[], offensiveness_mean=None)
    assert compared(one, CONTRAST) == {}


def test_a_group_and_a_region_against_the_others(people):
    study = simulated("a", {"Mexican": 0.8, "Peruvian": 0.8, "Nepali": 0.2}, people=people)
    rate()
    found = compared(study, CONTRAST)
    alone = compared(study, "offensiveness")
    region = found["", "region: Latin America", "o"]
    assert region.low <= 3 * 0.6 <= region.high
    assert region.low > 0
    assert region.n == 2
    assert found["", "region: Latin America", "o_q"].value < 0.05
    assert found["", "region: South Asia", "o"].value == pytest.approx(-region.value)
    values = {group: alone[group, "", "o"].value for group in ("Mexican", "Peruvian", "Nepali")}
    mexican = found["Mexican", "", "o"]
    assert mexican.value == pytest.approx(values["Mexican"] - (values["Peruvian"] + values["Nepali"]) / 2)
    assert mexican.n == 3
    for parts in (
        [(group, "") for group in values],
        [("", f"region: {one}") for one in set(REGIONS.values())],
    ):
        p, q = ([found[*each, f"o_{end}"].value for each in parts] for end in "pq")
        assert q == pytest.approx(false_discovery_control(p))
    itself, others = (found["Mexican", f"side: {side}", "o"] for side in ("itself", "others"))
    same = alone["Mexican", "", "o"]
    assert (itself.value, itself.n) == (same.value, same.n)
    # annotators are drawn once for all groups here, and for each by itself there
    assert (itself.low, itself.high) == pytest.approx((same.low, same.high), abs=0.15)
    assert (others.value, others.n) == (pytest.approx((values["Peruvian"] + values["Nepali"]) / 2), 2)
    assert found["", "region: Latin America; side: others", "o"].value == values["Nepali"]


def test_groups_that_do_not_differ_are_not_found(people):
    study = simulated("a", dict.fromkeys(("Mexican", "Peruvian", "Nepali"), 0.5), people=people)
    rate()
    found = compared(study, CONTRAST)
    assert all(row.value > 0.05 for (*_, name), row in found.items() if name == "o_q")


def test_a_single_group_has_no_others(people):
    study = simulated("a", {"Mexican": 0.7}, people=people, images=2)
    rate()
    assert compared(study, CONTRAST) == {}


def test_a_rating_or_an_answer_of_either_side_makes_it_stale(people):
    one, other = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=2)
    theirs = factories.source("theirs")
    factories.association(text="hat", out_votes=(3, 0, 0), ratings=[1, 1, 1], mean=1.0, from_source=theirs)
    Study.objects.filter(pk=other.pk).update(stereotype_source=theirs)

    def digest(metric=DIFFERENCE):
        chosen = {"against": "b"} if metric.endswith("difference") else {}
        return inputs_digest(Study.objects.get(pk=one.pk), registry.get(metric), chosen)

    known = {digest()}
    tendency, contrast = digest("tendency_difference"), digest(CONTRAST)
    Association.objects.filter(source=theirs).update(offensiveness=[4, 4, 4])
    known.add(digest())
    assert digest("tendency_difference") == tendency, "tendency does not read ratings"
    assert digest(CONTRAST) == contrast, "the other study is no part of it"
    Association.objects.filter(source=one.stereotype_source).update(offensiveness_mean=0.5)
    known.add(digest())
    assert digest(CONTRAST) != contrast
    picture = factories.image(index=9, image_set=factories.image_set("b"))
    factories.response(factories.page_unit(other.tasks.get(), picture=picture), who=people[0])
    known.add(digest())
    assert len(known) == 4
    rule = digest("tendency_difference")
    Study.objects.filter(pk=other.pk).update(stereotype_threshold=3)
    ruled = digest("tendency_difference")
    assert ruled != rule
    Association.objects.filter(source=theirs).update(out_stereotypical=0)
    unruled = digest("tendency_difference")
    assert unruled != ruled
    contrast = digest(CONTRAST)
    IdentityGroup.objects.filter(name="Mexican").update(region="Europe")
    assert digest("tendency_difference") != unruled
    assert digest(CONTRAST) != contrast


def test_a_profile_makes_a_comparison_of_annotators_stale(people):
    one, _ = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=2)

    def digest():
        chosen = {"by": "gender", "first": "woman", "second": "man"}
        return inputs_digest(Study.objects.get(pk=one.pk), registry.get(DIFFERENCE), chosen)

    before = digest()
    ProfileAnswer.objects.filter(annotator=people[0]).update(value="man")
    assert digest() != before


def test_metrics_that_compare_the_same_sides_read_and_draw_them_once(people, monkeypatch):
    one, other = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=2)
    wanted = [
        (metric, variant)
        for metric in ("tendency_difference", DIFFERENCE)
        for variant in ("corrected", "published")
    ]
    apart = [compared(one, metric, 100, variant, against="b") for metric, variant in wanted]
    read = []
    for module in (paired_groups, measures):
        monkeypatch.setattr(
            module, "read_depiction", lambda *args, **kw: read.append(1) or read_depiction(*args, **kw)
        )
    with sharing_resamples():
        assert [compared(one, metric, 100, variant, against="b") for metric, variant in wanted] == apart
        assert len(read) == 4  # each study for its groups one by one, and once more for all together
        compared(one, "tendency", 100)
        compared(one, CONTRAST, 100)
        compared(one, DIFFERENCE, 100, against="b")
        assert len(read) == 6
        compared(other, DIFFERENCE, 100, against="a")
        assert len(read) == 10


def test_it_is_stored_and_printed(people, capsys):
    one, _ = two_models(people, {"Mexican": 0.7}, {"Mexican": 0.2}, images=2)
    run = score_runs.request(
        study=one, metric=DIFFERENCE, variant="corrected", resamples=100, parameters={"against": "b"}
    )
    assert score_runs.compute(run_id=run.pk).state == JobState.DONE
    assert run.scores.filter(part="side: second", group__name="Mexican", name="o").count() == 1
    call_command("scores", "a", metric=DIFFERENCE, set=["against=b"], resamples=100, format="json")
    said = json.loads(capsys.readouterr().out)
    rows = {(row["identity"], row["part"], row["score"]): row["value"] for row in said["rows"]}
    stored = run.scores.get(part="", group__name="Mexican", name="o_q")
    assert rows["Mexican", "", "o_q"] == stored.value
    assert said["parameters"]["against"] == "b"
    call_command("scores", "a", metric=CONTRAST, resamples=0, format="csv")
    assert capsys.readouterr().out.startswith("identity,attribute,part,score,n,k,value,low,high")


def test_a_study_without_depictions_has_nothing_to_compare(capsys):
    factories.task(factories.study("words"), kind=TaskKind.VISUAL_NATURE)
    with pytest.raises(Exception, match="computed from a task of kind depiction"):
        call_command("scores", "words", metric=CONTRAST)


def test_a_mean_of_both_sides_is_of_the_same_groups_in_each_resample():
    """Where a group has no score on one side of a resample, its other side is left out of the mean too."""

    def side(*samples):
        return Estimates(np.array([1.0]), (2,), np.array(samples)[:, None], (NUMBER,))

    pairs = [
        ComparedEstimates(None, "", (2,), side(1.0, np.nan, 3.0), side(1.0, 5.0, 3.0)),
        ComparedEstimates(None, "", (2,), side(2.0, 2.0, np.nan), side(2.0, 2.0, 2.0)),
    ]
    first, second = (
        compared_rows.mean(side) for side in zip(*map(scores._defined_on_both, pairs), strict=True)
    )
    assert first.spread[:, 0].tolist() == second.spread[:, 0].tolist() == [1.5, 2.0, 3.0]
