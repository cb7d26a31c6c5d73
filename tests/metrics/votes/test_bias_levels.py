"""How biased annotators find associations, as stored scores (PROTOCOL §11)."""

import pytest

from annotation.models import IdentityGroup, Response
from metrics.score_runs import registry
from metrics.score_runs.evaluation import inputs_digest
from metrics.votes.data.own_answers import read_bias_levels
from tests.metrics.votes.test_clustered_votes import rows
from tests.metrics.votes_cast import bias_study

pytestmark = pytest.mark.django_db
SAID = {("old", "grumpy"): [4, 5, 5], ("old", "wise"): [1, 2, 0], ("young", "loud"): [3, 0, 0]}


@pytest.mark.parametrize("inputs", [{"clustered": True}, {"resamples": 300}])
def test_levels_are_means_without_unsure_and_shares_are_of_all_answers(inputs):
    found = rows(bias_study(SAID), "bias_levels", **inputs)
    grumpy, wise = found["association", "old", "grumpy", ""], found["association", "old", "wise", ""]
    assert (grumpy.value, grumpy.n, wise.value, wise.n) == (pytest.approx(14 / 3), 3, 1.5, 2)
    assert 1 <= grumpy.low < grumpy.value < grumpy.high <= 5
    whole = found["mean", "", "", ""]
    assert (whole.value, whole.n) == (pytest.approx(20 / 6), 6)
    assert found["mean", "old", "", ""].value == pytest.approx(17 / 5)
    assert found["mean", "young", "", ""].value == 3
    unsure, five = found["unsure", "", "", ""], found["extremely_biased", "", "", ""]
    assert (unsure.value, unsure.k, unsure.n) == (pytest.approx(3 / 9), 3, 9)
    assert (five.k, five.n) == (2, 9)
    assert 0 <= five.low < five.value < five.high <= 1
    assert found["associations", "", "", ""].k == 3


def test_the_same_people_are_known_again_and_others_are_each_somebody():
    study = bias_study(SAID)
    assert len(set(read_bias_levels(study).annotators.tolist())) == 3
    Response.objects.update(annotator=None)
    assert len(set(read_bias_levels(study).annotators.tolist())) == 9


def test_without_a_level_there_is_no_mean_and_without_answers_nothing():
    found = rows(bias_study({("old", "grumpy"): [0, 0, 0]}), "bias_levels", clustered=True)
    assert {name for name, *_ in found if "association" in name or name == "mean"} == {"associations"}
    assert found["unsure", "", "", ""].value == 1
    assert rows(bias_study({}), "bias_levels", clustered=True) == {}
    found = rows(bias_study({("old", "grumpy"): [0, 0, 0]}), "bias_levels", resamples=50)
    assert found["associations", "", "", ""].value == 0


def test_a_group_that_moves_to_another_region_makes_them_stale():
    study, entry = bias_study(SAID), registry.get("bias_levels")
    before = inputs_digest(study, entry)
    IdentityGroup.objects.update(region="North America")
    assert inputs_digest(study, entry) != before
