"""The liveness and readiness probes."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import CatalogueImport, Delivery, ExportJob, Webhook
from generation.models import Job, Run
from metrics.models import AssociationList, CandidateList
from tests import factories
from tests.visage_app.health.test_pages import run, score_run
from visage_app.backup.services import tables
from visage_app.observability.queries import queues

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


@pytest.fixture
def impatient(monkeypatch):
    """Who asks a broker in vain asks once more without waiting for it."""
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)


@pytest.mark.django_db
def test_it_is_ready_with_all_it_needs_and_may_not_be_kept_by_a_cache(client):
    with CaptureQueriesContext(connection) as asked:
        answer = client.get("/readyz")
    assert "SELECT 1" in {each["sql"] for each in asked}, "an open connection may be a dead one"
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "storage": "ok", "queues": "ok"},
    }
    assert "no-store" in answer["Cache-Control"]


def test_it_lives_without_a_database(client):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
class TestNotReady:
    def missing(self, client, name):
        answer = client.get("/readyz")
        assert answer.status_code == 503
        found = answer.json()
        assert found["status"] == "failed"
        assert [each for each, state in found["checks"].items() if state == "failed"] == [name]
        return answer

    def test_without_its_database(self, client, monkeypatch, caplog):
        def refuse(*args, **kwargs):
            raise OperationalError("connection to server at 10.1.2.3 failed: password of visage")

        monkeypatch.setattr("visage_app.health.readiness._database", refuse)
        answer = self.missing(client, "database")
        assert "queues" not in answer.json()["checks"], "they are in the database"
        # why is for the log, not for strangers
        assert "10.1.2.3" not in answer.text
        assert "10.1.2.3" in caplog.text

    def test_with_a_migration_to_apply(self, client):
        newest = max(key for key in tables.applied() if key[0] == "annotation")
        MigrationRecorder(connection).record_unapplied(*newest)
        answer = self.missing(client, "migrations")
        assert "queues" not in answer.json()["checks"], "their tables may not be there yet"

    def test_without_the_broker_that_it_was_given(self, client, settings, impatient):
        settings.CELERY_BROKER_URL = NOBODY_LISTENS
        self.missing(client, "broker")

    def test_without_its_storage(self, client, monkeypatch):
        def refuse(*args):
            raise OSError("no such bucket")

        monkeypatch.setattr(FileSystemStorage, "_open", refuse)
        self.missing(client, "storage")


@pytest.mark.django_db
class TestSlow:
    """Work that waits for a worker is said, and takes no server out: answers can be taken all the same."""

    def queues(self, client):
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        return answer.json()["checks"]["queues"]

    @pytest.fixture
    def study(self):
        return factories.rating_study(name="words")

    def ago(self, minutes):
        return timezone.now() - timedelta(minutes=minutes)

    def test_scores_and_exports_that_wait_too_long(self, client, study, settings, caplog):
        waits = score_run(study, created_at=self.ago(14))
        assert self.queues(client) == "ok"
        settings.QUEUE_SLOW_MINUTES = 13
        assert self.queues(client) == "slow"
        assert "jobs have waited longer than 13 minutes: scores" in caplog.text
        waits.delete()
        job = ExportJob.objects.create(study=study, format="csv")
        ExportJob.objects.filter(pk=job.pk).update(created_at=self.ago(14))
        assert self.queues(client) == "slow"

    def test_a_message_that_rests_does_not_wait(self, client, study):
        hook = Webhook.objects.create(study=study, url="https://example.org/hook", secret="s")
        sent = Delivery.objects.create(webhook=hook, event="ping", not_before=self.ago(-60))
        Delivery.objects.filter(pk=sent.pk).update(created_at=self.ago(600))
        assert self.queues(client) == "ok"
        # its time came five minutes ago
        Delivery.objects.filter(pk=sent.pk).update(not_before=self.ago(5))
        assert self.queues(client) == "ok"
        Delivery.objects.filter(pk=sent.pk).update(not_before=self.ago(16))
        assert self.queues(client) == "slow"

    @pytest.mark.parametrize("kind", ["candidates", "associations", "imports"])
    def test_what_was_tried_waits_from_when_it_may_be_tried_again(self, kind):
        now = timezone.now()
        if kind == "imports":
            made = CatalogueImport.objects.create(kind="seegull")
        elif kind == "candidates":
            made = CandidateList.objects.create(run=run(), axis="nationality", per_region=1, digest="x")
        else:
            made = AssociationList.objects.create(run=run(), digest="x")
        rows = type(made).objects
        rows.update(created_at=now - timedelta(minutes=30), not_before=now - timedelta(minutes=10))
        assert queues.ages(now)[kind] == 600
        rows.update(created_at=now - timedelta(minutes=5))
        assert queues.ages(now)[kind] == 300, "a time from before it was asked for is no reason"
        rows.update(not_before=None)
        assert queues.ages(now)[kind] == 300

    def test_slow_is_what_waits_longer_than_the_limit(self, study, settings):
        waits = score_run(study, created_at=self.ago(14))
        waits.refresh_from_db()
        limit = waits.created_at + timedelta(minutes=settings.QUEUE_SLOW_MINUTES)
        assert queues.slow(limit) == ()
        assert queues.slow(limit + timedelta(seconds=1)) == ("scores",)
        behind = waits.created_at - timedelta(seconds=1)
        assert queues.ages(behind)["scores"] == 0, "by a clock that is behind"

    def test_since_when_nobody_works_on_runs(self):
        """Since the last job ended, but not before a run with jobs to do was started."""
        now = timezone.now()
        minutes = {count: now - timedelta(minutes=count) for count in range(6)}
        first = run(started_at=minutes[4])
        jobs = [Job.objects.create(run=first, image=factories.image(index=index)) for index in (1, 2)]
        done = {"state": "done", "finished_at": minutes[5]}
        Job.objects.filter(pk=jobs[1].pk).update(**done)
        assert queues.ages(now)["generation"] == 240, "what ended before it was started is no sign"
        other = run(started_at=minutes[2])
        more = Job.objects.create(run=other, image=factories.image(index=3))
        assert queues.ages(now)["generation"] == 240, "the run that waits longest counts"
        Job.objects.create(run=other, image=factories.image(index=4), state="done", finished_at=minutes[1])
        assert queues.ages(now)["generation"] == 60, "the last one that ended counts"
        Job.objects.filter(state="done").delete()
        assert queues.ages(now)["generation"] == 240
        rests = Job.objects.filter(pk=jobs[0].pk)
        rests.update(not_before=now + timedelta(minutes=1))
        assert queues.ages(now)["generation"] == 120, "the first run has nothing to do now"
        rests.update(state="claimed", claim=uuid4(), lease_expires_at=now)
        assert queues.ages(now)["generation"] == 0, "a lease is held until its last moment"
        Run.objects.filter(pk=first.pk).update(state="paused")
        assert queues.ages(now)["generation"] == 120, "a worker that ends a job of a paused run does no other"
        more.delete()
        assert queues.ages(now)["generation"] == 0

    def test_a_run_waits_while_nobody_works_on_any(self, client):
        """The ten thousandth picture waits for days, and nothing is wrong."""
        begun = run(started_at=self.ago(600))
        Job.objects.create(run=begun, image=factories.image())
        assert self.queues(client) == "slow"
        done = Job.objects.create(
            run=begun, image=factories.image(index=2), state="done", finished_at=self.ago(5)
        )
        assert self.queues(client) == "ok", "somebody finished one just now"
        Job.objects.filter(pk=done.pk).update(finished_at=self.ago(60))
        assert self.queues(client) == "slow"
        held = {"state": "claimed", "claim": uuid4(), "lease_expires_at": self.ago(-1)}
        Job.objects.create(run=begun, image=factories.image(index=3), **held)
        assert self.queues(client) == "ok", "somebody is at one"
        Run.objects.update(state="paused")
        assert self.queues(client) == "ok"
