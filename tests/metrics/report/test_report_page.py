"""The page of a report, its download and its API."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.urls import reverse

from annotation.models import Response
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast
from tests.metrics.report import world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _without_figures(monkeypatch):
    monkeypatch.setattr("metrics.report.figures.WANTED", ())


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="small", title="Small", leads=[lead])


def names_in(answer, *, images: bool = True) -> set[str]:
    """The files of a report that says whether it was made with images."""
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as packed:
        assert json.loads(packed.read("small-report/report.json"))["images"] == images
        return set(packed.namelist())


def test_without_scores_the_page_says_what_to_do_and_offers_no_download(client, study):
    page = client.get(reverse("report", args=["small"]))
    assert "compute them first" in page.text
    assert "Download the report" not in page.text
    refused = client.get(reverse("report_zip", args=["small"]))
    assert refused.status_code == 409
    assert "There is no report." in refused.text


def test_of_two_people_the_page_offers_no_download(client, study):
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    Response.objects.exclude(annotator__in=people[:2]).update(current=False)
    world.compute(study, "tendency")
    page = client.get(reverse("report", args=["small"]))
    assert (page.status_code, "Fewer than three people" in page.text) == (200, True)
    assert "Download the report" not in page.text


def test_a_lead_gets_the_report_as_a_zip(client, study):
    before = client.get(reverse("report", args=["small"])).context["missing"]
    world.compute(study, "tendency")
    page = client.get(reverse("report", args=["small"]))
    assert page.context["missing"] == before - 1
    assert "Download the report (ZIP)" in page.text
    answer = client.get(reverse("report_zip", args=["small"]), {"images": "yes"})
    assert answer["Content-Disposition"] == 'attachment; filename="small-report.zip"'
    assert {"small-report/index.html", "small-report/ar/index.html"} <= names_in(answer)
    names_in(client.get(reverse("report_zip", args=["small"])), images=False)


def test_the_button_requests_all_scores_once(client, study, monkeypatch):
    # what waits for another study, or is in no report, is not counted
    other = score_runs.request(study=factories.study("other"), metric="tendency", variant="corrected")
    judged = ScoreRun.objects.get(pk=other.pk)
    judged.pk, judged.study, judged.metric = None, study, "judge_scores"
    judged.save()
    found = client.post(reverse("report_scores", args=["small"]), follow=True)
    runs = ScoreRun.objects.exclude(pk__in=(other.pk, judged.pk))
    requested = set(runs.values_list("metric", flat=True))
    assert {"tendency", "likelihood", "offensiveness", "agreement"} <= requested
    assert "tendency_difference" not in requested
    assert not any(name.startswith("judge") for name in requested)
    assert f"{len(requested)} computations of scores were requested." in found.text
    assert f"{len(requested)} computations are waiting or running." in found.text
    ScoreRun.objects.update(state="done", finished_at="2026-01-01T00:00Z")
    assert (
        "those of the present answers"
        in client.post(reverse("report_scores", args=["small"]), follow=True).text
    )


def test_the_page_asks_the_database_the_same_for_few_and_many_scores(
    client, study, django_assert_max_num_queries
):
    world.compute(study, "tendency", "likelihood", "agreement")
    with django_assert_max_num_queries(15):
        client.get(reverse("report", args=["small"]))


def test_the_api_gives_the_zip_or_says_why_not(client, study):
    path = "/api/v1/studies/small/report"
    refused = client.get(path)
    assert refused.status_code == 409
    assert "no stored scores" in refused.json()["detail"]
    world.compute(study, "tendency")
    answer = client.get(path, {"images": "false"})
    assert answer["Content-Type"] == "application/zip"
    assert "small-report/report.json" in names_in(answer, images=False)
    assert client.get(path, {"images": "perhaps"}).status_code == 400
    client.force_login(factories.user())
    assert client.get(path).status_code == 404
