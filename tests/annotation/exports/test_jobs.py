"""Exports in the background: asked for, claimed, made, kept, withdrawn from, deleted."""

import errno
import hashlib
import io
import stat
import zipfile
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation import export_files
from annotation.core import leases
from annotation.core.leases import JobState
from annotation.exports import tasks as exports_tasks
from annotation.exports.formats.registry import FORMATS, UnknownFormat
from annotation.exports.selection import ExportRefused, Filters, Selection
from annotation.exports.services import jobs as export_jobs
from annotation.exports.services import writing
from annotation.models import AuditEvent, ExportJob, Webhook
from tests import factories
from tests.annotation.exports.jobs_world import asked, lying_about, made, members
from tests.annotation.exports.world import depiction

pytestmark = pytest.mark.django_db
CSV = "annotations.csv"


@pytest.fixture(autouse=True)
def _no_beat(monkeypatch):
    # Another connection would not see what these tests have not committed.
    monkeypatch.setattr(leases.Heartbeat, "_renew", lambda beat: None)


@pytest.fixture
def admin():
    return factories.user("admin", admin=True)


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_job_makes_the_same_files_as_a_download(admin, fmt):
    study = depiction(files=True)
    job = made(asked(study, admin, fmt))
    assert (job.state, job.error, job.claim, job.lease_expires_at) == (JobState.DONE, "", None, None)
    download = b"".join(writing.stream_zip(study=study, fmt=fmt, by=None, filters=Filters()))
    with zipfile.ZipFile(io.BytesIO(download)) as archive:
        expected = {name: archive.read(name) for name in archive.namelist()}
    got = members(job)
    assert list(got) == list(expected)
    # a workbook says when it was written
    assert {name for name in got if got[name] != expected[name]} <= {
        name for name in got if name.endswith(".xlsx")
    }
    assert job.rows == job.total == FORMATS[fmt].total(Selection(study))


