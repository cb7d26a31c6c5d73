"""Where a group stands among all groups of its study."""

import math

import pytest

from metrics.depiction.queries.identities import score_rows
from metrics.depiction.queries.standings import column_axes, standings
from metrics.models import Score, ScoreRun
from tests import factories
from tests.metrics import cast
from tests.metrics.depiction.test_identity_page import mexican, page_of, score

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", leads=[lead])


def test_the_place_of_a_group_among_all_is_told(study, client, lead):
    assert "standings" not in page_of(client, study, lead)
    score(study)
    run = ScoreRun.objects.get(metric="tendency")
    scores = {one.name: one for one in Score.objects.filter(run=run, group=mexican())}
    # one smaller, one as large, one larger
    names = {"l_stereo": 0.1, "l_random": scores["l_random"].value, "theta": math.inf}
    for name, value in names.items():
        Score.objects.create(run=run, group=factories.group("Welsh"), name=name, value=value, n=2)
    Score.objects.create(run=run, group=factories.group("Thai"), name="theta", value=None, n=2)
    tendency = score_rows(run, None)
    found = {one.column: one for one in standings(tendency, mexican())}
    assert {name: (one.place, one.of, one.others) for name, one in found.items()} == {
        "theta": (2, 2, (math.inf,)),
        "l_stereo": (1, 2, (0.1,)),
        "l_random": (1, 2, (names["l_random"],)),
    }
    [undefined] = standings(tendency, factories.group("Thai"))
    assert (undefined.place, undefined.of, undefined.others) == (None, 2, (scores["theta"].value, math.inf))
    assert found["l_stereo"].axis == column_axes(tendency)["l_stereo"]
    page = page_of(client, study, lead)
    assert f"<dd>{scores['theta'].value:.2f} <span" in page
    assert "place 2 of 2" in page


def test_a_group_without_scores_has_no_standings(study):
    score(study)
    assert (
        standings(score_rows(ScoreRun.objects.get(metric="tendency"), None), factories.group("Welsh")) == []
    )
