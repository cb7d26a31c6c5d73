"""The health page: waiting jobs, workers, and what needs attention."""

import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.assignment.services import slots
from annotation.core.leases import lease_length
from annotation.models import AuditEvent, CatalogueImport, Delivery, ExportJob, Slot, Webhook
from generation.jobs.services import workers
from generation.models import Job, Run, RunKind, Worker
from generation.recipes.recipes import CaptionRecipe, as_json
from metrics.models import AssociationList, CandidateList, ScoreRun
from tests import factories
from visage_app.health import queries
from visage_app.health.queries import ILL_FOR, LONG, Queue, health
from visage_app.storage import queries as storage_queries

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_counted_yet():
    cache.delete(storage_queries.FILES_KEY)
    yield
    cache.delete(storage_queries.FILES_KEY)


@pytest.fixture
def admin(client):
    user = factories.user("root", admin=True)
    client.force_login(user)
    return user


@pytest.fixture
def study():
    return factories.rating_study(name="words")


def queue(kind):
    return next(each for each in health().queues if each.kind == kind)


def score_run(study, **fields) -> ScoreRun:
    made = ScoreRun.objects.create(
        study=study,
        metric="consensus",
        version=1,
        variant="corrected",
        digest=f"{ScoreRun.objects.count():064}",
        resamples=0,
        **{name: value for name, value in fields.items() if name != "created_at"},
    )
    if "created_at" in fields:
        ScoreRun.objects.filter(pk=made.pk).update(created_at=fields["created_at"])
    return made


def run(state="running", **fields) -> Run:
    return Run.objects.create(
        kind=RunKind.CAPTIONS,
        image_set=factories.image_set(),
        backend="fake",
        recipe=as_json(CaptionRecipe(backend="fake")),
        recipe_hash=factories.recipe_hash(),
        state=state,
        started_at=fields.pop("started_at", timezone.now()),
    )


def test_a_fresh_installation_needs_no_attention(client, admin):
    page = client.get("/health/")
    assert "Nothing needs attention" in page.text
    assert "Needs attention" not in page.text
    assert "There is no broker" in page.text
    assert "latest failures" not in page.text
    assert health().unapplied == ()
    assert health().storage.database_size > 10_000
    assert health().storage.database.startswith(
        {"sqlite": "SQLite 3", "postgresql": "PostgreSQL 1"}[connection.vendor]
    )


def test_each_kind_of_work_is_counted_by_its_state(study):
    now = timezone.now()
    score_run(study, created_at=now - timedelta(hours=2))
    score_run(study)
    claimed = {"state": "claimed", "lease_expires_at": now + timedelta(minutes=9)}
    score_run(study, **claimed, created_at=now - timedelta(hours=3))
    score_run(study, state="failed", error="no votes", finished_at=now)
    score_run(study, state="done", finished_at=now)
    ExportJob.objects.create(study=study, format="csv", state="failed", error="disk full", finished_at=now)
    hook = Webhook.objects.create(study=study, url="https://example.org/hook", secret="s")
    Delivery.objects.create(webhook=hook, event="ping")
    Delivery.objects.create(webhook=hook, event="ping", state="claimed", claim=uuid4(), lease_expires_at=now)
    image = factories.image()
    job = Job.objects.create(run=run(), image=image)
    scores = queue("scores")
    assert (scores.waiting, scores.claimed, scores.failed) == (2, 1, 1)
    assert now - scores.oldest == timedelta(hours=2)
    assert now - scores.heard < timedelta(minutes=2), "by its lease, the one at work was heard of just now"
    assert [(each.what, each.error, each.study) for each in scores.failures] == [
        ("consensus", "no votes", "words")
    ]
    assert [each.error for each in queue("exports").failures] == ["disk full"]
    assert (queue("deliveries").waiting, queue("deliveries").claimed) == (1, 1)
    assert (queue("generation").waiting, queue("generation").oldest) == (1, job.run.started_at)


def test_a_worker_was_heard_of_when_it_last_renewed_its_lease(study):
    """Where leases have the same length for all; that of an export or a message is not known here."""
    now = timezone.now()
    held = {"state": "claimed", "lease_expires_at": now + lease_length()}
    score_run(study, **held)
    held["claim"] = uuid4()
    begun = run()
    Job.objects.create(run=begun, image=factories.image(), **held)
    CandidateList.objects.create(run=begun, axis="nationality", per_region=1, digest="x", **held)
    AssociationList.objects.create(run=begun, digest="x", **held)
    CatalogueImport.objects.create(kind="seegull", **held)
    heard = {each.kind: each.heard for each in health().queues if each.heard}
    assert heard == dict.fromkeys(("generation", "scores", "candidates", "associations", "imports"), now)


