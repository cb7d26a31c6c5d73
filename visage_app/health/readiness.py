"""Whether this process can serve requests, for `/readyz`."""

import logging
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings
from django.core.files.storage import storages
from django.db import connection
from django.utils import timezone

from visage_app.database.migrations import unapplied_migrations
from visage_app.health import queries
from visage_app.observability.queries import queues

log = logging.getLogger(__name__)
OK, FAILED, SLOW = "ok", "failed", "slow"


class NotReady(Exception):
    """A failed check. The message is for the log."""


def checks() -> dict[str, str]:
    """Name of each check -> *ok* or *failed*, and *queues* -> *ok* or *slow*. The reason is only in the log,
    since the endpoint is public.

    Slow queues never make a server unready. All servers share the same queues, so one missing worker would
    take all of them out of service while each could still accept answers.
    """
    required: dict[str, Callable[[], None]] = {
        "database": _database,
        "migrations": _migrations,
        "storage": _storage,
    }
    if settings.CELERY_BROKER_URL:
        required["broker"] = _broker
    results = {}
    for name, check in required.items():
        try:
            check()
        except Exception as error:
            log.warning("not ready: %s: %s", name, error)
            results[name] = FAILED
        else:
            results[name] = OK
    if results["database"] == results["migrations"] == OK:
        results["queues"] = OK
        if slow := ", ".join(queues.slow(timezone.now())):
            log.warning("jobs have waited longer than %s minutes: %s", settings.QUEUE_SLOW_MINUTES, slow)
            results["queues"] = SLOW
    return results


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> None:
    if missing := unapplied_migrations():
        raise NotReady(f"{len(missing)} migrations are not applied: run manage.py migrate")


def _storage() -> None:
    """Open a file in each storage: `exists` alone would not notice a missing folder."""
    for name in ("default", "exports"):
        with suppress(FileNotFoundError), storages[name].open("readyz"):
            pass


def _broker() -> None:
    if not queries.broker_answers():
        raise NotReady("the broker does not answer at CELERY_BROKER_URL")
