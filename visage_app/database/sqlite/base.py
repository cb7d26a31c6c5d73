"""Django's SQLite backend with a queue of writers, which sync to disk after releasing the write lock.

SQLite lets other writers retry in no order, so with ten annotators some would wait for seconds. Here a
transaction first locks a file beside the database, and the operating system wakes the waiting ones in order.
This only adds order: SQLite's own lock still guarantees correctness.

With `synchronous = FULL` all others wait while a transaction is synced. Here it runs with `NORMAL`, releases
its lock, and is synced before its `commit` returns: an acknowledged commit is on disk as before, and
concurrent ones share one sync. Single statements outside a transaction keep `FULL`.
"""

import fcntl
import os
from typing import IO, Any

from django.db.backends.sqlite3 import base

_write_to_disk = getattr(os, "fdatasync", os.fsync)  # what SQLite calls for its log


class DatabaseWrapper(base.DatabaseWrapper):
    waits_for_disk = True
    """Whether a commit must be on disk when it returns; if not, the next one that must be syncs it too."""

    _queue: IO[bytes] | None = None
    _log: IO[bytes] | None = None
    _in_turn = False
    _uses_wal = False
    _relaxed = False

    def _start_transaction_under_autocommit(self) -> None:
        # Deferred transactions only read (annotation/core/snapshots.py).
        if self.transaction_mode != "DEFERRED":  # type: ignore[attr-defined]
            self._wait_for_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._end_turn()
            raise

    def _commit(self) -> Any:
        try:
            done = super()._commit()  # type: ignore[misc]
        except BaseException:
            self._end_turn()
            raise
        relaxed = self._relaxed
        self._end_turn()
        if relaxed and self.waits_for_disk:
            self._wait_for_disk()
        return done

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._relaxed = False  # a new connection has its initial settings
            self._end_turn()
            for opened in (self._queue, self._log):
                if opened is not None:
                    opened.close()
            self._queue = self._log = None

    def _wait_for_turn(self) -> None:
        if self.is_in_memory_db():
            return
        if self._queue is None:
            # One file handle for each connection: the lock belongs to the open file, so threads queue too.
            self._queue = open(f"{self.settings_dict['NAME']}.queue", "ab")  # noqa: PTH123, SIM115
            self._uses_wal = self.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        self._in_turn = True
        if self._uses_wal:
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self._relaxed = True

    def _end_turn(self) -> None:
        if self._in_turn and self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._in_turn = False
        # SQLite refuses this within a transaction; one that could not commit is rolled back first.
        if self._relaxed and not self.connection.in_transaction:
            self.connection.execute("PRAGMA synchronous = FULL")
            self._relaxed = False

    def _wait_for_disk(self) -> None:
        if self._log is None:
            # The log exists while a connection is open; SQLite's locks are on other files.
            try:
                self._log = open(f"{self.settings_dict['NAME']}-wal", "rb")  # noqa: PTH123, SIM115
            except FileNotFoundError:  # a new database without writes
                return
        _write_to_disk(self._log.fileno())
