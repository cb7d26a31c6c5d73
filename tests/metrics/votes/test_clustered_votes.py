"""Clustered intervals of known stereotypes, offensiveness and visual nature (PROTOCOL §2 to §4, §10)."""

import numpy as np
import pytest

from annotation.models import Study
from metrics.score_runs import registry
from metrics.score_runs.rows import Inputs
from metrics.votes.scores import known_stereotypes
from tests.metrics.cast import visual_study
from tests.metrics.votes.test_votes_scores import asked_of_many
from tests.metrics.votes_cast import rating_study, votes_study

pytestmark = pytest.mark.django_db


def rows(study, name, **inputs):
    metric = registry.get(name)
    parameters = {one.name: one.default for one in metric.parameters}
    found = metric.compute(Inputs(Study.objects.get(pk=study.pk), parameters=parameters, **inputs))
    return {(row.name, row.group, row.attribute, row.part): row for row in found}


RATINGS = {"hat": [5, 5, 5], "cap": [5, 4, 4], "poor": [4, 4, 2], "kind": [1, 5, 2], "wise": [1, 1, 3]}


def offensive_study():
    return rating_study({"poor": [4, 4, 1], "festive": [-1, -1, -1]}, {("Nepali", "kind"): [1, 0, -1]})


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (votes_study, "stereotypes"),
        (asked_of_many, "prevalence"),
        (votes_study, "attribute_offensiveness"),
        (offensive_study, "rated_offensiveness"),
        (lambda: visual_study(RATINGS), "visual_nature"),
        (lambda: visual_study(RATINGS), "consensus"),
        (lambda: visual_study(RATINGS), "visual_rules"),
    ],
)
def test_scores_have_clustered_intervals_around_the_same_values(make, name):
    study = make()
    plain, found = rows(study, name), rows(study, name, clustered=True)
    assert {key: row.value for key, row in found.items()} == {key: row.value for key, row in plain.items()}
    bounded = [row for row in found.values() if row.low is not None]
    assert bounded
    assert all(row.low <= row.value <= row.high and row.low < row.high for row in bounded)
    assert {row.low for row in plain.values()} == {None}
    assert registry.get(name).clustering


def test_a_share_of_no_stereotype_is_not_certain_and_a_single_association_has_no_interval():
    found = rows(votes_study(), "stereotypes", clustered=True)
    none = [row for (name, *_), row in found.items() if name == "share" and row.value == 0 and row.n > 1]
    assert none
    assert all(row.low == 0 and row.high > 0.3 for row in none)
    single = [row for (name, *_), row in found.items() if name == "share" and row.n == 1]
    assert single
    assert {row.low for row in single} == {None}


def test_one_attribute_is_as_sure_as_the_others_together():
    found = rows(offensive_study(), "rated_offensiveness", clustered=True)
    festive = found["attribute", "", "festive", ""]
    assert (festive.low, festive.value) == (-1, -1)
    assert festive.high > 0
    hat = rows(visual_study(RATINGS), "visual_nature", clustered=True)["mean_score", "", "hat", ""]
    assert (hat.value, hat.high) == (5, 5)
    assert hat.low < 4.5


def test_percentages_of_consensus_are_a_hundred_times_the_share():
    found = rows(visual_study(RATINGS), "consensus", clustered=True)
    unsure = found["unsure", "", "", ""]
    # none of five: Clopper and Pearson's upper bound or more
    assert (unsure.value, unsure.low) == (0, 0)
    assert 100 * (1 - 0.025 ** (1 / 5)) <= unsure.high < 90


def test_only_annotators_of_its_own_pool_contribute_to_the_share_of_a_pool():
    votes = np.array([[2, 1, 0, 0, 3, 0], [1, 0, 0, 2, 0, 0]])
    passed, counted = known_stereotypes._rule_of_pool(1)(votes)
    assert passed.tolist() == [[False] * 3, [True, True, False]]
    assert counted.all()
