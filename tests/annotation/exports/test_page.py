"""The export page: every format with its sentence, filters, a zip archive in return."""

import io
import zipfile

import pytest
from django.urls import reverse

from annotation.exports.formats.registry import FORMATS
from annotation.models import AuditEvent
from tests import factories
from tests.annotation.exports.world import depiction

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(factories.user("admin", admin=True))
    return client


def test_the_page_offers_every_format_with_what_it_is_for(admin):
    factories.task(depiction(), kind="prevalence")
    page = admin.get(reverse("export_page", args=["live"])).content.decode()
    for one in FORMATS.values():
        assert f'value="{one.name}"' in page
        assert str(one.use).replace("'", "&#x27;") in page
    assert '<option value="Mexican">Mexican</option>' in page
    assert '<option value="offensiveness">' not in page
    assert reverse("export_page", args=["live"]) in admin.get(reverse("overview", args=["live"])).text


def test_formats_of_images_are_not_offered_for_a_study_without_images(admin):
    factories.task(factories.study("live"), kind="prevalence")
    offered = admin.get(reverse("export_page", args=["live"])).context["formats"]
    assert [one.name for one in offered] == ["csv", "jsonl", "parquet", "seegull", "crowdkit"]


@pytest.mark.parametrize("fmt", FORMATS)
def test_each_format_comes_as_an_archive(admin, fmt):
    depiction()
    answer = admin.get(reverse("export_download", args=["live"]), {"format": fmt})
    assert answer.streaming
    assert f'filename="live-{fmt}.zip"' in answer["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        assert archive.testzip() is None
        assert "README.md" in archive.namelist()
    assert AuditEvent.objects.get().details["format"] == fmt


def test_filters_of_the_page_reach_the_export(admin):
    depiction()
    asked = {"format": "crowdkit", "group": "French", "since": "2020-01-01", "status": "counted"}
    answer = admin.get(reverse("export_download", args=["live"]), asked)
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        assert archive.read("crowdkit.csv").decode().count("a-two-b") == 5
    assert AuditEvent.objects.get().details["filters"] == {
        name: value for name, value in asked.items() if name != "format"
    }


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"format": "xlsx"},
        {"format": "csv", "task": "offensiveness"},
        {"format": "csv", "since": "yesterday"},
        {"format": "csv", "since": "2026-02-02", "until": "2026-02-01"},
        {"format": "seegull", "task": "depiction"},
    ],
)
def test_what_cannot_be_taken_shows_the_page_again_and_nothing_leaves(admin, asked):
    depiction()
    answer = admin.get(reverse("export_download", args=["live"]), asked)
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.text
    assert not AuditEvent.objects.exists()
