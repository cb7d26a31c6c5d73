"""Files of exports in the background: withdrawn from, kept for a while, deleted."""

import io
import os
import tempfile
import time
import zipfile
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.utils import timezone

from annotation import export_files
from annotation.core import leases
from annotation.core.leases import JobState
from annotation.exports import packing, snapshot
from annotation.exports import snapshot as export_snapshot
from annotation.exports.selection import Filters, Selection
from annotation.exports.services import jobs as export_jobs
from annotation.exports.services import writing
from annotation.exports.snapshot import WithdrawnDuringExport
from annotation.models import AuditEvent, ExportJob, Response
from annotation.participation.services import withdrawals
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle
from tests import factories
from tests.annotation.exports.jobs_world import asked, enrolled, lying_about, made, members, words
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


def test_a_withdrawal_while_it_is_written_begins_it_anew_without_them(admin, monkeypatch):
    study = depiction()
    leaver = enrolled(study)
    job = asked(study, admin)
    begun = writing.archive

    def left(**kwargs):
        monkeypatch.setattr(writing, "archive", begun)
        pieces = begun(**kwargs)
        # one of the README, then the first of the data
        yield next(pieces)
        yield next(pieces)
        withdrawals.withdraw(annotator=leaver, study=study, by=None)
        yield from pieces

    monkeypatch.setattr(packing, "CHUNK_BYTES", 1)
    monkeypatch.setattr(writing, "archive", left)
    first = made(job)
    assert (first.state, first.attempts, first.file) == (JobState.PENDING, 0, "")
    assert lying_about() == []
    assert leaver.pseudonym.encode() not in members(made(job))[CSV]


def test_a_withdrawal_between_writing_and_keeping_begins_it_anew(admin, monkeypatch):
    study = depiction()
    leaver = enrolled(study)
    job = asked(study, admin)
    keep = export_jobs._finish

    def late(*args):
        monkeypatch.setattr(export_jobs, "_finish", keep)
        withdrawals.withdraw(annotator=leaver, study=study, by=None)
        keep(*args)

    monkeypatch.setattr(export_jobs, "_finish", late)
    assert made(job).state == JobState.PENDING
    assert lying_about() == []
    assert not AuditEvent.objects.filter(what="export").exists()


def test_a_withdrawal_afterwards_deletes_the_file_at_once(admin, django_capture_on_commit_callbacks):
    study, other = depiction(), words()
    leaver = enrolled(study)
    job, kept = made(asked(study, admin)), made(asked(other, admin))
    waits = asked(study, admin, "coco")
    with django_capture_on_commit_callbacks(execute=True):
        withdrawals.withdraw(annotator=leaver, study=study, by=None)
    waits.refresh_from_db()
    assert waits.error == ""
    job.refresh_from_db()
    assert (job.state, job.file, job.error) == (JobState.DONE, "", export_files.DISCARDED)
    assert lying_about() == [kept.file]
    with pytest.raises(export_jobs.ExportGone, match="withdrew"):
        export_jobs.open_file(job=job, by=admin)
    assert export_jobs.retry(job=job)
    assert leaver.pseudonym.encode() not in members(made(job))[CSV]


