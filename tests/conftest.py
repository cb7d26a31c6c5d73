"""What every test shares."""

from __future__ import annotations

import functools
import gc
import os
import pickle
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

# Tests run on all processors already: threads of torch and of numpy would only wait for one another. Both
# read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from _pytest import runner
from _pytest.logging import catching_logs
from django.conf import settings
from django.core.cache import cache
from django.core.servers.basehttp import WSGIRequestHandler
from django.db import connection, transaction
from django.test import override_settings
from django.utils import translation

from annotation.core.heartbeat import PeriodicThread
from tests import commits, emptied, frames, loggers, traced, transactions
from tests.migrated import MIGRATED
from visage_app.database.sqlite import base as sqlite
from visage_app.storage import storages

ROOT = Path(__file__).resolve().parent.parent
RELEASED = Path(os.environ.get("VISAGE_DATA", ROOT.parent / "shared" / "data"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database-only",
        action="store_true",
        help="run only what depends on the database or the broker (docs/adr/0011-suite.md)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    traced.select(items)
    for item in items:
        if item.get_closest_marker("real_time"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if not config.getoption("--database-only"):
        return
    same = [item for item in items if not depends_on_database(item)]
    config.hook.pytest_deselected(items=same)
    items[:] = [item for item in items if depends_on_database(item)]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session):
    """Imports and tests stay to the end. Nothing of them is garbage to be looked for, now or later."""
    gc.disable()
    try:
        with traced.only_imports_traced(session.config):
            return (yield)
    finally:
        gc.freeze()
        # A test leaves little behind: looking after every 700 objects, as Python does, is time for nothing.
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


def pytest_unconfigure() -> None:
    """pytest looks five times now for garbage that fails when it is freed. Once finds all there is."""
    gc.collect()
    gc.freeze()


_inside: list[str] = []
"""The test at hand, if it may start no process."""


def _refused_inside(owner: object, name: str) -> None:
    """Make `owner.name` fail in a test that may start no process.

    This is no audit hook: one written in Python lets two threads set a trace function at once. Python 3.11
    refuses that, and a thread of the live server dies at its start."""
    starts = getattr(owner, name)

    @functools.wraps(starts)
    def checked(*args, **kwargs):
        # a new Popen comes first in its own arguments, a fork has none
        started = args[1:] if owner is subprocess.Popen else args
        command = kwargs.get("args", next(iter(started), name))
        program = str(command if isinstance(command, str | os.PathLike) else command[0])
        # git, which is asked for the version of the code, answers at once
        if _inside and not program.endswith("git"):
            raise AssertionError(f"{_inside[0]} starts a process ({program}): mark it `processes`.")
        return starts(*args, **kwargs)

    setattr(owner, name, checked)


for _owner, _name in [
    (subprocess.Popen, "__init__"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")),
]:
    _refused_inside(_owner, _name)


runner.runtestprotocol = frames.with_room(runner.runtestprotocol)
catching_logs.__enter__ = loggers.listen
# The test server sends head and body apart. The body would wait 40 ms for word that the head has arrived.
WSGIRequestHandler.disable_nagle_algorithm = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    if not any(item.get_closest_marker(name) for name in ("processes", "browser")):
        _inside[:] = [item.nodeid]
    try:
        with traced.traced(item):
            return (yield)
    finally:
        _inside.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    try:
        done = yield
    finally:
        apart = commits.unlisted()
    # Pages that a browser asks for run in threads of the server. Tests without one ask for them as well.
    assert not (_inside and apart), f"use one transaction, or add to APART in tests/commits.py: {apart}"
    return done


PAGES = {"client", "admin_client", "program", "browser"}
"""Fixtures of tests that ask for pages or of the API."""
DATABASE = {"db", "transactional_db", "django_db_setup"}


def depends_on_database(item: pytest.Item) -> bool:
    """What asks for pages says the same on any database; those marked `postgresql` ask for each page once."""
    if item.get_closest_marker("postgresql") or item.path.is_relative_to(ROOT / "tests" / "processes"):
        return True
    uses = set(getattr(item, "fixturenames", ()))
    touches = bool(DATABASE & uses or item.get_closest_marker("django_db"))
    same = bool(PAGES & uses) or any(item.get_closest_marker(name) for name in ("pages", "release"))
    # what SQLite leaves out runs here, or nowhere
    return touches and (not same or bool(item.get_closest_marker("skipif")))


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released SeeGULL and ViSAGe files."""
    if not (RELEASED / "visage").is_dir():
        pytest.skip(
            f"RELEASED FILES MISSING: {RELEASED} (set VISAGE_DATA); nothing here was checked against them"
        )
    return RELEASED


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix, tmp_path_factory):
    """SQLite in a file, as it is used: in memory, threads share one connection and lock each other out."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite") or database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


LEFT = "database sessions left open"
LOCKS = "locks taken"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker, request):
    """PostgreSQL drops no database that somebody is connected to. Who is still there half a minute after the
    last test is named at the end of the run, and sent away: it fails no test that has passed."""
    with ExitStack() as stack:
        with django_db_blocker.unblock():
            stack.enter_context(emptied.by_deleting())
            stack.enter_context(transactions.watched())
            stack.enter_context(commits.counted())
            if connection.vendor == "sqlite":
                connection.ensure_connection()
                migrated = Path(connection.settings_dict["NAME"]).with_name("migrated.sqlite3")
                with closing(sqlite3.connect(migrated)) as copied:
                    connection.connection.backup(copied)
                request.config.stash[MIGRATED] = migrated
        yield
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        return
    until = time.monotonic() + 30
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            while left := cursor.execute(OTHERS).fetchall():
                if time.monotonic() >= until:
                    cursor.execute(f"SELECT pg_terminate_backend(pid) FROM ({OTHERS}) AS others")
                    break
                time.sleep(0.2)
        connection.close()
    told = [f"{database}: {state}, {query}" for _, database, state, query in left]
    found = getattr(request.config, "workeroutput", request.config.stash.setdefault(LEFT_HERE, {}))
    found |= {LEFT: told, LOCKS: sorted(transactions.taken)}


OTHERS = """
    SELECT pid, datname, state, left(query, 200) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
LEFT_HERE = pytest.StashKey[dict[str, list[str]]]()
WRONG_LOCKS = pytest.StashKey[list[str]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """What a process of pytest-xdist found."""
    found = getattr(node, "workeroutput", {}).get(LEFT, [])
    node.config.stash.setdefault(LEFT_HERE, {}).setdefault(LEFT, []).extend(found)
    transactions.taken.update(getattr(node, "workeroutput", {}).get(LOCKS, []))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a whole run on PostgreSQL in which other rows were locked than tests/transactions.py lists."""
    config = session.config
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    on_postgresql = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    if exitstatus or hasattr(config, "workerinput") or not (whole and on_postgresql):
        return
    if config.getoption("--database-only") and transactions.wrong_locks():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        config.stash[WRONG_LOCKS] = transactions.wrong_locks()


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for line in config.stash.get(LEFT_HERE, {}).get(LEFT, []):
        terminalreporter.write_line(f"{LEFT.upper()}: {line}")
    for line in config.stash.get(WRONG_LOCKS, []):
        terminalreporter.write_line(f"LOCKED OTHERWISE: {line}", red=True)
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"why {report.nodeid} ran once more")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(autouse=True)
def _nothing_left_of_the_test_before() -> None:
    """How often somebody asked is counted by their key, and tests give the same keys to others. A page
    leaves its language active in the thread that answered."""
    cache.clear()
    translation.deactivate()


