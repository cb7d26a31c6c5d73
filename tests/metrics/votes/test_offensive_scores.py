"""How offensive attributes and associations are (PROTOCOL §4), and what each visual rule selects (§2)."""

import pytest

from annotation.models import Association, IdentityGroup, Response, Study
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from metrics.votes.data.own_answers import read_rated_offensiveness
from tests import factories
from tests.metrics.cast import visual_study
from tests.metrics.votes_cast import rating_study, votes_study

pytestmark = pytest.mark.django_db


def scores(study, metric, variant="corrected", resamples=0, seed=0):
    study = Study.objects.get(pk=study.pk)
    found = evaluate(study=study, metric=metric, variant=variant, resamples=resamples, seed=seed)
    return {(row.name, row.group, row.attribute, row.part): row for row in found.rows}


def test_means_of_the_source_by_group_by_region_and_of_stereotypes_only():
    found = scores(votes_study(), "attribute_offensiveness")
    values = {key: (row.value, row.n) for key, row in found.items()}
    groups = dict.fromkeys(group for name, group, _, _ in found if name == "mean" and group)
    assert list(groups) == ["Atlantean", "Mexican", "Nepali", "Peruvian"]
    assert [text for name, _, text, _ in found if name == "attribute"] == ["festive", "kind", "poor", "wet"]
    # rated: poor 3 (twice), festive -1, kind 0, wet 2; 'tall' was not
    assert values["mean", "", "", ""] == (pytest.approx(7 / 5), 5)
    assert values["mean", "", "", "region: Latin America"] == (pytest.approx(5 / 3), 3)
    assert values["mean", "Mexican", "", ""] == (1, 2)
    # by the rule of the study, two of three out-region votes
    assert values["mean_stereotypes", "", "", ""] == (pytest.approx(8 / 3), 3)
    assert values["mean_stereotypes", "Mexican", "", ""] == (3, 1)
    assert ("mean_stereotypes", "Nepali", "", "") not in values
    # each attribute once: poor 3, festive -1, kind 0, wet 2
    assert values["mean_attribute", "", "", ""] == (1, 4)
    assert values["mean_attribute", "", "", "region: Latin America"] == (1, 2)
    assert values["attribute", "", "poor", ""] == (3, 2)
    assert values["association", "Mexican", "poor", ""] == (3, 3)
    assert ("association", "Mexican", "tall", "") not in values


def test_means_of_each_pools_stereotypes():
    found = scores(votes_study(), "attribute_offensiveness")
    values = {
        part: (row.value, row.n)
        for (name, group, _, part), row in found.items()
        if name == "mean" and not group
    }
    assert values["pool: in-region, t=2"] == (pytest.approx(2 / 3), 3)
    assert values["pool: out-region, t=2"] == (pytest.approx(8 / 3), 3)
    assert values["pool: both, t=1"] == (3, 2)
    assert values["region: Latin America; pool: in-region, t=2"] == (1, 2)
    assert "pool: both, t=3" not in values


def test_the_rule_of_the_study_decides_which_are_stereotypes():
    study = votes_study()
    Study.objects.filter(pk=study.pk).update(stereotype_pool="in", stereotype_threshold=3)
    found = scores(study, "attribute_offensiveness")
    assert (found["mean_stereotypes", "", "", ""].value, found["mean_stereotypes", "", "", ""].n) == (3, 1)
    assert found["association", "Mexican", "poor", ""].value == 3


def test_as_published_the_printed_mean_counts_and_else_the_mean_of_the_ratings():
    study = votes_study()
    kind = ("association", "Nepali", "kind", "")
    assert scores(study, "attribute_offensiveness", "published")[kind].value == 0.5
    assert scores(study, "attribute_offensiveness", "corrected")[kind].value == 0


