"""A real Celery worker on the broker that this pass of the suite names."""

from __future__ import annotations

import signal

import pytest

from tests.processes import brokers
from tests.processes.conftest import Installation
from tests.waiting import wait_for

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
BROKER = brokers.own()

RING = """
import django; django.setup()
from metrics.score_runs import tasks
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from annotation.models import Study
run = score_runs.request(study=Study.objects.get(name="load"), metric="visual_nature", variant="corrected")
tasks.enqueue(run)
"""
STATE = """
import django; django.setup()
from metrics.models import ScoreRun
print(ScoreRun.objects.get().state)
"""


@pytest.mark.skipif(not BROKER, reason="NO BROKER: CELERY_BROKER_URL is not set, no Celery worker was tried")
def test_a_score_run_that_is_rung_for_is_computed_by_a_celery_worker(installation: Installation):
    installation.env["CELERY_BROKER_URL"] = BROKER
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    [enrolment] = installation.act("set_up", 2, 1, "any")
    installation.act("annotate_together", enrolment, 1, installation.env["VAR_DIR"], 0)
    command = [
        "-m",
        "celery",
        "-A",
        "visage_app",
        "worker",
        "-P",
        "solo",
        "--without-mingle",
        "-l",
        "WARNING",
    ]
    worker = installation.python(*command)
    try:
        installation.run("-c", RING)
        wait_for(lambda: installation.run("-c", STATE).strip() == "done", "nobody computed it")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
