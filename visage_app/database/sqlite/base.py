"""Django's SQLite backend, with writers that queue instead of knocking again and again, and that wait for
the disk after their turn, not in it.

SQLite lets one transaction write at a time. Whoever finds it busy sleeps and tries again, for up to a
tenth of a second at a time and in no order, so with ten annotators some wait for seconds. Here a
transaction first takes a lock on a file beside the database, for which the operating system wakes the
waiting in turn. It only adds order: correctness stays with SQLite's own lock, and writes outside
a transaction, or by other programs, still wait for that one.

With `synchronous = FULL` SQLite writes each transaction to the disk while all others wait. Here a transaction
runs with `NORMAL`, ends its turn, and is then written to the disk before its `commit` returns: whoever was
told that something is kept has it on the disk as before, and those who commit at the same time share one trip
to it. What was moved from the log into the database meanwhile, SQLite itself has written to the disk first.
Single statements outside a transaction keep `FULL`.
"""

from __future__ import annotations

import os
from typing import IO, Any

from django.db.backends.sqlite3 import base

try:
    import fcntl
except ImportError:  # not there on Windows, where writers go on knocking
    fcntl = None  # type: ignore[assignment]

_write_to_disk = getattr(os, "fdatasync", os.fsync)  # what SQLite does with its log


class DatabaseWrapper(base.DatabaseWrapper):
    waits_for_disk = True
    """Whether what is committed must be on the disk; it is in any case with the next that must."""

    _queue: IO[bytes] | None = None
    _log: IO[bytes] | None = None
    _in_turn = False
    _keeps_log = False
    _relaxed = False

    def _start_transaction_under_autocommit(self) -> None:
        # A deferred one only reads (annotation/core/snapshots.py).
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
            self._relaxed = False  # a new connection begins as it is set up
            self._end_turn()
            for kept in (self._queue, self._log):
                if kept is not None:
                    kept.close()
            self._queue = self._log = None

    def _wait_for_turn(self) -> None:
        if fcntl is None or self.is_in_memory_db():
            return
        if self._queue is None:
            # Of its own for each connection: the lock belongs to the open file, so threads queue as well.
            self._queue = open(f"{self.settings_dict['NAME']}.queue", "ab")  # noqa: PTH123, SIM115
            self._keeps_log = self.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        self._in_turn = True
        if self._keeps_log:
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self._relaxed = True

    def _end_turn(self) -> None:
        if self._in_turn and self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._in_turn = False
        # SQLite refuses this within a transaction: one that could not commit is rolled back first
        if self._relaxed and not self.connection.in_transaction:
            self.connection.execute("PRAGMA synchronous = FULL")
            self._relaxed = False

    def _wait_for_disk(self) -> None:
        if self._log is None:
            # Nobody removes it while a connection is open; the locks of SQLite are on other files.
            try:
                self._log = open(f"{self.settings_dict['NAME']}-wal", "rb")  # noqa: PTH123, SIM115
            except FileNotFoundError:  # a new database to which nothing was written
                return
        _write_to_disk(self._log.fileno())