def test_unsure_stays_in_the_mean_and_is_counted_and_the_unrated_are_named():
    found = scores(votes_study(), "attribute_offensiveness")
    unsure = found["unsure", "Nepali", "", ""]
    assert (unsure.value, unsure.k, unsure.n) == (1, 1, 3)
    assert found["mean", "Nepali", "", ""].value == 0
    unrated = found["unrated", "Mexican", "", ""]
    assert (unrated.k, unrated.n) == (1, 3)
    assert found["unrated", "", "", ""].k == 1


@pytest.mark.parametrize("ratings", [[], [1, 2, 3]])
def test_the_digest_changes_with_every_rating(ratings):
    study, entry = votes_study(), registry.get("attribute_offensiveness")
    before = inputs_digest(study, entry)
    Association.objects.filter(group__name="Nepali").update(offensiveness=ratings)
    assert inputs_digest(study, entry) != before


def test_intervals_draw_attributes_with_all_that_they_stand_in():
    found = scores(votes_study(), "attribute_offensiveness", resamples=300)
    for row in found.values():
        if row.low is not None:
            assert row.low <= row.value <= row.high
    # one attribute in one group: there is nothing to draw but itself
    alone = found["mean", "Peruvian", "", ""]
    assert (alone.low, alone.high) == (3, 3)
    whole = found["mean", "", "", ""]
    assert whole.low < whole.value < whole.high
    assert found["attribute", "", "poor", ""].low is None


def test_ratings_of_attributes_stand_for_every_group_they_are_associated_with():
    study = rating_study({"poor": [4, 4, 1], "festive": [-1, 0, -1]}, {("Nepali", "kind"): [1, 0, -1]})
    found = scores(study, "rated_offensiveness")
    values = {key: (row.value, row.n) for key, row in found.items()}
    assert values["attribute", "", "poor", ""] == (3, 3)
    assert values["association", "Nepali", "kind", ""] == (0, 3)
    assert ("association", "Mexican", "poor", "") not in values
    # every rating once
    assert values["mean_attribute", "", "", ""] == (pytest.approx(7 / 9), 9)
    assert values["unsure", "", "", ""] == (2, 9)
    # poor of Mexican and of Peruvian, festive of Mexican, kind of Nepali
    assert values["mean", "", "", ""] == (pytest.approx((9 + 9 - 2 + 0) / 12), 12)
    assert values["mean", "Mexican", "", ""] == (pytest.approx(7 / 6), 6)
    assert values["mean", "", "", "region: Latin America"] == (pytest.approx(16 / 9), 9)
    assert values["mean_stereotypes", "Mexican", "", ""] == (3, 3)
    assert ("mean_stereotypes", "Nepali", "", "") not in values
    assert values["unsure", "Nepali", "", ""] == (1, 3)


def test_the_digest_of_ratings_changes_with_an_answer_a_vote_and_a_region():
    study, entry = rating_study({"poor": [4]}, {("Nepali", "odd"): [1]}), registry.get("rated_offensiveness")
    seen = {inputs_digest(study, entry)}
    factories.response(study.tasks.get().units.first(), values=[2])
    seen.add(inputs_digest(study, entry))
    Association.objects.filter(group__name="Peruvian").update(out_stereotypical=1)
    seen.add(inputs_digest(study, entry))
    IdentityGroup.objects.filter(name="Nepali").update(region="East Asia")
    seen.add(inputs_digest(study, entry))
    assert len(seen) == 4


def test_an_attribute_that_no_group_is_associated_with_counts_by_itself_only():
    found = scores(rating_study({"odd": [2, 2, 2]}, {}), "rated_offensiveness")
    assert {name for name, _, _, _ in found} == {"mean_attribute", "unsure", "attribute"}


def test_intervals_of_ratings_draw_annotators_too():
    study = rating_study({"poor": [4, 4, 1], "festive": [-1, 0, -1]}, {("Nepali", "kind"): [1, 0, -1]})
    found = scores(study, "rated_offensiveness", resamples=300)
    assert found == scores(study, "rated_offensiveness", resamples=300)
    one = found["attribute", "", "poor", ""]
    assert (one.low, one.high) == (1, 4)
    assert all(row.low <= row.value <= row.high for key, row in found.items() if key[0].startswith("mean"))


