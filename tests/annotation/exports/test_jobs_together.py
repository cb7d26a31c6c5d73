"""Exports while others write, on connections of their own: one moment, a lease that is kept, one winner."""

import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.exports import packing, table
from annotation.exports.selection import Filters
from annotation.exports.services import jobs as export_jobs
from annotation.exports.services import writing
from annotation.models import Box, ExportJob, Response
from tests import factories
from tests.annotation.exports.world import depiction
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(do, *arguments):
    """What `do` gives on another connection; it must not have to wait for this one."""

    def run():
        try:
            return do(*arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        return other.submit(run).result(timeout=PATIENCE_SECONDS)


def annotate_heavily(study) -> None:
    """Answers come, one is corrected, one gets another box."""
    unit = study.tasks.get().units.get(position=1)
    first = Response.objects.order_by("pk").first()
    Response.objects.filter(pk=first.pk).update(current=False)
    Box.objects.create(
        judgement=first.judgements.first(), x0=1, y0=1, x1=2, y1=2, image_width=400, image_height=200
    )
    factories.response(unit, values=[1] * 5, who=factories.annotator(pseudonym="a-new"))


def content(pieces) -> dict[str, object]:
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        return {
            name: pq.read_table(io.BytesIO(archive.read(name))).to_pylist()
            if name.endswith(".parquet")
            else archive.read(name)
            for name in archive.namelist()
            # a workbook says when it was written; the same rows are in ViSAGe's CSV
            if not name.endswith(".xlsx")
        }


@pytest.mark.parametrize("fmt", ["csv", "jsonl", "parquet", "crowdkit", "coco", "yolo", "visage"])
def test_an_export_shows_one_moment_while_answers_come_in(fmt, monkeypatch):
    monkeypatch.setattr(packing, "CHUNK_BYTES", 1)
    monkeypatch.setattr(table, "CHUNK", 1)
    monkeypatch.setattr("annotation.exports.image_answers.CHUNK", 1)
    monkeypatch.setattr("annotation.exports.formats.visage.CHUNK", 1)
    study = depiction()
    asked = {"study": study, "fmt": fmt, "by": None, "filters": Filters()}
    before = content(writing.stream_zip(**asked))
    pieces = writing.stream_zip(**asked)
    got = [next(pieces), next(pieces)]
    elsewhere(annotate_heavily, study)
    got.extend(pieces)
    assert content(got) == before
    assert content(writing.stream_zip(**asked)) != before


def test_a_download_that_is_dropped_leaves_the_connection_as_it_was():
    study = depiction()
    pieces = writing.stream_csv(study=study, by=None)
    next(pieces)
    next(pieces)
    pieces.close()
    assert not connection.in_atomic_block
    Response.objects.update(current=False)
    assert "".join(writing.stream_csv(study=study, by=None)).count(",no,no\r\n") == 15


def waiting_job(fmt: str = "csv") -> ExportJob:
    return export_jobs.request(study=depiction(), fmt=fmt, filters=Filters(), by=factories.user(admin=True))


def slow(monkeypatch, until) -> None:
    """Exports that, when all is read, wait for `until()` to be true."""
    begun = writing.archive

    def archive(**kwargs):
        yield from begun(**kwargs)
        for _ in range(PATIENCE_SECONDS * 20):
            if until():
                break
            threading.Event().wait(0.05)
            yield b""
        else:
            pytest.fail("it never came")

    monkeypatch.setattr(writing, "archive", archive)


def test_while_it_is_made_its_lease_is_kept_and_its_progress_told(monkeypatch):
    monkeypatch.setattr(export_jobs, "RENEWAL_SECONDS", 0.05)
    job = waiting_job()
    near = timezone.now() + timedelta(seconds=1)
    claim = export_jobs._claim

    def short(*args):
        claimed = claim(*args)
        ExportJob.objects.update(lease_expires_at=near)
        return claimed

    monkeypatch.setattr(export_jobs, "_claim", short)
    seen: list[tuple[int, int | None]] = []

    def told() -> bool:
        now = ExportJob.objects.get()
        if now.rows and now.lease_expires_at > near:
            seen.append((now.rows, now.total))
        return bool(seen)

    slow(monkeypatch, told)
    made = export_jobs.make(job_id=job.pk)
    assert (made.state, made.error) == (JobState.DONE, "")
    assert seen == [(15, 15)]


def test_a_worker_whose_job_is_deleted_stops(monkeypatch):
    monkeypatch.setattr(export_jobs, "RENEWAL_SECONDS", 0.05)
    job = waiting_job()
    asked: list[int] = []

    def never() -> bool:
        if not asked:
            elsewhere(lambda: export_jobs.delete(job=job))
        asked.append(1)
        return False

    slow(monkeypatch, never)
    assert export_jobs.make(job_id=job.pk) is None
    assert not ExportJob.objects.exists()


def test_of_workers_that_come_at_once_one_makes_it():
    job = waiting_job()
    at_once = threading.Barrier(4, timeout=PATIENCE_SECONDS)

    def work():
        try:
            at_once.wait()
            return export_jobs.make(job_id=job.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        made = [run.result(timeout=PATIENCE_SECONDS) for run in [workers.submit(work) for _ in range(4)]]
    assert [one.state for one in made if one is not None] == [JobState.DONE]
    assert ExportJob.objects.get().attempts == 1


def test_two_who_ask_at_once_ask_once():
    study, admin = depiction(), factories.user(admin=True)
    at_once = threading.Barrier(3, timeout=PATIENCE_SECONDS)

    def ask():
        try:
            at_once.wait()
            return export_jobs.request(study=study, fmt="csv", filters=Filters(), by=admin).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as people:
        asked = {run.result(timeout=PATIENCE_SECONDS) for run in [people.submit(ask) for _ in range(3)]}
    assert len(asked) == ExportJob.objects.count() == 1
