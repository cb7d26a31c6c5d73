"""The format of values in a backup, which is the same for both databases. Pure: no Django.

| kind | in the backup | in SQLite | in PostgreSQL |
| --- | --- | --- | --- |
| integer, text | as in JSON | integer, text | integer, text |
| boolean | true, false | 0, 1 | boolean |
| float | a number, or "inf", "-inf", "nan" | real | double precision |
| time | "2026-01-31T12:00:00.000000Z" | text, UTC | timestamp with time zone |
| uuid | "12345678-1234-..." | 32 hex digits | uuid |
| json | a list of one, which distinguishes JSON's null from SQL's | text | jsonb |
| binary | base64 | blob | bytea |

SQL's null is null. Negative zero becomes zero and the keys of JSON objects are sorted, since one of the
databases would not preserve them.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True, allow_nan=False).encode
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAYBE_UNSTORABLE = re.compile(rb"\\u(0000|d[89a-f])")
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1


class BadValue(ValueError):
    """A value that is invalid for its column."""


def line(row: Sequence[object]) -> bytes:
    """One row, with values converted by `writers`, as a line of the backup."""
    return _encode(row).encode("ascii") + b"\n"


def parse(raw: bytes, width: int) -> list[Any]:
    """The `width` values of a line. Raises BadValue."""
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadValue("it is not JSON") from error
    if not isinstance(row, list) or len(row) != width:
        raise BadValue(f"it is not a list of {width} values")
    return row


def writers(kinds: Sequence[str]) -> list[tuple[int, Callable[[Any], object]]]:
    """For each column that needs it, the conversion from the database's value to the backup's."""
    return [(place, _WRITERS[kind]) for place, kind in enumerate(kinds) if kind in _WRITERS]


def readers(kinds: Sequence[str], *, vendor: str) -> list[tuple[int, Callable[[Any], object]]]:
    """For each column, the conversion from the backup's value to the database's. They raise BadValue."""
    made = {**_READERS, **(_SQLITE if vendor == "sqlite" else {})}
    return [(place, made[kind]) for place, kind in enumerate(kinds)]


def has_unstorable_text(raw: bytes, row: Sequence[object]) -> bool:
    """Whether a text has a character that PostgreSQL cannot store: NUL or an unpaired surrogate."""
    return bool(_MAYBE_UNSTORABLE.search(raw)) and _is_unstorable(row)


def _is_unstorable(value: object) -> bool:
    if isinstance(value, str):
        return bool(_UNSTORABLE.search(value))
    if isinstance(value, dict):
        return any(_is_unstorable(each) for pair in value.items() for each in pair)
    return isinstance(value, list | tuple) and any(map(_is_unstorable, value))


def _write_float(value: Any) -> object:
    number = float(value)
    return number + 0.0 if math.isfinite(number) else str(number)


def _write_time(value: Any) -> str:
    moment: datetime = value
    # Times from SQLite are naive and in UTC.
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _write_json(value: Any) -> list[object]:
    return [_plain(json.loads(value))]


def _plain(value: object) -> object:
    """JSON as both databases return it: PostgreSQL writes 1e+20 in digits and has no negative zero."""
    if isinstance(value, float):
        far = abs(value) >= 1e16 and math.isfinite(value)
        return int(Decimal(repr(value))) if far else value + 0.0
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


_WRITERS: dict[str, Callable[[Any], object]] = {
    "boolean": bool,
    "float": _write_float,
    "time": _write_time,
    "uuid": lambda value: str(value if isinstance(value, UUID) else UUID(value)),
    "json": _write_json,
    "binary": lambda value: base64.b64encode(value).decode("ascii"),
}


def _read_integer(value: Any) -> int:
    if type(value) is not int or not _MIN_INTEGER <= value <= _MAX_INTEGER:
        raise BadValue(f"{str(value)[:40]!r} is not a 64-bit integer")
    return value


def _read_text(value: Any) -> str:
    if type(value) is not str:
        raise BadValue(f"{str(value)[:40]!r} is not a string")
    return value


def _read_boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise BadValue(f"{str(value)[:40]!r} is neither true nor false")
    return value


def _read_float(value: Any) -> float:
    if type(value) is str and value in _SPECIAL:
        return _SPECIAL[value]
    if type(value) is not float and type(value) is not int:
        raise BadValue(f"{str(value)[:40]!r} is not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise BadValue("a number is too large") from error


def _read_real(value: Any) -> float:
    number = _read_float(value)
    if math.isnan(number):
        raise BadValue("SQLite cannot store nan")
    return number


def _read_time(value: Any) -> str:
    with suppress(ValueError):
        if type(value) is str and _TIME.fullmatch(value) and datetime.fromisoformat(value):
            return value
    raise BadValue(f"{str(value)[:40]!r} is not a time like 2026-01-31T12:00:00.000000Z")


def _read_time_of_sqlite(value: Any) -> str:
    moment = datetime.fromisoformat(_read_time(value))
    # As Django writes it, without the zeros of a whole second: SQLite compares times as text.
    return str(moment.replace(tzinfo=None))


def _read_uuid(value: Any) -> str:
    with suppress(ValueError):
        if type(value) is str and str(UUID(value)) == value:
            return value
    raise BadValue(f"{str(value)[:40]!r} is not a UUID")


def _read_json(value: Any) -> str:
    if type(value) is not list or len(value) != 1:
        raise BadValue("JSON must be in a list of one")
    try:
        return json.dumps(value[0], allow_nan=False)
    except ValueError as error:
        raise BadValue("JSON has no infinite numbers") from error


def _read_binary(value: Any) -> bytes:
    try:
        return base64.b64decode(_read_text(value), validate=True)
    except ValueError as error:
        raise BadValue("it is not base64") from error


_READERS: dict[str, Callable[[Any], object]] = {
    "integer": _read_integer,
    "text": _read_text,
    "boolean": _read_boolean,
    "float": _read_float,
    "time": _read_time,
    "uuid": _read_uuid,
    "json": _read_json,
    "binary": _read_binary,
}
_SQLITE: dict[str, Callable[[Any], object]] = {
    "float": _read_real,
    "time": _read_time_of_sqlite,
    "uuid": lambda value: _read_uuid(value).replace("-", ""),
}
