"""Uploaded files are imported once, whole or not at all, and then deleted."""

from __future__ import annotations

import io
import os
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.imports import files, tasks
from annotation.imports.services import jobs
from annotation.models import Association, AuditEvent, CatalogueImport, Source, Study
from tests import factories
from tests.annotation.imports import release_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead", lead=True)


def upload(path):
    return path.name, io.BytesIO(path.read_bytes())


def seegull(folder, by, *, source="", axis="nationality", **options):
    path = release_files.seegull(folder, **options)
    chosen = {"source": source, "axis": axis}
    return jobs.request(kind="seegull", uploads={"associations": upload(path)}, options=chosen, by=by)


def stored() -> list[str]:
    try:
        return files.storage().listdir("imports")[1]
    except FileNotFoundError:
        return []


def test_seegull_becomes_the_uploaders_source(tmp_path, lead):
    job = seegull(tmp_path, lead)
    assert len(stored()) == 1
    job = jobs.work(job_id=job.pk)
    assert (job.state, job.error, stored()) == (JobState.DONE, "", [])
    assert (job.step, job.done, job.total) == ("associations", 3, 3)
    source = Source.objects.get()
    assert (source.name, source.owner, source.associations.count()) == ("seegull-v2", lead, 3)
    assert job.report["created"] == {"groups": 2, "attributes": 3, "associations": 3}
    (file,) = job.report["files"]
    assert (file["name"], file["rows_read"], file["rows_not_stored"]) == ("stereotypes_global_v2.csv", 3, 0)
    assert {oddity["code"]: oddity["row"] for oddity in job.report["oddities"]} == {"rating_missing": 4}
    assert all(oddity["description"] and oddity["handling"] for oddity in job.report["oddities"])
    assert list(AuditEvent.objects.order_by("pk").values_list("what", "by")) == [
        ("catalogue import requested", lead.pk),
        ("catalogue import done", lead.pk),
    ]


def test_while_it_works_it_says_how_far_it_is(tmp_path, lead, monkeypatch):
    at, told = {}, []

    class Heartbeat(jobs.Heartbeat):
        def __init__(self, claim, *, values, **how):
            at["now"] = values
            super().__init__(claim, values=values, **how)

    def read(job, paths, progress):
        told.append(at["now"]())
        progress("a step whose name is longer than its column", 2, 3)
        told.append(at["now"]())
        return real(job, paths, progress)

    real = jobs._seegull
    monkeypatch.setattr(jobs, "Heartbeat", Heartbeat)
    monkeypatch.setattr(jobs, "_seegull", read)
    jobs.work(job_id=seegull(tmp_path, lead).pk)
    assert told == [
        {"step": "reading", "done": 0, "total": 0},
        {"step": "a step whose name is longer than its col", "done": 2, "total": 3},
    ]


def test_the_same_again_changes_nothing_and_says_so(tmp_path, lead):
    jobs.work(job_id=seegull(tmp_path, lead).pk)
    other = factories.user("other", lead=True)
    job = jobs.work(job_id=seegull(tmp_path, other).pk)
    assert (job.state, job.report["unchanged"]) == (JobState.DONE, True)
    assert Source.objects.get().owner == lead
    Source.objects.update(owner=None)
    jobs.work(job_id=seegull(tmp_path, other).pk)
    assert Source.objects.get().owner is None, "who brought nothing in does not own it"


def test_who_brings_a_source_in_owns_no_other(tmp_path, lead):
    others = factories.source("came-with-the-program")
    jobs.work(job_id=seegull(tmp_path, lead).pk)
    others.refresh_from_db()
    assert others.owner is None


def test_a_source_stays_its_owners_also_if_another_fills_it(tmp_path, lead, monkeypatch):
    job = seegull(tmp_path, factories.user("other", lead=True), source=" mine ")
    true = jobs.import_associations

    def owned(**options):
        imported = true(**options)
        Source.objects.update(owner=lead)
        return imported

    monkeypatch.setattr(jobs, "import_associations", owned)
    jobs.work(job_id=job.pk)
    assert (Source.objects.get().name, Source.objects.get().owner) == ("mine", lead)


def test_other_rows_for_a_source_that_has_some_fail_at_once(tmp_path, lead):
    jobs.work(job_id=seegull(tmp_path, lead).pk)
    seegull(tmp_path, lead, rows=release_files.SEEGULL_ROWS[:2])
    assert jobs.work_pending() == 0
    job = CatalogueImport.objects.latest("pk")
    assert (job.state, "already holds 3" in job.error) == (JobState.FAILED, True)


