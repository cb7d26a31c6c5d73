"""Reading pages of scores and progress from a replica of the database (DATABASE_REPLICA_URL).

Only reads inside `from_replica()` go there, and not within a transaction on the primary. All writes go to the
primary.
"""

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
# Accounts and permissions are always read from the primary.
_REPLICATED_APPS = frozenset({"annotation", "generation", "metrics"})
_CHECK_SECONDS = 5.0
_reading: ContextVar[bool] = ContextVar("reading", default=False)
log = logging.getLogger(__name__)


class ReplicaRouter:
    """Django's database router."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return read_alias() if model._meta.app_label in _REPLICATED_APPS else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read_alias() -> str:
    """The database from which studies are read now."""
    if _reading.get() and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return ALIAS
    return DEFAULT_DB_ALIAS


@contextmanager
def from_replica() -> Iterator[None]:
    """Reads inside may be a few seconds old."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


@contextmanager
def from_primary() -> Iterator[None]:
    """Reads inside come from the primary, also within `from_replica`."""
    token = _reading.set(False)
    try:
        yield
    finally:
        _reading.reset(token)


class ReplicaMonitor:
    """Whether the replica can be read. One thread of each process checks every few seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._usable, self._next_check = False, 0.0

    def is_usable(self) -> bool:
        """False if it is down or more than DATABASE_REPLICA_LAG_SECONDS behind; the log says so."""
        if monotonic() >= self._next_check and self._lock.acquire(blocking=False):
            try:
                self._check()
            finally:
                self._next_check = monotonic() + _CHECK_SECONDS
                self._lock.release()
        return self._usable

    def mark_failed(self, error: Exception) -> None:
        """Record a failed read: the replica is not used until the next check."""
        connections[ALIAS].close_if_unusable_or_obsolete()
        self._mark_unusable(f"it failed: {error}")
        self._next_check = monotonic() + _CHECK_SECONDS

    def _check(self) -> None:
        try:
            lag = lag_seconds()
        except Error as error:
            # A broken connection is not kept for the next check.
            connections[ALIAS].close_if_unusable_or_obsolete()
            self._mark_unusable(f"it does not answer: {error}")
            return
        if lag is None:
            self._mark_unusable("it is not a streaming standby")
        elif lag > settings.DATABASE_REPLICA_LAG_SECONDS:
            self._mark_unusable(f"it is {lag:.0f} s behind")
        else:
            self._usable = True

    def _mark_unusable(self, why: str) -> None:
        self._usable = False
        log.warning("scores and progress are read from the primary, not from DATABASE_REPLICA_URL: %s", why)


def lag_seconds() -> float | None:
    """How many seconds the replica is behind; None if it is not a standby. Raises django.db.Error.

    The age of the last replayed transaction says nothing while nobody writes, and what the replica reports as
    received says nothing once it has lost the primary. So its position is compared with the primary's.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        position = cursor.fetchone()[0]
    with connections[ALIAS].cursor() as cursor:
        cursor.execute(
            "SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn, "
            "coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 'infinity')::float8",
            [position],
        )
        standby, caught_up, age = cursor.fetchone()
    if not standby:
        return None
    return 0.0 if caught_up else float(age)


monitor = ReplicaMonitor()
