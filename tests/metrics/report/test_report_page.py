"""The page of a report, its download and its API."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.urls import reverse

from metrics.models import ScoreRun
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


def names_in(answer) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as packed:
        return set(packed.namelist())


def test_without_scores_the_page_says_what_to_do_and_offers_no_download(client, study):
    page = client.get(reverse("report", args=["small"]))
    assert "compute them first" in page.text
    assert "Download the report" not in page.text
    refused = client.get(reverse("report_zip", args=["small"]))
    assert refused.status_code == 409
    assert "There is no report." in refused.text


def test_a_lead_gets_the_report_as_a_zip(client, study):
    world.compute(study, "tendency")
    assert "Download the report (ZIP)" in client.get(reverse("report", args=["small"])).text
    answer = client.get(reverse("report_zip", args=["small"]), {"images": "yes"})
    assert answer["Content-Disposition"] == 'attachment; filename="small-report.zip"'
    assert {"small-report/index.html", "small-report/ar/index.html"} <= names_in(answer)


def test_the_button_requests_all_scores_once(client, study, monkeypatch):
    found = client.post(reverse("report_scores", args=["small"]), follow=True)
    requested = set(ScoreRun.objects.values_list("metric", flat=True))
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
    with django_assert_max_num_queries(13):
        client.get(reverse("report", args=["small"]))


def test_the_api_gives_the_zip_or_says_why_not(client, study):
    path = "/api/v1/studies/small/report"
    refused = client.get(path)
    assert refused.status_code == 409
    assert "no stored scores" in refused.json()["detail"]
    world.compute(study, "tendency")
    answer = client.get(path, {"images": "false"})
    assert answer["Content-Type"] == "application/zip"
    assert "small-report/report.json" in names_in(answer)
    assert client.get(path, {"images": "perhaps"}).status_code == 400
    client.force_login(factories.user())
    assert client.get(path).status_code == 404
