"""The fields of an answer that was made elsewhere. Pure: no Django."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generation.answers.line_files import Record, records
from generation.core.file_errors import FileUnusable

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt",),
    "text": ("text",),
    "key": ("key",),
    "number": ("number", "sample"),
    "seed": ("seed",),
    "ended": ("ended", "finish_reason"),
    "tokens_in": ("tokens_in",),
    "tokens_out": ("tokens_out",),
    "seconds": ("seconds",),
    "image": ("image",),
}
"""Field -> its names in a file. Everything else is kept in Answer.extra."""
_FIELDS = {name: field for field, names in COLUMNS.items() for name in names}
_WHOLE = {
    "number": (1, 2**31 - 1),
    "seed": (0, 2**63 - 1),
    "tokens_in": (0, 2**31 - 1),
    "tokens_out": (0, 2**31 - 1),
}
LONGEST_KEY = 200
LONGEST_ENDED = 40


@dataclass(slots=True)
class Line:
    """One answer. `key` "": made of the prompt and the image. `number` 0: counted, among the lines without
    one of the same key."""

    place: str
    prompt: str
    text: str
    key: str
    number: int
    seed: int | None
    ended: str
    tokens_in: int | None
    tokens_out: int | None
    seconds: float | None
    image: str
    extra: dict[str, Any]

    @property
    def full_key(self) -> str:
        """The key, or one made of the prompt and the image."""
        if self.key:
            return self.key
        return hashlib.sha256(f"{self.prompt}\x1f{self.image}".encode()).hexdigest()[:32]


class LineRefused(ValueError):
    """What is wrong with a record, with the cure."""


def read_lines(path: Path, *, with_image: bool) -> Iterator[Line | str]:
    """The answers of a file; instead of one with an error, what is wrong with it, and where.

    `with_image`: `image` is a field, not one of the further ones. Raises FileUnusable.
    """
    first = True
    for record in records(path):
        if first and record.place.startswith("row"):
            _check_columns(path, record)
        first = False
        try:
            yield parse(record, with_image=with_image)
        except LineRefused as refused:
            yield f"{record.place}: {refused}"


def _check_columns(path: Path, record: Record) -> None:
    """Of a CSV file: without a column, every row would have the same error."""
    for name in ("prompt", "text"):
        if not record.problem and name not in record.values:
            there = ", ".join(record.values)[:200]
            raise FileUnusable(
                path, [f"row 1: there is no column '{name}'. The columns are: {there}. Separate by commas."]
            )


def parse(record: Record, *, with_image: bool) -> Line:
    """The fields of a record. Raises LineRefused."""
    if record.problem:
        raise LineRefused(record.problem)
    found: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in record.values.items():
        field = _FIELDS.get(name)
        if field is None or (field == "image" and not with_image):
            if value not in ("", None):
                extra[name] = value
        elif field in found:
            raise LineRefused(f"{' and '.join(COLUMNS[field])} are the same field. Leave one out.")
        else:
            found[field] = value
    key = _text(found, "key")
    if len(key) > LONGEST_KEY:
        raise LineRefused(f"key: it has {len(key):,} characters. Use at most {LONGEST_KEY}.")
    number = _whole(found, "number")
    return Line(
        place=record.place,
        prompt=_needed(found, "prompt"),
        text=_needed(found, "text", empty=True),
        key=key,
        number=number if number is not None else 1 if key else 0,
        seed=_whole(found, "seed"),
        ended=_ended(found),
        tokens_in=_whole(found, "tokens_in"),
        tokens_out=_whole(found, "tokens_out"),
        seconds=_seconds(found),
        image=_text(found, "image"),
        extra=extra,
    )


def _needed(found: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = found.get(name)
    if value is None or (value == "" and not empty):
        raise LineRefused(f"{name}: it is missing. Every line needs a prompt and a text.")
    if not isinstance(value, str):
        raise LineRefused(f"{name}: it is no text. Put it into quotation marks.")
    return value


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise LineRefused(f"{name}: it is no text. Put it into quotation marks.")
    return str(value)


def _ended(found: Mapping[str, Any]) -> str:
    value = _text(found, "ended")
    if len(value) > LONGEST_ENDED:
        raise LineRefused(f"ended: it has {len(value):,} characters. Use at most {LONGEST_ENDED}.")
    return value


def _whole(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value in ("", None):
        return None
    least, most = _WHOLE[name]
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 25:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise LineRefused(f"{name}: {str(value)[:40]!r} is no whole number from {least} to {most}.")
    return value


def _seconds(found: Mapping[str, Any]) -> float | None:
    value = found.get("seconds")
    if value in ("", None):
        return None
    try:
        seconds = float(value) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        seconds = -1.0
    if not 0 <= seconds < 1e12 or isinstance(value, bool):
        raise LineRefused(f"seconds: {str(value)[:40]!r} is no number of 0 or more.")
    return seconds
