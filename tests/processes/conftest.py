"""Installations of their own, in a database that several operating-system processes share."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import find

from tests.migrated import MIGRATED
from tests.processes.starts import Started
from visage_app.serving.static_files import ChartBundle

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Installation:
    """A migrated database, and a way to run things in it."""

    env: dict[str, str]

    def python(self, *arguments: object, cold: bool = False) -> Started:
        """Start `python ARGUMENTS` as a process of its own. `cold`: it imports all of the program itself."""
        return Started(arguments, self.env, cold=cold)

    def run(self, *arguments: object, cold: bool = False) -> str:
        """`python ARGUMENTS` to its end; its standard output."""
        process = self.python(*arguments, cold=cold)
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return out

    def start(self, actor: str, *arguments: object, of: str = "actors") -> Started:
        """Start an actor of a module of tests/processes as a process of its own."""
        return self.python("-m", f"tests.processes.{of}", actor, *arguments)

    def act(self, actor: str, *arguments: object, of: str = "actors"):
        """Run an actor to its end; what it prints as JSON."""
        return finish(self.start(actor, *arguments, of=of))


def finish(process: Started | subprocess.Popen[str]):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return json.loads(out) if out.strip() else None


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A migrated SQLite file to copy, on whichever database this pass of the suite runs."""
    # to migrate takes long: others may have done it in this process
    if (found := request.config.stash.get(MIGRATED, None)) is not None:
        return found
    folder = tmp_path_factory.mktemp("migrated")
    Installation(embedded(folder)).run("manage.py", "migrate", "-v0")
    return folder / "visage.sqlite3"


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """A migrated database to copy: the path of a SQLite file, or the name of one on the server."""
    if not on_postgresql():
        yield str(request.getfixturevalue("migrated_file"))
        return
    folder = tmp_path_factory.mktemp("migrated")
    with new_database(folder, template=None) as (env, name):
        Installation(env).run("manage.py", "migrate", "-v0")
        yield name


@pytest.fixture
def installation(tmp_path: Path, migrated: str) -> Iterator[Installation]:
    """On the database that this pass of the suite runs on: a SQLite file, or PostgreSQL."""
    with new_database(tmp_path, template=migrated) as (env, _):
        yield Installation(env)


@contextmanager
def new_database(folder: Path, *, template: str | None) -> Iterator[tuple[dict[str, str], str]]:
    """The environment of a database of its own, a copy of `template` if that is given, and its name."""
    if not on_postgresql():
        if template is not None:
            copy_file(template, folder)
        yield embedded(folder), str(folder / "visage.sqlite3")
        return
    server = os.environ["DATABASE_URL"]
    name = f"visage_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
    try:
        yield {**embedded(folder), "DATABASE_URL": f"{server.rsplit('/', 1)[0]}/{name}"}, name
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def on_postgresql() -> bool:
    """Which database this pass of the suite runs on."""
    return settings.DATABASES["default"]["ENGINE"].endswith("postgresql")


def embedded(folder: Path) -> dict[str, str]:
    """The environment of an installation in a folder that needs no server.

    The folder gets a copy of the chart program, which takes seconds to make."""
    shutil.copytree(Path(str(find(ChartBundle.PATH))).parents[1], folder / "made", dirs_exist_ok=True)
    others = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**others, "VAR_DIR": str(folder), "STATIC_MANIFEST": "no", "CELERY_BROKER_URL": ""}


def copy_file(template: str | Path, folder: Path) -> None:
    """A SQLite database as another is, for the installation in a folder."""
    to = folder / "visage.sqlite3"
    with closing(sqlite3.connect(template)) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)
