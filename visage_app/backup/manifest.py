"""What a backup says of itself: its last member, `manifest.json`. Pure: no Django."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "visage-studies backup"
VERSION = 1
KINDS = ("integer", "text", "boolean", "float", "time", "uuid", "json", "binary")
"""What a column may hold (values.py says how each is written)."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST = 2**63 - 1


class NotAManifest(ValueError):
    """The manifest is not one, or says what cannot be."""


class NewerFormat(ValueError):
    """The backup was made by a version of this program that this one does not understand."""


@dataclass(frozen=True)
class Lines:
    """Rows as they stand in the archive: `bytes` and `sha256` are of all their lines, uncompressed."""

    rows: int
    bytes: int
    parts: int
    sha256: str


@dataclass(frozen=True)
class Table:
    """One table. `columns` are (name, kind) pairs, `key` orders its rows; `last_id` is the highest number
    that was ever given out, so that none is given out twice; null where numbers are not given out."""

    name: str
    key: str
    columns: tuple[tuple[str, str], ...]
    last_id: int | None
    lines: Lines


@dataclass(frozen=True)
class Manifest:
    """`migrations` are (app, name) pairs; `files` lists the stored files, `file_bytes` is their sum.
    `lost_files` were missing or damaged already when it was made, and are not in it."""

    made_at: str
    code: str
    database: str
    migrations: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    files: Lines
    file_bytes: int
    lost_files: int

    @property
    def rows(self) -> int:
        return sum(table.lines.rows for table in self.tables)

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what is in the backup, whenever and wherever it was made: two installations that
        hold the same have the same."""
        told = [f"{table.name} {table.lines.sha256}" for table in self.tables]
        return hashlib.sha256("\n".join([*sorted(told), self.files.sha256]).encode()).hexdigest()

    def as_json(self) -> bytes:
        return (json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n").encode()


def parse(raw: bytes) -> Manifest:
    """Raises NotAManifest, and NewerFormat for one of a later version."""
    try:
        told = json.loads(raw)
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise NotAManifest("it is not of this program")
        if _number(told, "version") > VERSION:
            raise NewerFormat(f"format {told['version']}, made by {_text(told, 'code')}")
        return Manifest(
            made_at=_text(told, "made_at"),
            code=_text(told, "code"),
            database=_text(told, "database"),
            migrations=tuple(_pair(each) for each in _list(told, "migrations")),
            tables=_tables(_list(told, "tables")),
            files=_lines(told["files"]),
            file_bytes=_number(told, "file_bytes"),
            lost_files=_number(told, "lost_files"),
        )
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NotAManifest(f"{type(error).__name__}: {error}") from error


def _tables(told: list[Any]) -> tuple[Table, ...]:
    tables = tuple(_table(each) for each in told)
    if len({table.name for table in tables}) < len(tables):
        raise NotAManifest("a table is named twice")
    return tables


def _table(told: Any) -> Table:
    columns = tuple(_pair(each) for each in _list(told, "columns"))
    names = [name for name, _ in columns]
    key = _text(told, "key")
    for name in (_text(told, "name"), *names):
        if not _NAME.fullmatch(name):
            raise NotAManifest(f"{name[:80]!r} is no name of a table or column")
    if len(set(names)) < len(names) or key not in names:
        raise NotAManifest(f"the columns of {told['name']} do not make a table")
    for _, kind in columns:
        if kind not in KINDS:
            raise NotAManifest(f"{kind[:80]!r} is no kind of column")
    last = None if told["last_id"] is None else _number(told, "last_id")
    return Table(name=told["name"], key=key, columns=columns, last_id=last, lines=_lines(told["lines"]))


def _lines(told: Any) -> Lines:
    sha256 = _text(told, "sha256")
    if not _SHA256.fullmatch(sha256):
        raise NotAManifest("a checksum is none")
    return Lines(
        rows=_number(told, "rows"),
        bytes=_number(told, "bytes"),
        parts=_number(told, "parts"),
        sha256=sha256,
    )


def _pair(told: Any) -> tuple[str, str]:
    first, second = told if isinstance(told, list) and len(told) == 2 else (None, None)
    if not isinstance(first, str) or not isinstance(second, str):
        raise NotAManifest("a pair of texts is expected")
    return first, second


def _list(told: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(told[key], list):
        raise NotAManifest(f"{key} is no list")
    return list(told[key])


def _text(told: Mapping[str, Any], key: str) -> str:
    if not isinstance(told[key], str):
        raise NotAManifest(f"{key} is no text")
    return str(told[key])


def _number(told: Mapping[str, Any], key: str) -> int:
    value = told[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise NotAManifest(f"{key} is no whole number from 0")
    return value