def test_visage_becomes_a_study_that_its_uploader_leads(tmp_path, lead):
    factories.study("of somebody else")
    uploads = {
        "attributes": upload(release_files.attributes(tmp_path)),
        "annotations": upload(release_files.annotations(tmp_path)),
    }
    job = jobs.request(kind="visage", uploads=uploads, options={"study": "mine"}, by=lead)
    job = jobs.work(job_id=job.pk)
    assert (job.state, job.error) == (JobState.DONE, "")
    assert list(Study.objects.get(name="mine").leads.all()) == [lead]
    assert [file["sheet"] for file in job.report["files"]] == ["all_visual_attr", "full_set_annotations"]
    again = jobs.request(kind="visage", uploads=uploads, options={"study": "mine"}, by=factories.user())
    jobs.work(job_id=again.pk)
    assert list(Study.objects.get(name="mine").leads.all()) == [lead], "who brought it first"


def test_nobody_leads_what_an_account_brought_that_is_gone(tmp_path, lead):
    uploads = {
        "attributes": upload(release_files.attributes(tmp_path)),
        "annotations": upload(release_files.annotations(tmp_path)),
    }
    job = jobs.request(kind="visage", uploads=uploads, options={}, by=lead)
    CatalogueImport.objects.update(by=None)
    assert jobs.work(job_id=job.pk).state == JobState.DONE
    assert not Study.objects.get(name="visage").leads.exists()


def test_a_file_that_is_refused_fails_at_once_with_row_and_cure_and_leaves_nothing(tmp_path, lead):
    rows = (*release_files.SEEGULL_ROWS, "French,rude,x,1,1,1,2,0,NA,NA,NA,0")
    job = jobs.work(job_id=seegull(tmp_path, lead, rows=rows).pk)
    assert (job.state, job.attempts, stored()) == (JobState.FAILED, 1, [])
    assert "stereotypes_global_v2.csv, row 5, column 'region_stereo'" in job.error
    assert not Source.objects.exists()
    assert not jobs.without_refused().exists(), "nothing is broken"


@pytest.mark.parametrize("axis", ["us_state", "indian_state"])
def test_states_are_read_by_their_axis(tmp_path, lead, axis):
    path = release_files.states(tmp_path)
    options = {"axis": axis, "source": ""}
    job = jobs.request(kind="seegull", uploads={"associations": upload(path)}, options=options, by=lead)
    assert jobs.work(job_id=job.pk).state == JobState.DONE
    assert Source.objects.get().name == f"seegull-{axis.replace('_', '-')}s"
    assert set(Association.objects.values_list("in_stereotypical", "out_stereotypical")) == {
        (2, None),
        (1, None),
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"axis": "other"}, "not an axis"),
        ({"source": "two words"}, "not a name"),
        ({"source": "x" * 81}, "80 characters"),
    ],
)
def test_what_cannot_be_imported_is_not_queued(tmp_path, lead, options, why):
    with pytest.raises(jobs.UploadRefused, match=why):
        seegull(tmp_path, lead, **options)
    assert (CatalogueImport.objects.count(), stored()) == (0, [])


def test_a_name_may_have_eighty_characters_and_the_usual_axis_is_nationality(tmp_path, lead):
    uploads = {"associations": upload(release_files.seegull(tmp_path))}
    job = jobs.request(kind="seegull", uploads=uploads, options={"source": "x" * 80}, by=lead)
    assert job.options == {"source": "x" * 80, "axis": "nationality"}


def test_files_that_are_missing_empty_or_large(tmp_path, lead, monkeypatch):
    def ask(uploads):
        jobs.request(kind="seegull", uploads=uploads, options={}, by=lead)

    with pytest.raises(jobs.UploadRefused, match="missing"):
        ask({})
    with pytest.raises(jobs.UploadRefused, match="empty"):
        ask({"associations": ("a.csv", io.BytesIO())})
    monkeypatch.setattr(files, "MAX_BYTES", 3)
    with pytest.raises(jobs.UploadRefused, match="larger"):
        ask({"associations": ("a.csv", io.BytesIO(b"1234"))})
    assert stored() == []


