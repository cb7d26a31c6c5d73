"""Bytes as they come: zip archives and sheets that are written without ever being whole in memory."""

from __future__ import annotations

import io
import re
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

import xlsxwriter

from annotation.export_files import workshop

ENOUGH = 1 << 18
"""Bytes that are handed on at once."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class File:
    """One file of an export. Its bytes are made while they are read: read them before asking for the next."""

    name: str
    content: Iterable[bytes]


class Drain(io.RawIOBase):
    """A file to write to, of which what was written is taken away again and again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._held = 0
        self._written = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: object) -> int:
        piece = bytes(memoryview(data))  # type: ignore[arg-type]
        self._parts.append(piece)
        self._held += len(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    @property
    def full(self) -> bool:
        return self._held >= ENOUGH

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return taken


def zipped(files: Iterable[File]) -> Iterator[bytes]:
    """A zip archive of `files`. Its table of contents comes last: what broke off does not open."""
    drain = Drain()
    with zipfile.ZipFile(drain, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            about = zipfile.ZipInfo(file.name)
            about.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(about, "w", force_zip64=True) as entry:
                for piece in file.content:
                    entry.write(piece)
                    if drain.full:
                        yield drain.take()
    yield drain.take()


class Aside:
    """A part of an export that is written while another is read, and read afterwards: kept on the disk."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=workshop())  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # also where an export breaks off

    def write(self, text: str) -> None:
        self._file.write(text.encode())

    def content(self) -> Iterator[bytes]:
        """All that was written, once; the file is gone then."""
        with self._file as file:
            file.seek(0)
            while piece := file.read(ENOUGH):
                yield piece


def gathered(lines: Iterable[str]) -> Iterator[bytes]:
    """Texts as bytes, a good many at a time."""
    held: list[str] = []
    length = 0
    for line in lines:
        held.append(line)
        length += len(line)
        if length >= ENOUGH:
            yield "".join(held).encode()
            held.clear()
            length = 0
    yield "".join(held).encode()


MOST_ROWS = 1_048_576
"""Rows of a sheet, as spreadsheets have it."""


def sheet(
    name: str, rows: Iterable[tuple[object, ...]], *, too_long: Callable[[], Exception]
) -> Iterator[bytes]:
    """An Excel file with one sheet; numbers are numbers, everything else is text and never a formula.

    It is written to the disk row by row and read from there. Raises `too_long()` where a sheet cannot hold
    as many rows.
    """
    with tempfile.TemporaryDirectory(dir=workshop(), prefix="sheet-") as folder:
        path = Path(folder, "sheet.xlsx")
        with xlsxwriter.Workbook(path, {"constant_memory": True, "tmpdir": folder}) as book:
            # The same bytes for the same data: otherwise the file says when it was written.
            book.set_properties({"created": datetime(1980, 1, 1)})
            page = book.add_worksheet(name)
            for number, row in enumerate(rows):
                if number >= MOST_ROWS:
                    raise too_long()
                for column, value in enumerate(row):
                    if isinstance(value, int | float):
                        page.write_number(number, column, value)
                    else:
                        page.write_string(number, column, _NOT_XML.sub("", str(value)))
        with path.open("rb") as file:
            while piece := file.read(ENOUGH):
                yield piece


__all__ = ["ENOUGH", "Aside", "Drain", "File", "gathered", "sheet", "zipped"]