def test_an_import_whose_files_were_refused_is_no_failure():
    failed = {"state": "failed", "error": "no file", "finished_at": timezone.now()}
    CatalogueImport.objects.create(kind="seegull", attempts=1, **failed)
    assert queue("imports").failed == 0


def test_the_latest_failures_come_first(study):
    now = timezone.now()
    numbers = [
        score_run(study, state="failed", error="no votes", finished_at=now - timedelta(hours=hours)).pk
        for hours in (2, 1, 3)
    ]
    assert [each.number for each in queue("scores").failures] == [numbers[1], numbers[0], numbers[2]]


@pytest.mark.parametrize("state", ["planned", "paused", "cancelled"])
def test_jobs_of_a_run_that_does_not_run_are_not_waiting(state):
    Job.objects.create(run=run(state), image=factories.image())
    assert queue("generation").waiting == 0


def test_jobs_that_failed_count_until_their_run_is_cancelled():
    failed = {"state": "failed", "error": "no memory", "finished_at": timezone.now()}
    done = run("done")
    Job.objects.create(run=done, image=factories.image(), **failed)
    Job.objects.create(run=run("cancelled"), image=factories.image(index=2), **failed)
    found = queue("generation")
    assert found.failed == 1
    assert [(each.run, each.error) for each in found.failures] == [(done.pk, "no memory")]


def test_the_last_activity_is_told_after_the_run_has_ended():
    ended = timezone.now()
    Job.objects.create(run=run("done"), image=factories.image(), state="done", finished_at=ended)
    assert queue("generation").heard == ended


def test_a_webhook_that_was_disabled_waits_for_nobody(study):
    hook = Webhook.objects.create(
        study=study, url="https://example.org/hook", secret="s", disabled_at=timezone.now()
    )
    Delivery.objects.create(webhook=hook, event="ping")
    assert queue("deliveries").waiting == 0


def test_work_that_waits_with_nobody_heard_of_needs_attention(client, admin, study):
    now = timezone.now()
    score_run(study, created_at=now - LONG - timedelta(minutes=1))
    assert health().stuck == ("scores",)
    assert not health().well
    assert "Scores: jobs are waiting and there is no sign of a worker." in client.get("/health/").text
    # somebody ended another one a moment ago: it will have its turn
    score_run(study, state="done", finished_at=now - timedelta(minutes=1))
    assert health().stuck == ()


@pytest.mark.parametrize(
    ("oldest", "heard", "stuck"),
    [
        (LONG, None, False),
        (LONG + timedelta(seconds=1), None, True),
        (LONG + timedelta(seconds=1), LONG, False),
        (LONG + timedelta(seconds=1), LONG + timedelta(seconds=1), True),
        (None, None, False),
    ],
)
def test_how_long_nobody_must_be_heard_of(oldest, heard, stuck):
    now = timezone.now()
    moments = {"oldest": oldest and now - oldest, "heard": heard and now - heard}
    found = Queue("scores", waiting=1, claimed=0, failed=0, failures=(), **moments)
    assert found.stuck(now) is stuck


def test_work_that_has_waited_a_moment_needs_none(study):
    score_run(study)
    assert health().stuck == ()
    assert health().well


def test_a_run_waits_since_it_was_resumed():
    now = timezone.now()
    resumed = run(started_at=now - timedelta(days=1))
    Job.objects.create(run=resumed, image=factories.image())
    assert health().stuck == ("generation",)
    event = AuditEvent.objects.create(what="run resumed", details={"run": resumed.pk})
    found = health()
    assert (found.stuck, found.slow, found.queues[0].oldest) == ((), (), event.at)
    later = health(now=event.at + LONG + timedelta(seconds=1))
    assert (later.stuck, later.slow) == (("generation",), ())
    other = run(started_at=now - timedelta(days=1))
    Job.objects.create(run=other, image=factories.image(index=2))
    assert health().stuck == ("generation",), "another run has waited all the time"


