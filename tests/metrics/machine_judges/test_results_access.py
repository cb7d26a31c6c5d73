"""Who sees the results of a judge, and the API of them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import TaskKind
from generation.models import Run
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics import cast
from tests.metrics.machine_judges.judged import judge
from tests.metrics.machine_judges.stored import agreement, score_run
from tests.metrics.machine_judges.test_results_page import ALL, address, with_agreement

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="hats", leads=[lead])


@pytest.fixture
def run(study):
    return judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), name="j")


def test_only_leads_of_the_study_and_admins_see_it(client, study, run):
    assert client.get(address(run)).status_code == 200
    other = factories.study("other", leads=[factories.user("both")])
    study.leads.add(other.leads.get())
    for who, status in ((None, 404), ("both", 200), ("admin", 200)):
        user = factories.user(admin=who == "admin") if who != "both" else other.leads.get()
        client.force_login(user)
        for url in (address(run), f"/api/v1/studies/hats/judges/{run.pk}"):
            assert client.get(url).status_code == status, (who, url)
    elsewhere = reverse("judge", args=["other", run.pk])
    assert client.get(elsewhere).status_code == 404, "it is about items of another study"
    Run.objects.filter(pk=run.pk).update(
        recipe={**run.recipe, "design": {"purpose": "candidates", "study": "hats"}}
    )
    assert client.get(address(run)).status_code == 404, "it is no judge"


def test_the_api_has_the_numbers_of_the_page(lead, study, run):
    women = agreement(f"{ALL}; annotators: woman", 40.0, 80.0, (-40.0, -50.0, -30.0), q=0.01)
    with_agreement(
        study, run, [*women, ("confusion", "people: 1; judge: 0", 0.75, {"n": 8, "k": 6})], by="gender"
    )
    score_run(study, run, "judge_scores", [("theta", "of: judge", float("inf"), {})])
    program = Program(lead, "read")
    found = program("GET", f"studies/hats/judges/{run.pk}?by=gender").json()
    assert found["run"]["name"] == "j"
    assert found["simulated"] is True
    assert found["seconds"] == 2.0
    [listed] = program("GET", "studies/hats/judges").json()["results"]
    assert listed["seconds"] == 2.0
    assert found["overall"][0]["judge_percentage"]["low"] == 58.0
    assert [row["annotators"] for row in found["places"]] == ["woman", "", ""]
    assert found["confusion"] == [
        {"people": "Depicted", "judge": "Not depicted", "share": found["confusion"][0]["share"]}
    ]
    assert found["scores"][0]["judge"]["value"] == "inf"
    assert sorted(found["refused"]) == ["judge_alternative_annotator", "judge_combined"]
    assert "furthest from people for annotators “woman”" in " ".join(found["finding"])
    assert program("GET", f"studies/hats/judges/{run.pk}?by=height").status_code == 400
    assert program("GET", f"studies/hats/judges/{10**30}").status_code == 404
