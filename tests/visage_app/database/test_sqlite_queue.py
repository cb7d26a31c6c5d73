"""Writers on SQLite queue, and every way of ending a transaction lets the next one in."""

from __future__ import annotations

import fcntl
import os
import threading

import pytest
from django.db import IntegrityError

from tests.waiting import PATIENCE_SECONDS, wait_for
from visage_app.database.sqlite.base import DatabaseWrapper

pytestmark = pytest.mark.django_db  # only to be let near a database: these are made here


@pytest.fixture
def connect(tmp_path):
    made = []

    def connected() -> DatabaseWrapper:
        settings = {
            "ENGINE": "visage_app.database.sqlite",
            "NAME": str(tmp_path / "queue.sqlite3"),
            "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 0},
            "AUTOCOMMIT": True,
            "ATOMIC_REQUESTS": False,
            "CONN_MAX_AGE": 0,
            "CONN_HEALTH_CHECKS": False,
            "TIME_ZONE": None,
            "TEST": {},
        }
        made.append(DatabaseWrapper(settings, alias=f"queue{len(made)}"))
        return made[-1]

    yield connected
    for one in made:
        one.close()


def begin(connection: DatabaseWrapper) -> None:
    connection.ensure_connection()
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def wrote(connection: DatabaseWrapper) -> list[bool]:
    """Begin and commit a writing transaction in a thread of its own; something, once it is done."""
    done: list[bool] = []

    def write() -> None:
        begin(connection)
        connection.commit()
        connection.set_autocommit(True)
        done.append(True)
        connection.close()

    connection.inc_thread_sharing()
    threading.Thread(target=write, daemon=True).start()
    return done


@pytest.mark.parametrize("way_out", ["commit", "rollback", "close"])
def test_the_second_writer_waits_in_the_queue_and_then_gets_its_turn(connect, way_out, monkeypatch):
    """SQLite itself would not wait for it at all (`timeout`)."""
    first, second = connect(), connect()
    begin(first)
    lock, waits = fcntl.flock, threading.Event()

    def flock(file, how):
        try:
            lock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            waits.set()
            lock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    done = wrote(second)
    assert waits.wait(PATIENCE_SECONDS)
    assert not done

    getattr(first, way_out)()

    wait_for(lambda: done, "the second never wrote")


def test_a_transaction_that_cannot_begin_lets_the_next_one_in(connect, monkeypatch):
    first, second = connect(), connect()
    first.ensure_connection()
    monkeypatch.setattr(
        "django.db.backends.sqlite3.base.DatabaseWrapper._start_transaction_under_autocommit",
        lambda self: 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        begin(first)
    monkeypatch.undo()
    done = wrote(second)
    wait_for(lambda: done, "the second never wrote")


@pytest.fixture
def logged(connect):
    """Two connections to a database that keeps a log, with a table."""
    first, second = connect(), connect()
    with first.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("CREATE TABLE said (what text)")
    second.ensure_connection()
    return first, second


def synchronous(connection: DatabaseWrapper) -> int:
    return connection.connection.execute("PRAGMA synchronous").fetchone()[0]


def test_a_transaction_ends_its_turn_and_is_on_the_disk_before_its_commit_returns(logged, monkeypatch):
    first, second = logged
    seen = []

    def write_to_disk(file: int) -> None:
        assert os.path.samestat(os.fstat(file), os.stat(f"{first.settings_dict['NAME']}-wal"))  # noqa: PTH116
        with open(f"{first.settings_dict['NAME']}.queue", "ab") as queue:  # noqa: PTH123
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is another one's turn already
        seen.append(second.connection.execute("SELECT what FROM said").fetchall())

    begin(first)
    assert synchronous(first) == 1
    first.connection.execute("INSERT INTO said VALUES ('kind')")
    monkeypatch.setattr("visage_app.database.sqlite.base._write_to_disk", write_to_disk)
    first.commit()

    assert seen == [[("kind",)]]
    assert synchronous(first) == 2  # single statements wait for the disk by themselves


def test_what_need_not_be_on_the_disk_at_once_does_not_wait_for_it(logged, monkeypatch):
    first, _ = logged
    monkeypatch.setattr("visage_app.database.sqlite.base._write_to_disk", lambda file: 1 / 0)
    first.waits_for_disk = False
    begin(first)
    first.commit()
    assert synchronous(first) == 2


def test_after_a_commit_that_failed_and_a_rollback_single_statements_wait_for_the_disk_again(logged):
    first, _ = logged
    with first.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("CREATE TABLE one (id integer PRIMARY KEY)")
        cursor.execute("CREATE TABLE many (one integer REFERENCES one DEFERRABLE INITIALLY DEFERRED)")
    begin(first)
    first.connection.execute("INSERT INTO many VALUES (7)")
    with pytest.raises(IntegrityError):
        first.commit()
    with open(f"{first.settings_dict['NAME']}.queue", "ab") as queue:  # noqa: PTH123
        fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the next one may stand in the queue
    first.rollback()
    assert synchronous(first) == 2


def test_who_only_reads_waits_for_nobody_and_not_for_the_disk(logged, monkeypatch):
    first, second = logged
    begin(first)
    second.transaction_mode = "DEFERRED"
    monkeypatch.setattr("visage_app.database.sqlite.base._write_to_disk", lambda file: 1 / 0)
    monkeypatch.setattr(fcntl, "flock", lambda file, how: 1 / 0)
    begin(second)
    second.commit()
    monkeypatch.undo()
    first.rollback()


def test_a_connection_that_is_closed_holds_no_file_and_begins_anew(logged):
    first, _ = logged
    begin(first)
    first.connection.execute("INSERT INTO said VALUES ('kind')")
    first.commit()
    held = first._queue, first._log
    begin(first)
    first.close()
    assert [file.closed for file in held] == [True, True]
    assert (first._queue, first._log, first._relaxed) == (None, None, False)


def test_a_database_in_memory_has_no_queue(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    only = connect()
    only.settings_dict["NAME"] = ":memory:"
    begin(only)
    only.rollback()
    assert only._queue is None
    assert not list(tmp_path.iterdir())


def test_without_a_log_a_transaction_waits_for_the_disk_in_its_turn(connect):
    only = connect()
    begin(only)
    assert synchronous(only) == 2
    only.rollback()
