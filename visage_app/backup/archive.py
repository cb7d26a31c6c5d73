"""The backup file, a plain tar archive (docs/backup.md, The file), written and read sequentially. No Django.

All member names are generated here: none comes from the data or is used as a path, and others are refused.
"""

from __future__ import annotations

import gzip
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
"""Uncompressed bytes per part."""
_PIECE = 1 << 20
_MAX_ROW = 64 << 20
_MAX_MANIFEST = 16 << 20
_MAX_PART = 64 << 20
_BLOCK = tarfile.BLOCKSIZE
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""Deflate, no flags, no time, no system: as LinesWriter writes it."""
_MEMBER = re.compile(
    r"(?P<last>manifest\.(json|sha256))|media/(?P<file>\d{9})|(?P<of>files|tables/[a-z][a-z0-9_]{0,62})/(?P<part>\d{6})\.jsonl\.gz"
)


class ArchiveDamaged(Exception):
    """The file is not a backup, or it was changed. The message says what to do."""


class Writer:
    """Writes a backup to `out`, only by appending."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._files = 0

    def lines(self, of: str) -> LinesWriter:
        """A writer for the rows of `tables/NAME` or of the list of files."""
        return LinesWriter(of, self.add)

    def file(self, size: int, content: Iterator[bytes]) -> tuple[str, int]:
        """Add one stored file of `size` bytes; return its SHA-256 in hex and its size.

        Raises ValueError if the content has another size.
        """
        self._files += 1
        self._out.write(_header(f"media/{self._files:09}", size))
        sha256, written = hashlib.sha256(), 0
        for piece in content:
            sha256.update(piece)
            written += len(piece)
            self._out.write(piece)
        if written != size:
            raise ValueError(f"it has {written} bytes instead of {size}")
        self._out.write(bytes(-size % _BLOCK))
        return sha256.hexdigest(), size

    def add(self, name: str, data: bytes) -> None:
        self._out.write(_header(name, len(data)) + data + bytes(-len(data) % _BLOCK))

    def end(self, manifest: bytes) -> None:
        self.add(MANIFEST, manifest)
        self.add(CHECKSUM, _checksum(manifest))
        self._out.write(bytes(2 * _BLOCK))


class LinesWriter:
    """Compresses, hashes and counts rows for the archive."""

    def __init__(self, of: str, add: Callable[[str, bytes], None]) -> None:
        self._of = of
        self._add = add
        self._sha256 = hashlib.sha256()
        self._rows = self._bytes = self._parts = 0
        self._begin_part()

    def add(self, line: bytes) -> None:
        self._rows += 1
        self._part_size += len(line)
        self._sha256.update(line)
        self._part.write(line)
        if self._part_size >= PART:
            self._end_part()

    def end(self) -> Lines:
        if self._part_size:
            self._end_part()
        return Lines(rows=self._rows, bytes=self._bytes, parts=self._parts, sha256=self._sha256.hexdigest())

    def _begin_part(self) -> None:
        self._part_size = 0
        self._compressed = io.BytesIO()
        # Without a timestamp: the same rows give the same bytes.
        part = gzip.GzipFile("", "wb", 5, self._compressed, mtime=0)
        self._part = io.BufferedWriter(part, _PIECE)

    def _end_part(self) -> None:
        self._part.close()
        self._bytes += self._part_size
        self._parts += 1
        self._add(f"{self._of}/{self._parts:06}.jsonl.gz", self._compressed.getvalue())
        self._begin_part()


@dataclass(frozen=True)
class _Member:
    start: int
    size: int