def test_ratings_of_people_whom_nobody_knows_are_a_cluster_each():
    study = rating_study({"poor": [1, 1], "festive": [1, 1]}, {})
    found = scores(study, "rated_offensiveness")
    assert [text for name, _, text, _ in found if name == "attribute"] == ["festive", "poor"]
    assert len(set(read_rated_offensiveness(study)[0].annotators.tolist())) == 2
    Response.objects.update(annotator=None)
    assert len(set(read_rated_offensiveness(study)[0].annotators.tolist())) == 4


def test_nobody_has_rated_yet():
    assert scores(rating_study({}, {}), "rated_offensiveness", resamples=100) == {}
    assert scores(factories.study(), "attribute_offensiveness", resamples=100) == {}


RATINGS = {"hat": [5, 5, 5], "cap": [5, 4, 4], "poor": [4, 4, 2], "kind": [1, 5, 2], "wise": [1, 1, 3]}


def rules(study, **options):
    found = scores(study, "visual_rules", **options)
    return {
        part.removeprefix("rule: "): row for (name, _, _, part), row in found.items() if name == "selected"
    }


def test_what_each_visual_rule_selects_and_which_one_is_used():
    study = visual_study(RATINGS)
    assert {rule: (row.k, row.n) for rule, row in rules(study).items()} == {
        "all agree": (2, 5),
        "at least 3 agree": (2, 5),
        "at least 2 agree": (3, 5),
        "at least 1 agree": (4, 5),
        "mean score of at least 3.5": (2, 5),
        "mean score of at least 4": (2, 5),
        "mean score of at least 4.5": (1, 5),
        "mean score of at least 5": (1, 5),
    }
    used = {key[3]: row.value for key, row in scores(study, "visual_rules").items() if key[0] == "in_use"}
    assert [part for part, value in used.items() if value] == ["rule: all agree"]


def test_the_rule_of_the_study_is_named_even_if_nobody_could_pass_it():
    found = scores(visual_study(RATINGS, visual_rule=4), "visual_rules")
    assert found["in_use", "", "", "rule: at least 4 agree"].value == 1
    assert found["selected", "", "", "rule: at least 4 agree"].k == 0


def test_the_rule_that_is_used_selects_what_visual_nature_says():
    for rule in (None, 2):
        study = visual_study(RATINGS, visual_rule=rule)
        visual = [row for key, row in scores(study, "visual_nature").items() if key[0] == "visual"]
        found = scores(study, "visual_rules")
        used = next(key[3] for key, row in found.items() if key[0] == "in_use" and row.value)
        assert found["selected", "", "", used].k == sum(row.value for row in visual)


def test_an_attribute_asked_twice_must_pass_each_time_by_every_rule():
    study = visual_study({"hat": [5, 5, 5], "cap": [5, 5, 5]})
    again = factories.attribute_unit(study.tasks.get(), "hat", repeat=1)
    for value in (5, 5, 1):
        factories.response(again, values=[value])
    found = rules(study)
    assert {rule: row.k for rule, row in found.items() if row.k < 2} == {
        "all agree": 1,
        "at least 3 agree": 1,
        "mean score of at least 4": 1,
        "mean score of at least 4.5": 1,
        "mean score of at least 5": 1,
    }
    assert {row.n for row in found.values()} == {2}


def test_shares_of_rules_have_intervals_and_no_rating_no_rows():
    found = scores(visual_study(RATINGS), "visual_rules", resamples=200)
    shares = [row for key, row in found.items() if key[0] == "share"]
    assert all(row.low <= row.value <= row.high for row in shares)
    assert any(row.low < row.high for row in shares)
    assert scores(factories.study(), "visual_rules", resamples=200) == {}
