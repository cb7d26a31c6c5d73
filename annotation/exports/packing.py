"""Zip archives and Excel sheets as streams of bytes, never whole in memory."""

import io
import re
import tempfile
import weakref
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import xlsxwriter
from django.http import StreamingHttpResponse

from annotation.export_files import work_folder
from annotation.exports.selection import ExportRefused

README = "README.md"
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
        self.content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.content += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self.content)
        self.content.clear()
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
                    if len(buffer.content) >= CHUNK_BYTES:
                        yield buffer.take()
    yield buffer.take()


def file_content(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece


def was_made_by(folder: Path, mark: str) -> bool:
    """Whether the README.md of the folder holds `mark`: nothing else is ever replaced."""
    readme = folder / README
    return readme.is_file() and mark in readme.read_text(encoding="utf-8", errors="replace")


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A name beside `path` for a new folder, which replaces `path` if the block succeeds."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as unfinished:
        new = Path(unfinished, "new")
        yield new
        if path.exists():
            path.rename(Path(unfinished, "old"))
        new.rename(path)


def zip_response(archive: Iterable[bytes], file_name: str) -> StreamingHttpResponse:
    """The download of an archive that is sent as it is made."""
    return StreamingHttpResponse(
        archive,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


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


MAX_ROWS = 1_048_576
"""The most rows that a sheet can hold."""


def xlsx_sheet(name: str, rows: Iterable[tuple[object, ...]]) -> Iterator[bytes]:
    """An Excel file with one sheet. Numbers are numbers; everything else is text, never a formula.

    It is written to disk row by row and read from there. Raises ExportRefused after MAX_ROWS rows.
    """
    with tempfile.TemporaryDirectory(dir=work_folder(), prefix="sheet-") as folder:
        path = Path(folder, "sheet.xlsx")
        with xlsxwriter.Workbook(path, {"constant_memory": True, "tmpdir": folder}) as book:
            # The same bytes for the same data: by default the file holds the time of writing.
            book.set_properties({"created": datetime(1980, 1, 1)})
            page = book.add_worksheet(name)
            for number, row in enumerate(rows):
                if number >= MAX_ROWS:
                    raise ExportRefused(
                        "These are more rows than an Excel sheet can hold. Filter, or use the long table."
                    )
                for column, value in enumerate(row):
                    if isinstance(value, int | float):
                        page.write_number(number, column, value)
                    else:
                        page.write_string(number, column, _NOT_XML.sub("", str(value)))
        yield from file_content(path)