def test_work_that_waits_long_though_somebody_works_is_slow(client, admin, study, settings):
    now = timezone.now()
    score_run(study, created_at=now - timedelta(minutes=settings.QUEUE_SLOW_MINUTES + 1))
    assert (health().stuck, health().slow) == (("scores",), ()), "said once"
    score_run(study, state="done", finished_at=now - timedelta(minutes=1))
    assert (health().stuck, health().slow) == ((), ("scores",))
    assert not health().well
    assert "Scores: the oldest job has waited for more than 15 minutes." in client.get("/health/").text


def test_workers_are_listed_and_one_that_fell_silent_needs_attention(client, admin):
    assert "No worker has reported" in client.get("/health/").text
    now = timezone.now()
    made = {"started_at": now - timedelta(hours=1), "version": "0.1 (abc)", "host": "node1"}
    gpu = {"device": "cuda:0 H100", "memory_used": 3 * 2**30, "memory_total": 80 * 2**30}
    Worker.objects.create(name="gpu node1 7", queue="gpu", seen_at=now, **made, **gpu)
    page = client.get("/health/").text
    assert "3.0\xa0GB / 80.0\xa0GB" in page
    assert "0.1 (abc)" in page
    assert health().well
    Worker.objects.create(name="gpu node1 8", queue="gpu", seen_at=now + timedelta(seconds=1), **made)
    gone = {"queue": "default", "seen_at": now - timedelta(minutes=3), **made}
    silent = Worker.objects.create(name="default node2 9", **gone)
    assert "The worker default node2 9 has stopped reporting" in client.get("/health/").text
    assert not health().well
    names = [each.name for each in health().workers]
    assert names == ["default node2 9", "gpu node1 8", "gpu node1 7"], "by queue, the latest report first"
    assert health(now=silent.seen_at + workers.SILENT_AFTER).silent == ()


def test_a_worker_that_fell_ill_needs_attention_for_an_hour_and_says_why(client, admin):
    now = timezone.now()
    ill = Worker.objects.create(
        name="gpu node3 8",
        queue="gpu",
        host="node3",
        started_at=now,
        seen_at=now,
        ill_at=now,
        error="CUDA <error>",
    )
    page = client.get("/health/").text
    assert "A worker on node3 ended at" in page
    assert "CUDA &lt;error&gt;" in page
    assert (health().well, health().silent) == (False, ())
    assert health(now=now + ILL_FOR - timedelta(seconds=1)).ill == (ill,)
    assert health(now=now + ILL_FOR).ill == ()
    Worker.objects.filter(pk=ill.pk).update(ill_at=now - timedelta(hours=2), seen_at=now - timedelta(hours=2))
    assert health().well
    assert "ended: its device or model failed" in client.get("/health/").text


def test_the_last_backup_is_known_if_it_was_made_from_here(client, admin):
    AuditEvent.objects.create(what="restore")
    assert "none made with" in client.get("/health/").text
    AuditEvent.objects.create(what="backup")
    assert "none made with" not in client.get("/health/").text
    assert timezone.now() - health().last_backup < timedelta(minutes=1)


def test_a_lease_that_nobody_returns_tells_of_a_missing_worker(client, admin, study):
    slots.lease_next(enrolment=factories.enrolment(study))
    assert health().overdue == 0
    Slot.objects.filter(state="leased").update(lease_expires_at=timezone.now() - LONG - timedelta(minutes=1))
    assert health().overdue == 1
    assert health(now=Slot.objects.get(state="leased").lease_expires_at + LONG).overdue == 0
    assert "1 item has an expired reservation" in client.get("/health/").text


def test_what_was_given_up_says_why_and_can_be_tried_again(client, admin, study):
    failed = score_run(study, state="failed", error="<b>no votes</b>", finished_at=timezone.now())
    page = client.get("/health/").text
    assert "Scores: 1 job failed." in page
    assert "&lt;b&gt;no votes" in page
    answer = client.post(f"/studies/words/scores/{failed.pk}/retry/", {"next": "/health/"})
    assert answer.url == "/health/"
    assert queue("scores").failed == 0


def test_a_migration_that_is_not_applied_is_named(client, admin):
    MigrationRecorder(connection).record_unapplied("annotation", "0004_slots_of_somebody")
    assert "annotation 0004_slots_of_somebody" in client.get("/health/").text


