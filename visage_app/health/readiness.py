"""Whether this process can serve: what `/readyz` asks before a proxy sends it anybody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings
from django.core.files.storage import storages
from django.db import connection
from django.utils import timezone

from visage_app.health import queries
from visage_app.observability.queries import queues

log = logging.getLogger(__name__)
OK, FAILED, SLOW = "ok", "failed", "slow"


class NotReady(Exception):
    """What is missing, in words for the log."""


def checks() -> dict[str, str]:
    """Name of each thing needed -> *ok* or *failed*, and *queues* -> *ok* or *slow*. Why stands in the log
    only: anybody may ask.

    Slow queues never make a server unready: they are the same rows for all servers, so that all would be
    taken out at once, by a worker that is gone, while every one of them could still take answers.
    """
    needed: dict[str, Callable[[], None]] = {
        "database": _database,
        "migrations": _migrations,
        "storage": _storage,
    }
    if settings.CELERY_BROKER_URL:
        needed["broker"] = _broker
    found = {}
    for name, check in needed.items():
        try:
            check()
        except Exception as error:
            log.warning("not ready: %s: %s", name, error)
            found[name] = FAILED
        else:
            found[name] = OK
    if found["database"] == found["migrations"] == OK:
        found["queues"] = _queues()
    return found


def _queues() -> str:
    slow = queues.slow(timezone.now())
    if slow:
        log.warning("work waits longer than %s minutes: %s", settings.QUEUE_SLOW_MINUTES, ", ".join(slow))
    return SLOW if slow else OK


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> None:
    if missing := queries.unapplied_migrations():
        raise NotReady(f"{len(missing)} migrations are not applied: run manage.py migrate")


def _storage() -> None:
    """That a file can be asked for. Opened, since asking whether it exists is not enough in a lost folder."""
    for name in ("default", "exports"):
        with suppress(FileNotFoundError), storages[name].open("readyz"):
            pass


def _broker() -> None:
    if not queries.broker_answers():
        raise NotReady("the broker does not answer at CELERY_BROKER_URL")
