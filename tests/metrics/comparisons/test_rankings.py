"""The places of groups, as scores and on the comparison page."""

import re
from html import unescape

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Association, Study, TaskKind
from metrics.comparisons.rankings import ranking
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]
TEXTS = ("hat", "sombrero", "kind")
RATES = {"Mexican": 0.9, "Nepali": 0.4, "Peruvian": 0.4}


def pictured(leads=(), *, rates=RATES, images=6):
    """A study of these groups; the stereotypes of each, rated 1 and 3, are seen so often."""
    rng = np.random.default_rng(1)
    source = factories.source("votes")
    study = factories.study("pictures", leads=leads, stereotype_source=source)
    task = factories.task(study, kind=TaskKind.DEPICTION)
    people = [factories.annotator() for _ in range(3)]
    said = []
    for group, rate in rates.items():
        for text, rating in zip(TEXTS[:2], (1, 3), strict=True):
            factories.association(
                text=text, group_name=group, out_votes=(3, 0, 0), ratings=[rating], from_source=source
            )
        pictures = factories.images(range(1, images + 1), group_name=group)
        for unit in factories.page_units(task, [(picture, TEXTS) for picture in pictures]):
            for who in people:
                said.append((unit, [*(rng.random(3) < rate).astype(int).tolist(), 0], who))
    factories.responses(said)
    return study


def ranked(study, variant="corrected", intervals="clustered"):
    found = evaluate(
        study=Study.objects.get(pk=study.pk), metric="tendency_ranking", variant=variant, intervals=intervals
    )
    return {(row.group, row.part, row.name): row for row in found.rows}


def test_groups_have_the_places_that_their_answers_allow():
    found = ranked(pictured())
    top = found["Mexican", "", "rank"]
    assert (top.value, top.low, top.high, top.n) == (1, 1, 1, 3)
    others = [found[name, "", "rank"] for name in ("Nepali", "Peruvian")]
    assert sorted(one.value for one in others) == [2, 3]
    assert all((one.low, one.high) == (2, 3) for one in others)
    assert found["", "", "p"].value < 0.01


def test_offensiveness_is_ranked_with_its_ratings():
    found = ranked(pictured())
    share, o = found["Mexican", "", "l_stereo"], found["Mexican", "", "o"]
    assert o.value == pytest.approx(2 * share.value)  # of 1 and 3
    assert o.low < o.value < o.high
    assert found["Mexican", "", "o_rank"].value == 1
    assert found["", "", "o_p"].value == pytest.approx(found["", "", "p"].value)


def test_scores_have_the_intervals_of_their_own_metrics():
    study = pictured(rates=RATES | {"Nepali": 0.1}, images=3)
    found = ranked(study)
    for metric, name in (("tendency", "l_stereo"), ("offensiveness", "o")):
        own = evaluate(study=study, metric=metric, variant="corrected", intervals="clustered").rows
        for row in [one for one in own if one.name == name]:
            other = found[row.group, "", name]
            assert (other.value, other.low, other.high) == (row.value, row.low, row.high)


def test_a_single_image_has_no_place():
    found = ranked(pictured(rates={"Mexican": 0.9, "Nepali": 0.4}, images=1))
    assert (found["Mexican", "", "rank"].value, found["Mexican", "", "rank"].n) == (None, 0)
    assert found["Mexican", "", "l_stereo"].low is None
    assert (found["", "", "p"].value, found["", "", "p"].n) == (None, 0)


def test_without_intervals_there_are_places_alone():
    study = pictured()
    found = ranked(study, intervals="none")
    assert found["Mexican", "", "rank"].value == 1
    assert {name for _, _, name in found} == {"l_stereo", "rank", "o", "o_rank"}
    assert all((row.low, row.high) == (None, None) for row in found.values())


def test_a_group_with_a_single_stereotype_has_no_place_and_one_group_is_no_ranking():
    study = pictured(rates={"Mexican": 0.9, "Nepali": 0.4}, images=2)
    Association.objects.filter(group__name="Nepali", attribute__text="hat").update(out_stereotypical=0)
    found = ranked(study)
    assert {group for group, _, name in found if name == "l_stereo"} == {"Mexican"}
    assert {group for group, _, name in found if name == "o"} == {"Mexican", "Nepali"}
    run = score_runs.request(study=study, metric="tendency_ranking", variant="corrected")
    score_runs.compute_pending()
    assert ranking(run) is None


def page(client) -> str:
    return " ".join(unescape(client.get(reverse("compare", args=["pictures"])).text).split())


def test_a_lead_sees_the_places_and_whether_groups_differ(client, lead):
    pictured([lead])
    study = Study.objects.get(name="pictures")
    assert "No scores yet" in page(client)
    run = score_runs.request(study=study, metric="tendency_ranking", variant="corrected")
    assert run.resamples == 0  # nothing is resampled
    score_runs.compute_pending()
    shown = page(client)
    assert "They differ by more than chance" in shown
    section = shown[shown.index('id="places"') : shown.index('id="others"')]
    rows = [
        [
            " ".join(re.sub("<[^>]+>", "", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", section)
    ]
    assert [row[0] for row in rows if row[0] not in {"Nepali", "Peruvian"}] == ["Mexican"]
    stored = run.scores.get(name="rank", group__name="Mexican")
    assert rows[0][2:] == ["1", f"1–{stored.high:.0f}" if stored.high > 1 else "1"]
    assert len(rows) == 3
    assert re.match(r"0\.\d\d \[0\.\d\d, 0\.\d\d\] n = 2", rows[0][1])


def test_groups_that_do_not_differ_are_not_called_equal(client, lead):
    pictured([lead], rates={"Mexican": 0.5, "Nepali": 0.5}, images=3)
    study = Study.objects.get(name="pictures")
    score_runs.request(study=study, metric="tendency_ranking", variant="corrected")
    score_runs.compute_pending()
    assert "That does not mean that they are equal" in page(client)


def test_the_api_computes_and_lists_places(client, lead):
    pictured([lead])
    made = client.post(
        "/api/v1/studies/pictures/score-runs",
        {"metric": "tendency_ranking", "variant": "corrected"},
        content_type="application/json",
    )
    assert made.status_code == 202
    score_runs.compute_pending()
    rows = client.get("/api/v1/studies/pictures/scores", {"metric": "tendency_ranking"}).json()
    assert {row["name"] for row in rows["results"]} == {"l_stereo", "rank", "p", "o", "o_rank", "o_p"}