def test_files_are_counted_as_far_as_time_allows(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    factories.image()
    factories.image(index=2, file="images/kept.png", sha256="a" * 64)
    for number in range(5):
        (tmp_path / f"{number}" / "deep").mkdir(parents=True)
        (tmp_path / f"{number}" / "deep" / "a.png").write_bytes(b"x" * 100)
    files = health().storage.files
    assert (files.images, files.count, files.size, files.whole) == (1, 5, 500, True)
    (tmp_path / "more.png").write_bytes(b"x")
    assert health().storage.files.count == 5, "not walked again at every look"
    cache.delete(storage_queries.FILES_KEY)
    monkeypatch.setattr(storage_queries, "_WALK_SECONDS", -1)
    cut = health().storage.files
    assert (cut.count, cut.whole) == (0, False)


def test_a_file_that_is_deleted_meanwhile_is_not_counted(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(storage_queries.os, "walk", lambda folder: [(folder, [], ["gone.png"])])
    files = health().storage.files
    assert (files.count, files.size, files.whole) == (0, 0, True)


def test_files_elsewhere_are_not_counted(settings):
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "default": memory}
    files = health().storage.files
    assert (files.count, files.size, files.whole) == (None, None, True)


def test_free_space_is_known_before_there_is_a_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "none" / "yet"
    assert storage_queries.disk_free() > 0


def test_a_disk_that_is_nearly_full_needs_attention(client, admin, monkeypatch):
    monkeypatch.setattr(storage_queries, "MIN_FREE_SPACE", 2**60)
    assert "The disk is nearly full" in client.get("/health/").text


def test_a_broker_that_is_away_needs_attention_and_breaks_nothing(client, admin, settings, monkeypatch):
    # asked once more without waiting for it
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    assert health().broker is False
    assert "The broker does not answer" in client.get("/health/").text


@pytest.mark.parametrize("fault", [OSError, OperationalError])
def test_however_a_broker_fails_it_does_not_answer(settings, monkeypatch, fault):
    def fail(*_, **__):
        raise fault("no route to host")

    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(queries, "current_app", SimpleNamespace(connection_for_read=fail))
    assert queries.broker_answers() is False


def test_the_moving_part_alone_and_only_when_it_moved(client, admin, study, monkeypatch):
    # others write to the same disk meanwhile
    monkeypatch.setattr(storage_queries, "database_size", lambda: 10**6)
    monkeypatch.setattr(storage_queries.shutil, "disk_usage", lambda path: SimpleNamespace(free=10**11))
    part = client.get("/health/live/").text
    assert "<html" not in part
    again = re.search(r'hx-get="(/health/live/\?mark=\w+)"', part)[1]
    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    again = re.search(r'hx-get="([^"]+)"', client.get(again).text or part)[1]
    assert client.get(again).status_code == 204
    score_run(study, state="failed", error="no votes", finished_at=timezone.now())
    assert "no votes" in client.get(again).text


def test_the_mark_is_another_with_whatever_the_page_shows():
    told = replace(health(), at=timezone.now().replace(second=0))
    other = Worker(name="other")
    changes = {
        "at": [told.at + timedelta(minutes=1)],
        "queues": [()],
        "overdue": [1],
        "broker": [True],
        "unapplied": [("annotation 0002",)],
        "workers": [(other,)],
        "silent": [("other",)],
        "ill": [(other,)],
        "slow": [("scores",)],
        "storage": [
            replace(told.storage, free=told.storage.free + 2**20),
            replace(told.storage, database_size=told.storage.database_size + 2**20),
            replace(told.storage, files=replace(told.storage.files, images=7)),
        ],
    }
    marks = [replace(told, **{name: to}).mark for name, values in changes.items() for to in values]
    assert len({told.mark, *marks}) == 1 + len(marks)
    assert replace(told, at=told.at + timedelta(seconds=59)).mark == told.mark


def test_no_more_queries_for_more_failures(client, admin, study):
    def fail(number):
        for _ in range(number):
            score_run(study, state="failed", error="no votes", finished_at=timezone.now())
            ExportJob.objects.create(
                study=study, format="csv", state="failed", error="full", finished_at=timezone.now()
            )

    fail(2)
    client.get("/health/")
    with CaptureQueriesContext(connection) as few:
        client.get("/health/")
    fail(20)
    with CaptureQueriesContext(connection) as many:
        page = client.get("/health/")
    assert len(many) == len(few)
    assert page.text.count("no votes") == queries.FAILED_SHOWN