def test_one_account_queues_no_more_than_some(tmp_path, lead, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_WAITING", 1)
    first = seegull(tmp_path, lead)
    with pytest.raises(jobs.UploadRefused, match="waiting"):
        seegull(tmp_path, lead)
    assert len(stored()) == 1
    seegull(tmp_path, factories.user("other", lead=True))
    jobs.work(job_id=first.pk)
    seegull(tmp_path, lead)
    assert len(stored()) == 2, "neither those of others nor those that are done count"


def test_a_worker_that_stops_gives_it_back_and_another_does_it(tmp_path, lead):
    job = seegull(tmp_path, lead)
    job = jobs.work(job_id=job.pk, stopping=lambda: True)
    assert (job.state, job.attempts, len(stored())) == (JobState.PENDING, 0, 1)
    assert not Source.objects.exists()
    assert list(jobs.without_refused()) == [job]
    assert jobs.work_pending() == 1


def test_a_worker_does_the_oldest_of_those_that_wait_and_none_once_it_is_to_stop(tmp_path, lead, monkeypatch):
    later, first, _last = (seegull(tmp_path, lead) for _ in range(3))
    CatalogueImport.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(days=1))
    asked = []
    monkeypatch.setattr(jobs, "work", lambda job_id, **options: asked.append(job_id))
    assert jobs.work_pending(5, stopping=lambda: True) == 0
    assert asked == []
    assert jobs.work_pending(1) == 0, "another worker has it by now"
    assert asked == [first.pk]
    assert jobs.work_pending(2) == 0
    assert asked == [first.pk, first.pk, later.pk]


def test_a_worker_that_lost_its_claim_stores_nothing_more(tmp_path, lead, monkeypatch):
    monkeypatch.setattr(jobs.Heartbeat, "__enter__", lambda self: SimpleNamespace(lost=True))
    monkeypatch.setattr(jobs.Heartbeat, "__exit__", lambda self, *error: None)
    job = seegull(tmp_path, lead)
    assert jobs.work(job_id=job.pk) is None
    assert not Source.objects.exists()


def test_a_claim_that_is_lost_meanwhile_stores_nothing(tmp_path, lead, monkeypatch):
    job = seegull(tmp_path, lead)
    true = jobs.import_associations

    def slow(**options):
        imported = true(**options)
        CatalogueImport.objects.filter(pk=job.pk).update(
            state=JobState.PENDING, claim=None, lease_expires_at=None
        )
        return imported

    monkeypatch.setattr(jobs, "import_associations", slow)
    assert jobs.work(job_id=job.pk) is None
    assert not Source.objects.exists()


def test_a_storage_that_is_away_is_waited_for(tmp_path, lead, monkeypatch):
    job = seegull(tmp_path, lead)

    def away(*args):
        raise ConnectionError("bucket away")

    monkeypatch.setattr(files, "fetch", away)
    job = jobs.work(job_id=job.pk)
    assert (job.state, job.attempts) == (JobState.PENDING, 0)
    assert "bucket away" in job.error
    assert jobs.work(job_id=job.pk) is None, "not before a pause"
    monkeypatch.undo()
    assert jobs.work_pending(now=timezone.now() + 2 * jobs.STORAGE_PAUSE) == 1


def test_a_file_that_is_gone_is_asked_for_again(tmp_path, lead):
    job = seegull(tmp_path, lead)
    files.delete(job.key, job.files)
    job = jobs.work(job_id=job.pk)
    assert job.state == JobState.FAILED
    assert "Upload it again" in job.error


def test_an_error_of_the_program_is_tried_again_and_then_fails(tmp_path, lead, monkeypatch):
    def broken(**options):
        raise RuntimeError("oops")

    monkeypatch.setattr(jobs, "import_associations", broken)
    job = seegull(tmp_path, lead)
    states = [jobs.work(job_id=job.pk).state for _ in range(jobs.LEASES.tries)]
    assert states == [JobState.PENDING, JobState.PENDING, JobState.FAILED]
    assert (jobs.without_refused().count(), stored()) == (1, [])


def test_deleting_takes_the_files_and_a_worker_at_it_stores_nothing(
    tmp_path, lead, monkeypatch, django_capture_on_commit_callbacks
):
    job = seegull(tmp_path, lead)
    true = jobs.import_associations

    def deleted_meanwhile(**options):
        imported = true(**options)
        CatalogueImport.objects.filter(pk=job.pk).delete()
        return imported

    with monkeypatch.context() as patched:
        patched.setattr(jobs, "import_associations", deleted_meanwhile)
        assert jobs.work(job_id=job.pk) is None
    assert not Source.objects.exists()
    admin = factories.user("admin", admin=True)
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(2):
            jobs.delete(job=job, by=admin)
    assert stored() == []
    assert AuditEvent.objects.get(what="catalogue import deleted").by == admin


