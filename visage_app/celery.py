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
# The rooms with tasks. A name of a task is its name in messages of the broker, and stays when code moves.
app.autodiscover_tasks(["annotation.exports", "generation.jobs", "metrics.score_runs"])
_reporting = ExitStack()


@setup_logging.connect
def _same_lines(**_: Any) -> None:
    """Lines as everywhere else: with this, Celery sets up none of its own, and LOG_LEVEL decides."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@worker_ready.connect
def _begin_reporting(sender: Any, **_: Any) -> None:
    """From the main process, whose children are forked by now."""
    from generation.jobs.services import workers

    queues = ",".join(sorted(sender.app.amqp.queues.consume_from))
    _reporting.enter_context(workers.reporting(queue=queues[:20]))


@worker_shutdown.connect
def _end_reporting(**_: Any) -> None:
    _reporting.close()