@pytest.fixture(autouse=True, scope="session")
def _no_beats_in_a_transaction() -> Iterator[None]:
    """A heartbeat's thread has a connection of its own. In a test that is rolled back it would see nothing of
    what the test has stored; on SQLite it would wait for the test's end, and the test for the thread's."""
    enters = PeriodicThread.__enter__

    def enter(thread: PeriodicThread) -> PeriodicThread:
        if connection.in_atomic_block:
            thread._stopped.set()
        return enters(thread)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PeriodicThread, "__enter__", enter)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What the suite's own processes write need not outlast a power cut, and a disk takes milliseconds to say
    that it has it. Programs that tests start do wait."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        patched.setattr(sqlite, "_write_to_disk", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_garbage_between_models() -> Iterator[None]:
    """Before a worker loads a model it frees the last one, for which Python looks through all objects. With
    all tests in memory that takes a tenth of a second, and the suite loads hundreds of models."""
    from generation.jobs.services import loaded_model

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loaded_model, "gc", Mock(gc))
        yield


@pytest.fixture(scope="module")
def once(
    django_db_setup, django_db_blocker, tmp_path_factory
) -> Iterator[Callable[[Callable[[], Any]], Kept]]:
    """Makes what takes long to make once for a module: `once(World)`. Each test takes its own copy of it, and
    finds the database as it was then."""

    def made(make: Callable[[], Any]) -> Kept:
        folder = tmp_path_factory.mktemp("kept")
        with override_settings(**files_in(folder)):
            return Kept(make(), folder)

    outermost = transaction.atomic()
    outermost._from_testcase = True
    with django_db_blocker.unblock(), outermost:
        yield made
        transaction.set_rollback(True)


@dataclass(frozen=True)
class Kept:
    """What `once` made, and its files."""

    made: Any
    folder: Path

    @functools.cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps(self.made)

    def copied(self, folder: Path) -> Any:
        """For one test, whose files are in `folder`."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return pickle.loads(self._pickled)  # in a tenth of the time of a deep copy


def files_in(folder: Path) -> dict[str, Any]:
    """Settings: files below `folder`."""
    return {
        "MEDIA_ROOT": folder / "media",
        "STORAGES": {
            **storages.in_folders(folder),
            "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        },
        # beside it: tests count what an export leaves in `tmp_path`
        "EXPORTS_UNFINISHED": folder.with_name(f"{folder.name}-unfinished"),
    }


@pytest.fixture
def few_resamples(settings) -> None:
    """As few as there may be: for what is shown of scores, not how they are computed."""
    settings.BOOTSTRAP_RESAMPLES = 100


@pytest.fixture(autouse=True, scope="session")
def _settings_of_the_suite(tmp_path_factory) -> Iterator[Path]:
    """Yields the folder that tests without one of their own share."""
    shared = tmp_path_factory.mktemp("shared")
    with override_settings(
        **files_in(shared / "files"),
        # a broker is for tests/processes/test_celery.py; the others are of rows, not of bells
        CELERY_BROKER_URL="",
        # secure hashes of passwords are slow on purpose
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        # static files need no `collectstatic`; whitenoise warns of a folder that is not there
        STATIC_ROOT=tmp_path_factory.mktemp("static"),
    ):
        yield shared


@pytest.fixture(autouse=True)
def _files_apart_from_the_installation(request, _settings_of_the_suite) -> Iterator[None]:
    """Uploads go to the test's temporary folder. Most tests have none, and store nothing: what one of them
    does store is deleted at its end."""
    if "tmp_path" in request.fixturenames:
        # All at once: a setting at a time costs twice as much.
        with override_settings(**files_in(request.getfixturevalue("tmp_path"))):
            yield
        return
    yield
    for left in _settings_of_the_suite.iterdir():
        shutil.rmtree(left)
