"""The file of a backup: a plain tar archive, written and read from front to end. Pure: no Django.

    tables/NAME/000001.jsonl.gz ...   the rows of a table, some megabytes to a part
    media/000000001 ...               the stored files, as they are
    files/000001.jsonl.gz ...         path, size and SHA-256 of each of them, in the same order
    manifest.json                     what there must be of all this
    manifest.sha256                   its checksum, last: what broke off has none

Every name is made here, none is taken from the data or followed as a path: the archive can hold nothing but
these. Nothing of it is ever whole in memory but one part's compressed bytes and one row.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from visage_app.backup.manifest import Lines

MANIFEST = "manifest.json"
CHECKSUM = "manifest.sha256"
FILES = "files"
PART = 16 << 20
"""Bytes of lines that make a part."""
_PIECE = 1 << 20
_LONGEST_ROW = 64 << 20
_LARGEST_MANIFEST = 16 << 20
_LARGEST_PART = 64 << 20
_BLOCK = tarfile.BLOCKSIZE
_MEMBER = re.compile(
    r"(?P<last>manifest\.(json|sha256))|media/(?P<file>\d{9})|(?P<of>files|tables/[a-z][a-z0-9_]{0,62})/(?P<part>\d{6})\.jsonl\.gz"
)


class ArchiveDamaged(Exception):
    """The file is no backup, or not as it was written. Says what, and what to do."""


class Writer:
    """A backup being written to `out`, which is only ever appended to."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._files = 0

    def lines(self, of: str) -> LinesWriter:
        """Rows of `tables/NAME`, or of the list of files."""
        return LinesWriter(of, self.add)

    def file(self, size: int, content: Iterator[bytes]) -> tuple[str, int]:
        """One stored file of about `size` bytes; its SHA-256 in hex and its size.

        Raises ValueError if it turns out to have another size.
        """
        self._files += 1
        self._begin(f"media/{self._files:09}", size)
        sha256, written = hashlib.sha256(), 0
        for piece in content:
            sha256.update(piece)
            written += len(piece)
            self._out.write(piece)
        if written != size:
            raise ValueError(f"{written} bytes came instead of {size}")
        self._fill(size)
        return sha256.hexdigest(), size

    def add(self, name: str, data: bytes) -> None:
        self._begin(name, len(data))
        self._out.write(data)
        self._fill(len(data))

    def end(self, manifest: bytes) -> None:
        self.add(MANIFEST, manifest)
        self.add(CHECKSUM, _checksum(manifest))
        self._out.write(bytes(2 * _BLOCK))

    def _begin(self, name: str, size: int) -> None:
        self._out.write(_header(name, size))

    def _fill(self, size: int) -> None:
        self._out.write(bytes(-size % _BLOCK))


class LinesWriter:
    """Rows on their way into the archive, compressed, hashed and counted."""

    def __init__(self, of: str, add: Callable[[str, bytes], None]) -> None:
        self._of = of
        self._add = add
        self._sha256 = hashlib.sha256()
        self._rows = self._bytes = self._parts = 0
        self._held: list[bytes] = []
        self._size = 0
        self._begin_part()

    def add(self, line: bytes) -> None:
        self._rows += 1
        self._held.append(line)
        self._size += len(line)
        if self._size >= _PIECE:
            self._press()
            if self._raw >= PART:
                self._end_part()

    def end(self) -> Lines:
        self._press()
        if self._raw:
            self._end_part()
        return Lines(rows=self._rows, bytes=self._bytes, parts=self._parts, sha256=self._sha256.hexdigest())

    def _press(self) -> None:
        piece = b"".join(self._held)
        self._sha256.update(piece)
        self._bytes += len(piece)
        self._raw += len(piece)
        self._pressed.append(self._press_on.compress(piece))
        self._held.clear()
        self._size = 0

    def _begin_part(self) -> None:
        self._raw = 0
        self._pressed: list[bytes] = []
        # gzip, with no time in it: the same rows are the same bytes
        self._press_on = zlib.compressobj(5, wbits=31)

    def _end_part(self) -> None:
        self._parts += 1
        self._pressed.append(self._press_on.flush())
        self._add(f"{self._of}/{self._parts:06}.jsonl.gz", b"".join(self._pressed))
        self._begin_part()


@dataclass(frozen=True)
class _Place:
    start: int
    size: int


