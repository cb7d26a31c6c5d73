"""Rows that take long to make: the first process of a run to need them makes them, the others copy them."""

from __future__ import annotations

import fcntl
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from django.apps import apps
from django.core.management.color import no_style
from django.db import connection

from tests.emptied import KEPT

T = TypeVar("T")


def made_once_a_run(name: str, make: Callable[[], T], *, files: Path, folders: pytest.TempPathFactory) -> T:
    """What `make` gives, which fills an empty database and the folder `files`.

    pytest-xdist divides a module among its processes. They know each other by the folder above their own.
    """
    above = folders.getbasetemp().parent
    if not folders.getbasetemp().name.startswith("popen-"):
        return make()
    with (above / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows, kept = above / f"{name}.rows", above / f"{name}.files"
        if rows.exists():
            given, tables = pickle.loads(rows.read_bytes())
            _write(tables)
            shutil.copytree(kept, files, dirs_exist_ok=True)
            return given
        given = make()
        shutil.copytree(files, kept)
        rows.write_bytes(pickle.dumps((given, _read())))
        return given


def _read() -> dict[str, tuple[list[str], list[Any]]]:
    """Columns and rows of each table, as the database gives them."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    found = {}
    with connection.cursor() as cursor:
        for name in sorted(set(names) - KEPT):
            cursor.execute(f'SELECT * FROM "{name}"')
            found[name] = ([column[0] for column in cursor.description], cursor.fetchall())
    return found


def _write(tables: dict[str, tuple[list[str], list[Any]]]) -> None:
    with connection.cursor() as cursor:
        for name, (columns, rows) in tables.items():
            into, values = ", ".join(f'"{each}"' for each in columns), ", ".join(["%s"] * len(columns))
            cursor.executemany(f'INSERT INTO "{name}" ({into}) VALUES ({values})', rows)
        for said in connection.ops.sequence_reset_sql(no_style(), apps.get_models(include_auto_created=True)):
            cursor.execute(said)
    connection.check_constraints()