def test_the_row_tells_size_and_checksum_and_the_file_is_the_programs_alone(admin):
    job = made(asked(depiction(), admin))
    with export_files.storage().open(job.file) as file:
        content = file.read()
    assert (job.size, job.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    path = export_files.storage().path(job.file)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert lying_about() == [job.file]


def test_filters_are_kept_and_obeyed(admin):
    job = asked(depiction(), admin, "crowdkit", group="French", since=timezone.now().date())
    job.refresh_from_db()
    assert made(job).rows == 5
    assert members(ExportJob.objects.get())["crowdkit.csv"].count(b"a-two-b") == 5


def test_it_is_noted_when_it_is_made_and_when_it_is_fetched(admin):
    study = depiction()
    job = asked(study, admin, group="French")
    assert not AuditEvent.objects.exists()
    job = made(job)
    export_jobs.open_file(job=job, by=admin).close()
    told = [(event.what, event.study, event.by) for event in AuditEvent.objects.order_by("pk")]
    assert told == [("export", study, admin), ("export_download", study, admin)]
    first, second = AuditEvent.objects.order_by("pk")
    assert first.details == {
        "format": "csv",
        "filters": {"group": "French"},
        "job": job.pk,
        "rows": 5,
        "sha256": job.sha256,
    }
    assert second.details["sha256"] == job.sha256


def test_asking_twice_for_the_same_is_asking_once(admin):
    study = depiction()
    job = asked(study, admin)
    assert asked(study, admin) == job
    assert asked(study, admin, group="French") != job
    assert asked(study, factories.user(admin=True)) != job
    made(job)
    assert asked(study, admin) != job


@pytest.mark.parametrize(
    ("fmt", "filters", "error"),
    [
        ("xlsx", {}, UnknownFormat),
        ("csv", {"group": "Martian"}, ExportRefused),
        ("seegull", {"task": "depiction"}, ExportRefused),
    ],
)
def test_what_cannot_be_made_is_refused_at_once(admin, fmt, filters, error):
    with pytest.raises(error):
        asked(depiction(), admin, fmt, **filters)
    assert not ExportJob.objects.exists()


def test_a_job_that_somebody_holds_or_finished_is_not_to_be_had(admin):
    job = asked(depiction(), admin)
    held = {"state": JobState.CLAIMED, "claim": uuid4(), "attempts": 1}
    ExportJob.objects.update(**held, lease_expires_at=timezone.now() + timedelta(minutes=1))
    assert export_jobs.make(job_id=job.pk) is None
    ExportJob.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert made(job).state == JobState.DONE
    assert export_jobs.make(job_id=job.pk) is None


def test_a_worker_that_overslept_its_lease_keeps_nothing(admin, monkeypatch):
    """While it writes, another takes the job over and finishes it."""
    study = depiction()
    job = asked(study, admin)
    begun = writing.archive
    others: list[ExportJob] = []

    def overtaken(**kwargs):
        monkeypatch.setattr(writing, "archive", begun)
        yield from begun(**kwargs)
        ExportJob.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
        others.append(made(job))

    monkeypatch.setattr(writing, "archive", overtaken)
    assert export_jobs.make(job_id=job.pk) is None
    job.refresh_from_db()
    [other] = others
    assert (job.file, job.sha256, job.attempts) == (other.file, other.sha256, 2)
    assert lying_about() == [job.file]
    assert AuditEvent.objects.filter(what="export").count() == 1


def test_a_job_that_is_deleted_while_it_is_made_leaves_nothing(
    admin, monkeypatch, django_capture_on_commit_callbacks
):
    job = asked(depiction(), admin)
    begun = writing.archive

    def deleted(**kwargs):
        yield from begun(**kwargs)
        export_jobs.delete(job=job)

    monkeypatch.setattr(writing, "archive", deleted)
    with django_capture_on_commit_callbacks(execute=True):
        assert export_jobs.make(job_id=job.pk) is None
    assert lying_about() == []
    assert not AuditEvent.objects.exists()


def test_three_tries_that_fail_are_enough_and_a_retry_begins_anew(admin, monkeypatch):
    study = depiction()
    Webhook.objects.create(study=study, url="https://x.example", secret="s", events=["export.finished"])
    job = asked(study, admin)
    with monkeypatch.context() as broken:
        broken.setattr(writing, "archive", lambda **_: iter([b"some", 1 / 0]))
        assert [made(job).state for _ in range(3)] == ["pending", "pending", "failed"]
        assert export_jobs.make(job_id=job.pk) is None
    job.refresh_from_db()
    assert (job.error, job.attempts) == ("ZeroDivisionError: division by zero", 3)
    assert lying_about() == []
    [told] = Webhook.objects.get().deliveries.all()
    assert told.payload == {"export": job.pk, "format": "csv", "state": "failed"}
    assert export_jobs.retry(job=job)
    assert not export_jobs.retry(job=job)
    assert made(job).state == JobState.DONE
    told = Webhook.objects.get().deliveries.latest("pk")
    assert told.payload == {"export": job.pk, "format": "csv", "state": "done", "rows": 15}


def test_a_full_disk_uses_up_no_try_and_is_tried_again_after_a_while(admin, monkeypatch, caplog):
    def full(**_):
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")

    job = asked(depiction(), admin)
    with monkeypatch.context() as broken:
        broken.setattr(writing, "archive", full)
        for attempt in range(4):
            job = made(job)
            assert (job.state, job.attempts) == (JobState.PENDING, 0)
            assert "The disk is full (No space left on device)" in job.error
            assert lying_about() == []
            assert export_jobs.make(job_id=job.pk) is None, "the full disk is filled again at once"
            ExportJob.objects.update(not_before=timezone.now() - timedelta(seconds=1))
            assert list(export_jobs.claimable()) == [job], attempt
    assert "No space left" in caplog.text
    job = made(job)
    assert (job.state, job.attempts, job.error) == (JobState.DONE, 1, "")


def test_what_cannot_be_made_as_asked_is_not_tried_again(admin, monkeypatch):
    monkeypatch.setattr("annotation.exports.packing.MAX_ROWS", 3)
    job = made(asked(depiction(), admin, "visage"))
    assert (job.state, job.attempts) == (JobState.FAILED, 1)
    assert job.error.startswith("These are more rows than an Excel sheet can hold.")


def test_a_worker_that_is_asked_to_stop_gives_the_export_back_untried(admin):
    job = export_jobs.make(job_id=asked(depiction(), admin).pk, stopping=lambda: True)
    assert (job.state, job.attempts, job.claim) == (JobState.PENDING, 0, None)
    assert lying_about() == []


def test_pending_exports_are_begun_when_they_are_due_and_those_that_are_done_counted(admin, monkeypatch):
    study, due = depiction(), timezone.now() + timedelta(days=1)
    jobs = [asked(study, admin, fmt) for fmt in list(FORMATS)[:3]]
    ExportJob.objects.update(not_before=due)
    begun, ends = [], iter([ExportJob(state=JobState.DONE), None, ExportJob(state=JobState.FAILED)])

    def make(*, job_id, now, stopping):
        begun.append((job_id, now))
        return next(ends)

    monkeypatch.setattr(export_jobs, "make", make)
    assert export_jobs.make_pending() == 0
    assert export_jobs.make_pending(now=due) == 1
    assert begun == [(job.pk, due) for job in jobs]


@pytest.fixture
def rung(settings, monkeypatch) -> list[int]:
    """For which exports a Celery worker was told."""
    settings.CELERY_BROKER_URL = "redis://nowhere"
    told: list[int] = []
    monkeypatch.setattr(exports_tasks.make_export, "delay", told.append)
    return told


def test_a_worker_is_told_once_the_export_is_committed(admin, rung, django_capture_on_commit_callbacks):
    job = asked(depiction(), admin)
    with django_capture_on_commit_callbacks(execute=True):
        exports_tasks.enqueue(job)
        assert rung == []
    assert rung == [job.pk]
    with django_capture_on_commit_callbacks(execute=True):
        exports_tasks.enqueue(made(job))
    assert rung == [job.pk]


def test_without_a_broker_nobody_is_told(admin, settings, rung, django_capture_on_commit_callbacks):
    settings.CELERY_BROKER_URL = ""
    with django_capture_on_commit_callbacks(execute=True):
        exports_tasks.enqueue(asked(depiction(), admin))
    assert rung == []


def test_a_message_that_was_lost_is_sent_again_and_only_then(admin, rung, monkeypatch):
    study = depiction()
    waits, lapsed, held, done = (asked(study, admin, fmt) for fmt in ("csv", "coco", "yolo", "voc"))
    made(done)
    for job, seconds in ((lapsed, -1), (held, 60)):
        export_jobs._claim(job.pk, timezone.now())
        ExportJob.objects.filter(pk=job.pk).update(
            lease_expires_at=timezone.now() + timedelta(seconds=seconds)
        )
    monkeypatch.setattr(exports_tasks.broker, "message_count", lambda queue: 1)
    assert exports_tasks.enqueue_waiting() == 0
    monkeypatch.setattr(exports_tasks.broker, "message_count", lambda queue: 0)
    assert exports_tasks.enqueue_waiting() == 2
    assert rung == [waits.pk, lapsed.pk]


def test_an_export_that_begins_anew_is_rung_for_again(admin, rung, monkeypatch):
    job = asked(depiction(), admin)
    monkeypatch.setattr(exports_tasks.broker.worker_stops, "is_set", lambda: True)
    exports_tasks.make_export(job.pk)
    assert rung == [job.pk]
    monkeypatch.setattr(exports_tasks.broker.worker_stops, "is_set", lambda: False)
    exports_tasks.make_export(job.pk)
    assert rung == [job.pk]
    job.refresh_from_db()
    assert job.state == JobState.DONE