def test_a_storage_that_is_away_stops_no_withdrawal_and_the_file_goes_later(
    admin, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    study = depiction()
    leaver = enrolled(study)
    job = made(asked(study, admin))

    def away(name):
        raise OSError("no storage")

    with monkeypatch.context() as broken, django_capture_on_commit_callbacks(execute=True):
        broken.setattr(export_files.storage(), "delete", away)
        withdrawals.withdraw(annotator=leaver, study=study, by=None)
    assert "no storage" in caplog.text
    assert lying_about() == [job.file]
    with pytest.raises(export_jobs.ExportGone, match="withdrew"):
        export_jobs.open_file(job=ExportJob.objects.get(pk=job.pk), by=admin)
    export_files.clean_up()
    assert lying_about() == []


def test_a_withdrawal_of_somebody_without_answers_leaves_files_alone(admin):
    study = depiction()
    job = made(asked(study, admin))
    withdrawals.withdraw(annotator=factories.enrolment(study).annotator, study=study, by=None)
    job.refresh_from_db()
    assert job.file


@pytest.mark.parametrize("fmt", ["csv", "coco"])
def test_a_download_during_which_somebody_withdraws_does_not_open(fmt, monkeypatch):
    monkeypatch.setattr(packing, "CHUNK_BYTES", 1)
    study = depiction()
    leaver = enrolled(study)
    pieces = writing.stream_zip(study=study, fmt=fmt, by=None, filters=Filters())
    got = [next(pieces), next(pieces)]
    withdrawals.withdraw(annotator=leaver, study=study, by=None)
    with pytest.raises(WithdrawnDuringExport):
        got.extend(pieces)
    assert not zipfile.is_zipfile(io.BytesIO(b"".join(got)))


def test_files_are_deleted_after_the_days_they_are_kept(admin, settings):
    settings.EXPORT_KEEP_DAYS = 3
    study = depiction()
    old, new = made(asked(study, admin)), made(asked(study, admin, "jsonl"))
    now = timezone.now()
    ExportJob.objects.filter(pk=old.pk).update(finished_at=now - timedelta(days=3))
    assert export_files.clean_up(now=now) == 0
    assert export_files.clean_up(now=now + timedelta(minutes=1)) == 1
    assert lying_about() == [new.file]
    old.refresh_from_db()
    assert (old.state, old.file, old.error) == (JobState.DONE, "", "")
    assert export_files.clean_up(now=now + timedelta(minutes=1)) == 0


def test_what_a_killed_worker_left_is_deleted_and_what_is_being_made_is_not(admin):
    study = depiction()
    done = made(asked(study, admin))
    [job] = export_jobs._claim(asked(study, admin, "jsonl").pk).jobs
    claimed = f"{job.pk}-{job.claim}.zip"
    for name in (f"{job.pk}-{uuid4()}.zip", claimed, "notes.zip"):
        (export_files.work_folder() / name).write_bytes(b"half")
    # a file is kept just before its row says so
    for name in (f"{job.pk}-{uuid4()}.zip", claimed):
        export_files.storage().save(name, ContentFile(b"whole"))
    assert export_files.clean_up() == 3
    assert lying_about() == sorted([claimed, claimed, done.file])


def test_folders_that_a_killed_process_left_are_deleted_a_day_later(admin):
    left, fresh = (export_files.work_folder() / name for name in ("sheet-left", "sheet-fresh"))
    for folder in (left, fresh):
        folder.mkdir()
        (folder / "sheet.xlsx").write_bytes(b"half")
    yesterday = time.time() - timedelta(days=1, minutes=1).total_seconds()
    os.utime(left, (yesterday, yesterday))
    note = export_files.work_folder() / "note.txt"
    note.write_text("not a folder of the program's")
    os.utime(note, (yesterday, yesterday))
    assert export_files.clean_up() == 1
    assert (left.exists(), fresh.exists(), note.exists()) == (False, True, True)


@pytest.mark.parametrize("fmt", ["coco", "huggingface", "visage"])
def test_nothing_is_made_in_the_folder_for_temporary_files(fmt, monkeypatch):
    """In a container that is memory."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    filters = Filters()
    assert zipfile.is_zipfile(
        io.BytesIO(b"".join(writing.stream_zip(study=depiction(), fmt=fmt, by=None, filters=filters)))
    )
    assert lying_about() == []


def test_a_release_is_not_made_there_either(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    pieces = bundle.stream_zip(study=depiction(), by=None, options=ReleaseOptions())
    assert zipfile.is_zipfile(io.BytesIO(b"".join(pieces)))
    assert lying_about() == []


def test_deleting_takes_the_file_along(admin, django_capture_on_commit_callbacks):
    job = made(asked(depiction(), admin))
    with django_capture_on_commit_callbacks(execute=True):
        export_jobs.delete(job=job)
        export_jobs.delete(job=job)
    assert lying_about() == []
    assert not ExportJob.objects.exists()


def test_the_embedded_worker_makes_what_waits(admin):
    study = depiction()
    jobs = [asked(study, admin), asked(study, admin, "coco")]
    call_command("worker", once=True, queue="default")
    assert {job.state for job in ExportJob.objects.all()} == {JobState.DONE}
    assert len(lying_about()) == len(jobs)


def test_nobody_withdrew_is_told_from_the_responses_of_this_study_alone():
    study, other = depiction(), words()
    selection = Selection(study)
    with snapshot.consistent_read(selection):
        Response.objects.filter(unit__task__study=other).update(withdrawn_at=timezone.now())
    Response.objects.filter(unit__task__study=study).update(withdrawn_at=timezone.now())
    with pytest.raises(WithdrawnDuringExport):
        export_snapshot.check_withdrawals(selection)