class Reader:
    """A backup in `source`, which can be read again. Raises ArchiveDamaged for what was changed."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._parts: dict[str, list[_Place]] = {}
        self._first_file = self.files = self.file_bytes = 0
        ends: dict[str, bytes] = {}
        for name, place in self._members(0):
            kind = _MEMBER.fullmatch(name)
            assert kind is not None
            if (ends and name != CHECKSUM) or name in ends:
                raise ArchiveDamaged(f"It holds {name[:100]!r}, which no backup holds there.")
            if kind["of"]:
                parts = self._parts.setdefault(kind["of"], [])
                if int(kind["part"]) != len(parts) + 1 or place.size > _LARGEST_PART:
                    raise ArchiveDamaged(f"{name} is not where it belongs.")
                parts.append(place)
            elif kind["file"]:
                if int(kind["file"]) != self.files + 1:
                    raise ArchiveDamaged(f"{name} is not where it belongs.")
                self._first_file = self._first_file or place.start - _BLOCK
                self.files += 1
                self.file_bytes += place.size
            elif place.size > _LARGEST_MANIFEST:
                raise ArchiveDamaged("Its manifest is too large to be one.")
            else:
                ends[name] = self._read(place.start, place.size)
        if set(ends) != {MANIFEST, CHECKSUM}:
            raise ArchiveDamaged(
                "It has no manifest at its end: it is no backup, or it broke off while it was made or copied."
            )
        if ends[CHECKSUM] != _checksum(ends[MANIFEST]):
            raise ArchiveDamaged("Its manifest is not as it was written: its checksum differs.")
        self.manifest = ends[MANIFEST]
        self.held = frozenset(self._parts)

    def lines(self, of: str, told: Lines) -> Iterator[bytes]:
        """The rows of `of`, checked against what the manifest told of them once all were asked for."""
        sha256, rows, size, rest = hashlib.sha256(), 0, 0, b""
        for piece in self._unpressed(of, told):
            sha256.update(piece)
            size += len(piece)
            if size > told.bytes:
                break
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > _LONGEST_ROW:
                raise ArchiveDamaged(f"A row of {of} is too long to be one.")
            rows += len(whole)
            yield from whole
        if rest or (rows, size, sha256.hexdigest()) != (told.rows, told.bytes, told.sha256):
            raise ArchiveDamaged(f"The rows of {of} are not those that were written: their checksum differs.")

    def stored(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        """The size of each stored file and its bytes in pieces, one file after the other."""
        for name, place in self._members(self._first_file):
            if name.startswith("media/"):
                yield place.size, self._pieces(place)

    def _members(self, start: int) -> Iterator[tuple[str, _Place]]:
        while True:
            raw = self._read(start, _BLOCK)
            if not any(raw):
                if any(self._read(start + _BLOCK, _BLOCK)) or self._source.read(1):
                    raise ArchiveDamaged(f"It goes on after its end, at byte {start:,}.")
                return
            try:
                about = tarfile.TarInfo.frombuf(raw, "ascii", "strict")
            except (tarfile.HeaderError, UnicodeDecodeError) as error:
                raise ArchiveDamaged(
                    f"It is damaged at byte {start:,}, or it is no backup: {error}."
                ) from error
            # just as written here: no links, no other owners, nothing to unpack elsewhere
            if not _MEMBER.fullmatch(about.name) or _header(about.name, about.size) != raw:
                raise ArchiveDamaged(f"It holds {about.name[:100]!r}, which no backup holds like that.")
            yield about.name, _Place(start + _BLOCK, about.size)
            start += _BLOCK + about.size
            if any(self._read(start, -about.size % _BLOCK)):
                raise ArchiveDamaged(f"It is damaged at byte {start:,}.")
            start += -about.size % _BLOCK

    def _unpressed(self, of: str, told: Lines) -> Iterator[bytes]:
        places = self._parts.get(of, [])
        if len(places) != told.parts:
            raise ArchiveDamaged(f"{of} has {len(places)} parts instead of {told.parts}.")
        for place in places:
            gunzip = zlib.decompressobj(wbits=31)
            try:
                for piece in self._pieces(place):
                    while piece:
                        yield gunzip.decompress(piece, _PIECE)
                        piece = gunzip.unconsumed_tail
                while not gunzip.eof and (piece := gunzip.decompress(b"", _PIECE)):
                    yield piece
            except zlib.error as error:
                raise ArchiveDamaged(f"The rows of {of} cannot be unpacked: {error}.") from error
            if not gunzip.eof or gunzip.unused_data:
                raise ArchiveDamaged(f"The rows of {of} cannot be unpacked: a part has another length.")

    def _pieces(self, place: _Place) -> Iterator[bytes]:
        for start in range(0, place.size, _PIECE):
            yield self._read(place.start + start, min(_PIECE, place.size - start))

    def _read(self, start: int, size: int) -> bytes:
        self._source.seek(start, io.SEEK_SET)
        data = self._source.read(size)
        if len(data) != size:
            raise ArchiveDamaged("It ends in the middle: it broke off while it was made or copied.")
        return data


def _header(name: str, size: int) -> bytes:
    about = tarfile.TarInfo(name)
    about.size = size
    about.mode = 0o600
    return about.tobuf(tarfile.USTAR_FORMAT)


def _checksum(manifest: bytes) -> bytes:
    # as sha256sum --check reads it
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()
