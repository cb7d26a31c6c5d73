"""The export page of a large study: made in the background, followed, fetched, made again, deleted."""

import io
import zipfile

import pytest
from django.urls import reverse

from annotation import export_files, policies
from annotation.core import leases
from annotation.core.leases import JobState
from annotation.exports import queries as exports_queries
from annotation.exports.services import jobs as export_jobs
from annotation.models import AuditEvent, ExportJob
from tests import factories
from tests.annotation.exports.world import depiction

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def _no_beat(monkeypatch):
    # Another connection would not see what these tests have not committed.
    monkeypatch.setattr(leases.Heartbeat, "_renew", lambda beat: None)


@pytest.fixture
def admin(client):
    client.admin = factories.user("admin", admin=True)
    client.force_login(client.admin)
    return client


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr(exports_queries, "LARGE", 14)
    return depiction()


def url(name: str, *more) -> str:
    return reverse(name, args=["live", *more])


def test_a_small_study_is_downloaded_at_once(admin, study, monkeypatch):
    monkeypatch.setattr(exports_queries, "LARGE", 15)
    page = admin.get(url("export_page")).text
    assert "Make in the background" not in page
    assert f'method="get" action="{url("export_download")}"' in page


def test_a_large_study_is_exported_in_the_background(admin, study):
    assert "Make in the background" in admin.get(url("export_page")).text
    asked = {"format": "csv", "group": "French", "when": "later"}
    answer = admin.post(url("export_list"), asked)
    assert answer.url == f"{url('export_page')}#exports"
    job = ExportJob.objects.get()
    assert (job.study, job.by, job.format, job.filters) == (study, admin.admin, "csv", {"group": "French"})
    page = admin.get(url("export_page")).text
    assert f'hx-get="{url("export_list")}"' in page
    export_jobs.make(job_id=job.pk)
    part = admin.get(url("export_list"), headers=HTMX).text
    assert "hx-get" not in part
    assert url("export_action", job.pk, "retry") not in part
    job.refresh_from_db()
    assert job.sha256 in part
    got = admin.get(url("export_file", job.pk))
    assert 'filename="live-csv.zip"' in got["Content-Disposition"]
    assert int(got["Content-Length"]) == job.size
    with zipfile.ZipFile(io.BytesIO(got.getvalue())) as archive:
        assert archive.read("annotations.csv").count(b"French2.png") == 10
    assert [event.what for event in AuditEvent.objects.order_by("pk")] == ["export", "export_download"]


def test_a_large_study_can_be_downloaded_at_once_all_the_same(admin, study):
    answer = admin.post(url("export_list"), {"format": "jsonl", "since": "2026-01-31", "when": "now"})
    assert answer.url == f"{url('export_download')}?format=jsonl&since=2026-01-31"
    assert not ExportJob.objects.exists()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"format": "xlsx"},
        {"format": "csv", "since": "yesterday"},
        {"format": "seegull", "task": "depiction"},
    ],
)
@pytest.mark.parametrize("when", ["later", ""])
def test_what_cannot_be_made_shows_the_page_again(admin, study, asked, when):
    answer = admin.post(url("export_list"), {**asked, "when": when})
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.text
    assert not ExportJob.objects.exists()


def test_progress_is_shown_and_followed(admin, study):
    job = ExportJob.objects.create(study=study, by=admin.admin, format="csv")
    claimed = export_jobs._claim(job.pk, job.created_at)
    part = admin.get(url("export_list"), headers=HTMX).text
    assert "Counting the judgements" in part
    assert url("export_action", job.pk, "retry") not in part
    claimed.held().update(rows=5, total=15)
    part = admin.get(url("export_list"), headers=HTMX).text
    assert "5 of 15 judgements" in part
    assert 'value="33"' in part
    assert 'hx-trigger="every 2s"' in part


def test_an_error_and_a_file_that_is_gone_can_be_made_again(admin, study):
    job = ExportJob.objects.create(study=study, by=admin.admin, format="csv")
    export_jobs.make(job_id=job.pk)
    export_files.discard_files(study=study)
    page = admin.get(url("export_page")).text
    assert export_files.DISCARDED in page
    assert url("export_action", job.pk, "retry") in page
    answer = admin.get(url("export_file", job.pk), follow=True)
    assert "The file of this export was deleted." in answer.text
    admin.post(url("export_action", job.pk, "retry"))
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.PENDING, "")
    admin.post(url("export_action", job.pk, "delete"))
    assert not ExportJob.objects.exists()


def test_an_export_is_for_who_asked_for_it_in_the_study_at_hand(admin, study):
    theirs = ExportJob.objects.create(study=study, by=factories.user(admin=True), format="csv")
    elsewhere = ExportJob.objects.create(study=factories.study("other"), by=admin.admin, format="csv")
    for job in (theirs, elsewhere):
        assert admin.get(url("export_file", job.pk)).status_code == 404
        for action in ("retry", "delete"):
            assert admin.post(url("export_action", job.pk, action)).status_code == 404
    assert "Your exports" not in admin.get(url("export_page")).text
    assert ExportJob.objects.count() == 2


def test_somebody_who_is_no_admin_any_more_fetches_nothing(admin, study):
    job = ExportJob.objects.create(study=study, by=admin.admin, format="csv")
    export_jobs.make(job_id=job.pk)
    admin.admin.is_superuser = False
    admin.admin.save()
    for name, more in (("export_file", [job.pk]), ("export_list", []), ("export_page", [])):
        assert admin.get(url(name, *more)).status_code == 404
    assert admin.post(url("export_list"), {"format": "csv"}).status_code == 404
    assert not policies.may_fetch_export(admin.admin, job)


def test_an_unknown_action_does_nothing(admin, study):
    job = ExportJob.objects.create(study=study, by=admin.admin, format="csv")
    assert admin.post(url("export_action", job.pk, "publish")).status_code == 404


def test_the_list_takes_one_query(admin, study, django_assert_num_queries):
    for _ in range(5):
        ExportJob.objects.create(study=study, by=admin.admin, format="csv")
    # session, account, study, exports
    with django_assert_num_queries(4):
        admin.get(url("export_list"), headers=HTMX)


def test_counting_stops_where_a_study_is_large(study, django_assert_num_queries):
    assert exports_queries.is_large(study)
    with django_assert_num_queries(1) as asked:
        exports_queries.is_large(study)
    assert "LIMIT 15" in asked.captured_queries[0]["sql"]
