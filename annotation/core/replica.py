"""Reading from a copy of the database (DATABASE_REPLICA_URL) what a page of numbers shows.

Nothing goes there by itself: `reading()` opens the way for what is read within it, and even then whoever has
begun to write on the primary reads there. All writes go to the primary.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.models import Model

ALIAS = "replica"
# Who somebody is and what they may do is always asked of the primary.
_STUDIED = frozenset({"annotation", "generation", "metrics"})
_LOOK_SECONDS = 5.0
_reading: ContextVar[bool] = ContextVar("reading", default=False)
log = logging.getLogger(__name__)


class Router:
    """Django's question which database to use."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return alias() if model._meta.app_label in _STUDIED else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def alias() -> str:
    """Where studies are read now."""
    if _reading.get() and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return ALIAS
    return DEFAULT_DB_ALIAS


@contextmanager
def reading() -> Iterator[None]:
    """What is read within may be some seconds old."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


@contextmanager
def current() -> Iterator[None]:
    """What is read within is as it is now, wherever it is asked from."""
    token = _reading.set(False)
    try:
        yield
    finally:
        _reading.reset(token)


class Watch:
    """Whether the replica can be read: looked at every few seconds by one thread, of this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.forget()

    def forget(self) -> None:
        self._fit, self._again = False, 0.0

    def fit(self) -> bool:
        """False if it is away, or behind by more than DATABASE_REPLICA_LAG_SECONDS; the log says so."""
        if monotonic() >= self._again and self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._again = monotonic() + _LOOK_SECONDS
                self._lock.release()
        return self._fit

    def failed(self, error: Exception) -> None:
        """Somebody could not read it: nobody tries until it is looked at again."""
        connections[ALIAS].close_if_unusable_or_obsolete()
        self._say(f"it failed: {error}")
        self._again = monotonic() + _LOOK_SECONDS

    def _look(self) -> None:
        try:
            late = behind()
        except Error as error:
            # a connection that broke is not kept for the next look
            connections[ALIAS].close_if_unusable_or_obsolete()
            self._say(f"it does not answer: {error}")
            return
        if late is None:
            self._say("it is no copy that PostgreSQL keeps up to date (a streaming standby)")
        elif late > settings.DATABASE_REPLICA_LAG_SECONDS:
            self._say(f"it is {late:.0f} s behind")
        else:
            self._fit = True

    def _say(self, why: str) -> None:
        self._fit = False
        log.warning("pages of numbers are read from the primary, not from DATABASE_REPLICA_URL: %s", why)


def behind() -> float | None:
    """By how many seconds the replica is late; None if it is no standby. Raises django.db.Error.

    The age of what it replayed last says nothing while nobody writes, and its own word for how much it has
    received says nothing once it lost the primary: so it is held against where the primary is.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        place = cursor.fetchone()[0]
    with connections[ALIAS].cursor() as cursor:
        cursor.execute(
            "SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn, "
            "coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 'infinity')::float8",
            [place],
        )
        standby, there, age = cursor.fetchone()
    if not standby:
        return None
    return 0.0 if there else float(age)


watch = Watch()

__all__ = ["ALIAS", "Router", "alias", "behind", "current", "reading", "watch"]
