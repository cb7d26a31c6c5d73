"""`/metrics`: access, content, and the cost of a scrape."""

import os
import re
import subprocess
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from annotation.assignment.services import slots
from annotation.models import AuditEvent, Delivery, ExportJob, Judgement, Slot, Webhook
from generation.jobs.services import workers
from generation.models import Job, Worker
from tests import factories
from tests.visage_app.health.test_pages import run, score_run
from visage_app.observability import monitoring
from visage_app.observability.queries import metrics as metric_queries
from visage_app.observability.queries import queues
from visage_app.observability.requests import FOLDER

pytestmark = pytest.mark.django_db
TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(autouse=True)
def _with_token(settings):
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture
def study():
    return factories.rating_study(name="words")


def scrape(client, token=TOKEN):
    return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def samples(client) -> dict[str, float]:
    """name{label="value"} -> value"""
    found = {}
    for family in text_string_to_metric_families(scrape(client).text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    return found


def test_only_who_knows_the_token_reads_them(client, settings):
    assert scrape(client).status_code == 200
    loose = client.get("/metrics", headers={"Authorization": f"bearer  {TOKEN} "})
    assert loose.status_code == 200
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405
    for header in (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer", ""):
        refused = client.get("/metrics", headers={"Authorization": header})
        assert refused.status_code == 401
        assert refused["WWW-Authenticate"].startswith("Bearer")
        assert "visage_" not in refused.text
    assert client.get(f"/metrics?token={TOKEN}").status_code == 401
    client.force_login(factories.user("root", admin=True))
    assert client.get("/metrics").status_code == 401, "not even admins: it is for machines"
    settings.METRICS_TOKEN = ""
    assert scrape(client).status_code == scrape(client, token="").status_code == 404


@pytest.mark.parametrize(
    ("token", "taken"),
    [("", True), ("x" * 20, True), (f" {'x' * 20} ", True), ("x" * 19, False), ("ü" * 20, False)],
)
def test_a_token_is_long_enough_and_fits_a_header(monkeypatch, token, taken):
    monkeypatch.setenv("METRICS_TOKEN", token)
    if taken:
        assert monitoring.metrics_token() == token.strip()
    else:
        with pytest.raises(ImproperlyConfigured, match="METRICS_TOKEN has fewer than 20 characters"):
            monitoring.metrics_token()


def test_requests_are_counted_by_route_and_nothing_a_client_chooses(client, settings):
    def counted():
        said = samples(client)
        return {name: value for name, value in said.items() if name.startswith("visage_http_requests_total")}

    before = counted()
    for path in ("/studies/made-up-1/", "/nowhere/at-all/", "/static/none.css"):
        client.get(path)
    client.generic("BREW", "/healthz")
    settings.METRICS_TOKEN = ""
    client.get("/nowhere/at-all/")  # is not counted
    settings.METRICS_TOKEN = TOKEN
    after = counted()
    grown = {name.partition("{")[2]: value - before.get(name, 0) for name, value in after.items()}
    assert grown['method="GET",route="study",status="3xx"}'] == 1
    assert grown['method="GET",route="none",status="4xx"}'] == 1
    assert grown['method="GET",route="static",status="4xx"}'] == 1
    assert grown['method="other",route="healthz",status="4xx"}'] == 1
    text = scrape(client).text
    assert "no-store" in scrape(client)["Cache-Control"]
    assert 'visage_http_request_duration_seconds_bucket{le="0.1",method="GET",route="metrics"}' in text
    for word in ("made-up-1", "nowhere", "BREW", TOKEN):
        assert word not in text


def test_it_says_what_the_rows_say(client, study):
    now = timezone.now()
    enrolment = factories.enrolment(study)
    slots.lease_next(enrolment=enrolment)
    score_run(study, created_at=now - timedelta(hours=2))
    score_run(study, state="claimed", lease_expires_at=now + timedelta(minutes=9))
    score_run(study, state="failed", error="no votes", finished_at=now)
    score_run(study, state="done", finished_at=now - timedelta(minutes=2))
    score_run(study, state="done", finished_at=now - timedelta(minutes=9))
    ExportJob.objects.create(study=study, format="csv", state="claimed", claim=uuid4(), lease_expires_at=now)
    hook = Webhook.objects.create(study=study, url="https://example.org/hook", secret="s")
    Delivery.objects.create(webhook=hook, event="ping", not_before=now + timedelta(hours=1))
    Delivery.objects.create(webhook=hook, event="ping")
    Job.objects.create(run=run(), image=factories.image())
    AuditEvent.objects.create(what="backup")
    said = samples(client)
    assert said['visage_leases{state="open"}'] == 1
    assert said['visage_leases{state="expired"}'] == 0
    assert said["visage_annotators_active"] == 1
    of = {name: {} for name in ("waiting", "claimed", "failed", "done_5m", "oldest_seconds")}
    for name, by_queue in of.items():
        for queue in ("scores", "exports", "deliveries", "generation"):
            by_queue[queue] = said[f'visage_queue_{name}{{queue="{queue}"}}']
    # a claim that has run out waits again
    assert of["waiting"] == {"scores": 1, "exports": 1, "deliveries": 1, "generation": 1}
    assert of["claimed"] == {"scores": 1, "exports": 0, "deliveries": 0, "generation": 0}
    assert of["failed"]["scores"] == of["done_5m"]["scores"] == 1
    assert 7200 <= of["oldest_seconds"]["scores"] < 7300
    assert of["oldest_seconds"]["deliveries"] < 100
    assert said["visage_database_up"] == 1
    assert said["visage_database_bytes"] > 10_000
    assert said["visage_disk_free_bytes"] > 0
    assert abs(said["visage_last_backup_timestamp_seconds"] - now.timestamp()) < 100
    Slot.objects.filter(state="leased").update(
        lease_expires_at=now - timedelta(minutes=1), leased_at=now - timedelta(minutes=16)
    )
    said = samples(client)
    assert said['visage_leases{state="expired"}'] == 1
    assert said["visage_annotators_active"] == 0


def test_each_limit_of_time_is_the_last_moment_that_counts(client, study, monkeypatch):
    now = timezone.now().replace(microsecond=0)
    monkeypatch.setattr(timezone, "now", lambda: now)
    assert len(slots.lease(enrolment=factories.enrolment(study), wanted=2)) == 2
    held = Slot.objects.filter(state="leased")
    held.update(lease_expires_at=now, leased_at=now - metric_queries.ACTIVE)
    score_run(study, state="done", finished_at=now - queues.RECENT)
    score_run(study, state="claimed", lease_expires_at=now)
    seen = now - workers.SILENT_AFTER
    Worker.objects.create(name="a", queue="gpu", host="node1", started_at=seen, seen_at=seen)
    said = samples(client)
    assert (said['visage_leases{state="open"}'], said['visage_leases{state="expired"}']) == (2, 0)
    assert said["visage_annotators_active"] == 1
    assert said['visage_queue_done_5m{queue="scores"}'] == said['visage_queue_claimed{queue="scores"}'] == 1
    assert said['visage_workers{queue="gpu"}'] == 1


def test_answers_are_counted_by_their_numbers(client, study):
    before = samples(client)
    unit = study.tasks.get().units.first()
    factories.response(unit, values=[3])
    after = samples(client)
    for what in ("responses", "judgements"):
        assert after[f"visage_{what}_stored_total"] == before[f"visage_{what}_stored_total"] + 1
    Judgement.objects.all().delete()
    assert samples(client)["visage_judgements_stored_total"] == after["visage_judgements_stored_total"]


def test_a_gpu_is_there_when_a_worker_has_one(client):
    assert "gpu" not in scrape(client).text, "absent, not nought"
    now = timezone.now()
    made = {"queue": "gpu", "host": "node1", "started_at": now, "memory_total": 80 * 2**30}
    card = "cuda:0 NVIDIA H100 80GB HBM3"
    Worker.objects.create(name="a", seen_at=now - timedelta(seconds=9), device=card, memory_used=1, **made)
    Worker.objects.create(name="b", seen_at=now, device=card, memory_used=7 * 2**30, **made)
    gone = now - timedelta(minutes=5)
    Worker.objects.create(name="c", seen_at=gone, device="cuda:1 lost", memory_used=1, **made)
    Worker.objects.create(name="d", seen_at=now, queue="default", host="node1", started_at=now)
    said = samples(client)
    assert said[f'visage_gpu_memory_used_bytes{{device="{card}",host="node1"}}'] == 7 * 2**30
    assert said[f'visage_gpu_memory_total_bytes{{device="{card}",host="node1"}}'] == 80 * 2**30
    assert not any("lost" in name or 'device=""' in name for name in said)
    assert (said['visage_workers{queue="gpu"}'], said['visage_workers{queue="default"}']) == (2, 1)


@pytest.mark.parametrize("fault", [OperationalError, InterfaceError])
def test_a_database_that_is_away_hides_the_rows_and_not_the_requests(client, monkeypatch, fault):
    def away(**_):
        raise fault("connection refused")

    scrape(client)  # a request to be counted: this test may be the first of its process
    monkeypatch.setattr(metric_queries, "read_metrics", away)
    said = samples(client)
    assert said["visage_database_up"] == 0
    assert any(name.startswith("visage_http_requests_total") for name in said)
    assert not any("queue" in name for name in said)


def asked(client) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        scrape(client)
    return [each["sql"] for each in queries]


def test_a_scrape_asks_the_same_few_questions_however_much_there_is(client, study):
    few = asked(client)
    for number in range(3):
        score_run(study, state="failed", error="no votes", finished_at=timezone.now())
        ExportJob.objects.create(study=study, format="csv")
        Job.objects.create(run=run(), image=factories.image(index=number + 1))
        slots.lease_next(enrolment=factories.enrolment(study))
    many = asked(client)
    assert len(many) == len(few) == 41
    tables = {name for sql in many for name in re.findall(r'FROM "(\w+)"', sql)}
    # what grows with the answers is asked for nowhere, but for the slots in hand
    assert not tables & {"annotation_response", "annotation_judgement", "annotation_unit", "annotation_image"}


def test_the_questions_are_answered_from_indexes_of_few_rows(client, study):
    """Nothing is searched through from end to end that grows with the study, the images or the messages."""
    if connection.vendor != "sqlite":
        pytest.skip("SQLite tells the same plan for an empty table as for a large one")
    large = ("annotation_slot", "generation_job", "annotation_delivery", "annotation_auditevent")
    scanned = []
    with CaptureQueriesContext(connection) as queries:
        metric_queries.read_metrics()
    with connection.cursor() as cursor:
        for each in queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {each['sql']}")
            for *_, step in cursor.fetchall():
                if step.startswith("SCAN") and step.split()[1] in large and "INDEX" not in step:
                    scanned.append((step, each["sql"]))
    assert not scanned, scanned


def test_more_than_ten_thousand_are_not_counted(study, monkeypatch):
    monkeypatch.setattr(queues, "CAP", 2)
    for _ in range(3):
        ExportJob.objects.create(study=study, format="csv")
    assert queues.loads(timezone.now())["exports"].waiting == 2


@pytest.mark.processes
def test_all_processes_of_the_server_are_added_up(tmp_path):
    """Each process counts in a file of the server's folder, and a scrape of one of them says what all did."""
    child = """
import os, sys
import django
django.setup()
from visage_app.observability import requests
from prometheus_client import CollectorRegistry, generate_latest
requests.count(route="home", method="GET", status=200, seconds=0.2)
if sys.argv[1] == "tell":
    registry = CollectorRegistry()
    requests.register(registry)
    print(generate_latest(registry).decode())
"""
    env = {
        **os.environ,
        FOLDER: str(tmp_path),
        "METRICS_TOKEN": TOKEN,
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
    }
    for what in ("count", "tell"):
        done = subprocess.run(
            [sys.executable, "-c", child, what], env=env, capture_output=True, text=True, check=True
        )
    assert 'visage_http_requests_total{method="GET",route="home",status="2xx"} 2.0' in done.stdout
    assert 'duration_seconds_count{method="GET",route="home"} 2.0' in done.stdout
