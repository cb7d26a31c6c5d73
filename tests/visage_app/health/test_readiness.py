"""The liveness and readiness probes."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from annotation.models import Delivery, ExportJob, Webhook
from generation.models import Job, Run
from tests import factories
from tests.visage_app.health.test_pages import run, score_run
from visage_app.backup.services import tables

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


@pytest.fixture
def impatient(monkeypatch):
    """Who asks a broker in vain asks once more without waiting for it."""
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)


@pytest.mark.django_db
def test_it_is_ready_with_all_it_needs_and_may_not_be_kept_by_a_cache(client):
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "storage": "ok", "queues": "ok"},
    }
    assert "no-store" in answer["Cache-Control"]


def test_it_lives_without_a_database(client):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


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
