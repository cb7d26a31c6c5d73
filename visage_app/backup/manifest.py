"""The manifest of a backup, `manifest.json`. Pure: no Django."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

FORMAT = "visage-studies backup"
VERSION = 1
KINDS = ("integer", "text", "boolean", "float", "time", "uuid", "json", "binary")
"""Kinds of columns (values.py has the format of each)."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_NUMBER = 2**63 - 1
Kind = TypeVar("Kind")


class NotAManifest(ValueError):
    """The manifest is invalid."""


class NewerFormat(ValueError):
    """The backup has a format version that this program does not know."""


@dataclass(frozen=True)
class Lines:
    """Rows in the archive: `bytes` and `sha256` are of all lines, uncompressed."""

    rows: int
    bytes: int
    parts: int
    sha256: str


@dataclass(frozen=True)
class Table:
    """One table. `columns` are (name, kind) pairs; `key` orders the rows; `last_id` is the highest id ever
    assigned, so that none is assigned twice; null for tables without automatic ids."""

    name: str
    key: str
    columns: tuple[tuple[str, str], ...]
    last_id: int | None
    lines: Lines


@dataclass(frozen=True)
class Manifest:
    """`migrations` are (app, name) pairs; `files` is the list of stored files, `file_bytes` the sum
    of their sizes. `lost_files` were already missing or damaged and are not included."""

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
        """SHA-256 in hex of the content of the backup, independent of time and place: installations with the
        same content have the same digest."""
        digests = [f"{table.name} {table.lines.sha256}" for table in self.tables]
        return hashlib.sha256("\n".join([*sorted(digests), self.files.sha256]).encode()).hexdigest()

    def as_json(self) -> bytes:
        return (json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n").encode()


def parse(raw: bytes) -> Manifest:
    """Parse a manifest. Raises NotAManifest, or NewerFormat for a later version."""
    try:
        data = json.loads(raw)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise NotAManifest("it does not belong to this program")
        if _number(data, "version") > VERSION:
            raise NewerFormat(f"format {data['version']}, made by {_field(data, 'code', str)}")
        return Manifest(
            made_at=_field(data, "made_at", str),
            code=_field(data, "code", str),
            database=_field(data, "database", str),
            migrations=tuple(_pair(each) for each in _field(data, "migrations", list)),
            tables=_tables(_field(data, "tables", list)),
            files=_lines(data["files"]),
            file_bytes=_number(data, "file_bytes"),
            lost_files=_number(data, "lost_files"),
        )
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NotAManifest(f"{type(error).__name__}: {error}") from error


def _tables(data: list[Any]) -> tuple[Table, ...]:
    tables = tuple(_table(each) for each in data)
    if len({table.name for table in tables}) < len(tables):
        raise NotAManifest("a table appears twice")
    return tables


def _table(data: Any) -> Table:
    columns = tuple(_pair(each) for each in _field(data, "columns", list))
    names = [name for name, _ in columns]
    key = _field(data, "key", str)
    for name in (_field(data, "name", str), *names):
        if not _NAME.fullmatch(name):
            raise NotAManifest(f"{name[:80]!r} is not a valid name of a table or column")
    if len(set(names)) < len(names) or key not in names:
        raise NotAManifest(f"the columns of {data['name']} are not valid")
    for _, kind in columns:
        if kind not in KINDS:
            raise NotAManifest(f"{kind[:80]!r} is not a kind of column")
    last = None if data["last_id"] is None else _number(data, "last_id")
    return Table(name=data["name"], key=key, columns=columns, last_id=last, lines=_lines(data["lines"]))


def _lines(data: Any) -> Lines:
    sha256 = _field(data, "sha256", str)
    if not _SHA256.fullmatch(sha256):
        raise NotAManifest("a checksum is invalid")
    return Lines(
        rows=_number(data, "rows"),
        bytes=_number(data, "bytes"),
        parts=_number(data, "parts"),
        sha256=sha256,
    )


def _pair(data: Any) -> tuple[str, str]:
    if not isinstance(data, list) or len(data) != 2 or not all(isinstance(each, str) for each in data):
        raise NotAManifest("a pair of strings is expected")
    return data[0], data[1]


def _field(data: Mapping[str, Any], key: str, kind: type[Kind]) -> Kind:
    value: Kind = data[key]
    if type(value) is not kind:
        raise NotAManifest(f"{key} is not of type {kind.__name__}")
    return value


def _number(data: Mapping[str, Any], key: str) -> int:
    value = _field(data, key, int)
    if not 0 <= value <= _MAX_NUMBER:
        raise NotAManifest(f"{key} is not a whole number of at least 0")
    return value
