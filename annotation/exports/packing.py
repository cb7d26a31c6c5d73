"""Zip archives and Excel sheets as streams of bytes, never whole in memory."""

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

from annotation.export_files import work_folder

CHUNK_BYTES = 1 << 18
"""Size of a piece of a stream, in bytes."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class File:
    """A file of an export. Its content is produced while it is read: read it before taking the next file."""

    name: str
    content: Iterable[bytes]


class StreamBuffer(io.RawIOBase):
    """A writable file whose content so far can be taken out again and again."""

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
        return self._held >= CHUNK_BYTES

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return taken


def zip_stream(files: Iterable[File]) -> Iterator[bytes]:
    """A zip archive of `files`. Its table of contents comes last, so a truncated archive does not open."""
    buffer = StreamBuffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            header = zipfile.ZipInfo(file.name)
            header.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(header, "w", force_zip64=True) as entry:
                for piece in file.content:
                    entry.write(piece)
                    if buffer.full:
                        yield buffer.take()
    yield buffer.take()


class TemporaryText:
    """Text on disk that is written while another part of the export is produced, and read afterwards."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=work_folder())  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # also if the export is aborted

    def write(self, text: str) -> None:
        self._file.write(text.encode())

    def content(self) -> Iterator[bytes]:
        """All that was written. Works once: the file is deleted afterwards."""
        with self._file as file:
            file.seek(0)
            while piece := file.read(CHUNK_BYTES):
                yield piece


def encoded_chunks(lines: Iterable[str]) -> Iterator[bytes]:
    """Texts as bytes, in pieces of about CHUNK_BYTES."""
    pieces: list[str] = []
    length = 0
    for line in lines:
        pieces.append(line)
        length += len(line)
        if length >= CHUNK_BYTES:
            yield "".join(pieces).encode()
            pieces.clear()
            length = 0
    yield "".join(pieces).encode()


MAX_ROWS = 1_048_576
"""The most rows that a sheet can hold."""


def xlsx_sheet(
    name: str, rows: Iterable[tuple[object, ...]], *, too_long: Callable[[], Exception]
) -> Iterator[bytes]:
    """An Excel file with one sheet. Numbers are numbers; everything else is text, never a formula.

    It is written to disk row by row and read from there. Raises `too_long()` if there are more than MAX_ROWS
    rows.
    """
    with tempfile.TemporaryDirectory(dir=work_folder(), prefix="sheet-") as folder:
        path = Path(folder, "sheet.xlsx")
        with xlsxwriter.Workbook(path, {"constant_memory": True, "tmpdir": folder}) as book:
            # The same bytes for the same data: by default the file holds the time of writing.
            book.set_properties({"created": datetime(1980, 1, 1)})
            page = book.add_worksheet(name)
            for number, row in enumerate(rows):
                if number >= MAX_ROWS:
                    raise too_long()
                for column, value in enumerate(row):
                    if isinstance(value, int | float):
                        page.write_number(number, column, value)
                    else:
                        page.write_string(number, column, _NOT_XML.sub("", str(value)))
        with path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                yield piece