def test_a_storage_that_is_away_neither_undoes_an_import_nor_keeps_its_record(
    tmp_path, lead, monkeypatch, django_capture_on_commit_callbacks
):
    def away(*args):
        raise ConnectionError("bucket away")

    job = seegull(tmp_path, lead)
    monkeypatch.setattr(files, "delete", away)
    assert jobs.work(job_id=job.pk).state == JobState.DONE
    with django_capture_on_commit_callbacks(execute=True):
        jobs.delete(job=job, by=lead)
    assert not CatalogueImport.objects.exists()


def test_the_files_of_a_refused_import_go_also_if_its_record_is_gone(tmp_path, lead, monkeypatch):
    job = seegull(tmp_path, lead)

    def refused(*args):
        CatalogueImport.objects.all().delete()
        raise files.UploadGone("gone")

    monkeypatch.setattr(files, "fetch", refused)
    assert jobs.work(job_id=job.pk) is None
    assert stored() == []


def test_of_two_files_that_cannot_both_be_stored_none_stays(tmp_path, lead, monkeypatch):
    uploads = {
        "attributes": upload(release_files.attributes(tmp_path)),
        "annotations": ("b.xlsx", io.BytesIO(b"x")),
    }
    true = files.storage().save

    def full(name, content):
        if name.endswith("annotations"):
            raise OSError("disk full")
        return true(name, content)

    monkeypatch.setattr(files.storage(), "save", full)
    with pytest.raises(OSError, match="disk full"):
        jobs.request(kind="visage", uploads=uploads, options={}, by=lead)
    assert (stored(), CatalogueImport.objects.count()) == ([], 0)


def test_files_that_nothing_needs_are_deleted_after_a_day(tmp_path, lead, monkeypatch):
    job = seegull(tmp_path, lead)
    files.storage().save("imports/00000000-0000-0000-0000-000000000000-associations", io.BytesIO(b"x"))
    assert (files.clean_up(), len(stored())) == (0, 2)
    folder = files.upload_spool.folder() / "import-of-a-killed-worker"
    folder.mkdir()
    assert (files.clean_up(), folder.exists()) == (0, True)
    monkeypatch.setattr(files, "_ORPHAN_AGE", timedelta(seconds=-1))
    assert (files.clean_up(), folder.exists()) == (2, False)
    assert stored() == [f"{job.key}-associations"]
    CatalogueImport.objects.update(state=JobState.DONE, finished_at=timezone.now())
    assert (files.clean_up(), stored()) == (1, [])


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\a\\b.csv", "b.csv"),
        ("..", "file"),
        ("a\n\0b.csv", "ab.csv"),
        ("", "file"),
        ("x" * 97 + ".csv", "x" * 96 + ".csv"),
    ],
)
def test_names_of_files_are_names_only(sent, kept):
    assert files.local_name(sent) == kept
    assert os.sep not in kept


def test_the_task_does_one_import(tmp_path, lead, monkeypatch):
    again = []
    monkeypatch.setattr(tasks.import_catalogue, "delay", again.append)
    job = seegull(tmp_path, lead)
    tasks.import_catalogue(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    tasks.import_catalogue(job.pk)  # nothing is left to do
    assert again == []
    monkeypatch.setattr(tasks.broker.worker_stops, "is_set", lambda: True)
    job = seegull(tmp_path, lead)
    tasks.import_catalogue(job.pk)
    assert again == [job.pk], "another worker goes on"


def test_a_message_is_sent_once_a_waiting_import_is_committed_and_only_with_a_broker(
    tmp_path, lead, monkeypatch, settings, django_capture_on_commit_callbacks
):
    job = seegull(tmp_path, lead)
    sent = []

    def broker(job_id):
        sent.append(job_id)
        raise ConnectionError("broker away")

    monkeypatch.setattr(tasks.import_catalogue, "delay", broker)
    for url, state in (
        ("", JobState.PENDING),
        ("redis://here", JobState.DONE),
        ("redis://here", JobState.PENDING),
    ):
        settings.CELERY_BROKER_URL, job.state = url, state
        with django_capture_on_commit_callbacks(execute=True):
            tasks.enqueue(job)
            assert sent == []
    assert sent == [job.pk]
    assert tasks.import_catalogue.name == "annotation.tasks.import_catalogue"
