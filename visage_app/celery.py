"""The Celery application: `celery -A visage_app worker -Q default`."""

import logging.config
import os
from contextlib import ExitStack
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_ready, worker_shutdown

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")

app = Celery("visage_app")
app.config_from_object("django.conf:settings", namespace="CELERY")
# The packages with tasks. Broker messages contain the task names, so they stay the same when code moves.
app.autodiscover_tasks(
    [
        *("annotation.exports", "annotation.imports", "generation.jobs"),
        *("metrics.associations", "metrics.candidates", "metrics.score_runs"),
    ]
)
_reporting = ExitStack()


@setup_logging.connect
def _configure_logging(**_: Any) -> None:
    """Use the program's logging: with this handler, Celery does not set up its own, and LOG_LEVEL applies."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@worker_ready.connect
def _start_reporting(sender: Any, **_: Any) -> None:
    """Report from the main process, after its children were forked."""
    from generation.jobs.services import workers

    queues = ",".join(sorted(sender.app.amqp.queues.consume_from))
    _reporting.enter_context(workers.reporting(queue=queues[:20]))


@worker_shutdown.connect
def _stop_reporting(**_: Any) -> None:
    _reporting.close()