class Reader:
    """Reads a backup from the seekable `source`. Raises ArchiveDamaged if it was changed."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._parts: dict[str, list[_Member]] = {}
        self._first_file = self.files = self.file_bytes = 0
        manifest_members: dict[str, bytes] = {}
        for kind, member in self._members(0):
            name = kind[0]
            if (manifest_members and name != CHECKSUM) or name in manifest_members:
                raise ArchiveDamaged(f"It contains {name[:100]!r} where no backup has it.")
            if kind["of"]:
                parts = self._parts.setdefault(kind["of"], [])
                if int(kind["part"]) != len(parts) + 1 or member.size > _MAX_PART:
                    raise ArchiveDamaged(f"{name} is not where it belongs.")
                parts.append(member)
            elif kind["file"]:
                if int(kind["file"]) != self.files + 1:
                    raise ArchiveDamaged(f"{name} is not where it belongs.")
                if not self.files:
                    self._first_file = member.start - _BLOCK
                self.files += 1
                self.file_bytes += member.size
            elif member.size > _MAX_MANIFEST:
                raise ArchiveDamaged("Its manifest is too large.")
            else:
                manifest_members[name] = self._read(member.start, member.size)
        if set(manifest_members) != {MANIFEST, CHECKSUM}:
            raise ArchiveDamaged("It has no manifest at its end: it is not a backup, or it is incomplete.")
        if manifest_members[CHECKSUM] != _checksum(manifest_members[MANIFEST]):
            raise ArchiveDamaged("Its manifest has been changed: its checksum differs.")
        self.manifest = manifest_members[MANIFEST]
        self.row_sets = frozenset(self._parts)

    def lines(self, of: str, expected: Lines) -> Iterator[bytes]:
        """The rows of `of`, checked against the manifest's `expected` after the last one."""
        sha256, rows, size, rest = hashlib.sha256(), 0, 0, b""
        for piece in self._decompressed(of, expected):
            sha256.update(piece)
            size += len(piece)
            if size > expected.bytes:
                break
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > _MAX_ROW:
                raise ArchiveDamaged(f"A row of {of} is too long.")
            rows += len(whole)
            yield from whole
        if rest or (rows, size, sha256.hexdigest()) != (expected.rows, expected.bytes, expected.sha256):
            raise ArchiveDamaged(f"The rows of {of} have been changed: their checksum differs.")

    def stored(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        """The size and the content in pieces of each stored file, in order."""
        for kind, member in self._members(self._first_file):
            if kind["file"]:
                yield member.size, self._pieces(member)

    def _members(self, start: int) -> Iterator[tuple[re.Match[str], _Member]]:
        while True:
            raw = self._read(start, _BLOCK)
            if not any(raw):
                if any(self._read(start + _BLOCK, _BLOCK)) or self._source.read(1):
                    raise ArchiveDamaged(f"It has data after its end, at byte {start:,}.")
                return
            try:
                header = tarfile.TarInfo.frombuf(raw, "ascii", "strict")
            except (tarfile.HeaderError, UnicodeDecodeError) as error:
                raise ArchiveDamaged(
                    f"It is damaged at byte {start:,}, or it is not a backup: {error}."
                ) from error
            # Exactly as written here: no links, other owners or paths elsewhere.
            kind = _MEMBER.fullmatch(header.name)
            if kind is None or _header(header.name, header.size) != raw:
                raise ArchiveDamaged(
                    f"It contains {header.name[:100]!r}, which no backup contains in this form."
                )
            yield kind, _Member(start + _BLOCK, header.size)
            start += _BLOCK + header.size
            if any(self._read(start, -header.size % _BLOCK)):
                raise ArchiveDamaged(f"It is damaged at byte {start:,}.")
            start += -header.size % _BLOCK

    def _decompressed(self, of: str, expected: Lines) -> Iterator[bytes]:
        members = self._parts.get(of, [])
        if len(members) != expected.parts:
            raise ArchiveDamaged(f"{of} has {len(members)} parts instead of {expected.parts}.")
        for member in members:
            # Nothing else looks at these bytes, so a change of them would go unnoticed.
            if self._read(member.start, len(_GZIP_HEADER)) != _GZIP_HEADER:
                raise ArchiveDamaged(f"The rows of {of} cannot be read: a part begins wrongly.")
            decompressor = zlib.decompressobj(wbits=31)
            try:
                for piece in self._pieces(member):
                    while piece:
                        yield decompressor.decompress(piece, _PIECE)
                        piece = decompressor.unconsumed_tail
                while not decompressor.eof and (piece := decompressor.decompress(b"", _PIECE)):
                    yield piece
            except zlib.error as error:
                raise ArchiveDamaged(f"The rows of {of} cannot be decompressed: {error}.") from error
            if not decompressor.eof or decompressor.unused_data:
                raise ArchiveDamaged(f"The rows of {of} cannot be decompressed: a part has the wrong length.")

    def _pieces(self, member: _Member) -> Iterator[bytes]:
        for start in range(0, member.size, _PIECE):
            yield self._read(member.start + start, min(_PIECE, member.size - start))

    def _read(self, start: int, size: int) -> bytes:
        self._source.seek(start, io.SEEK_SET)
        data = self._source.read(size)
        if len(data) != size:
            raise ArchiveDamaged("It is incomplete: it was not written or copied to the end.")
        return data


def _header(name: str, size: int) -> bytes:
    header = tarfile.TarInfo(name)
    header.size = size
    header.mode = 0o600
    return header.tobuf(tarfile.USTAR_FORMAT)


def _checksum(manifest: bytes) -> bytes:
    # The format of sha256sum --check.
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()
