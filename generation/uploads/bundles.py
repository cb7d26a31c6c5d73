"""A folder or a ZIP of files, read by name and never unpacked. Pure: no Django."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from annotation.imports.readers.oddities import FileRefused

MOST_FILES = 200_000
MOST_BYTES = 50_000_000_000
"""Of a ZIP once it is unpacked."""


class Bundle(Protocol):
    """Files by name: relative, parted by '/', without what systems leave behind (hidden files, __MACOSX)."""

    name: str

    def names(self) -> list[str]: ...

    def read(self, name: str, *, most: int) -> bytes:
        """At most `most` + 1 bytes of a file that `names` has. Raises FileRefused."""


@contextmanager
def opened(source: Path | IO[bytes], *, name: str = "") -> Iterator[Bundle]:
    """The files in a folder, in a ZIP's path, or in an uploaded ZIP called `name`. Raises FileRefused."""
    if isinstance(source, Path):
        if source.is_dir():
            yield _Folder(source)
            return
        if not source.is_file():
            raise FileRefused(source, f"there is no such folder or ZIP ({source}).", "Check the path.")
    called = name or Path(getattr(source, "name", "") or str(source)).name
    try:
        with _archive(source) as archive:
            yield _Zip(archive, called)
    except zipfile.BadZipFile as error:
        raise FileRefused(called, f"this is no whole ZIP file ({error}).", "Pack it again.") from error


def _archive(source: Path | IO[bytes]) -> zipfile.ZipFile:
    """The ZIP. Raises BadZipFile also for one whose directory names places and versions that cannot be."""
    try:
        return zipfile.ZipFile(source)
    except (ValueError, OSError, NotImplementedError) as error:
        raise zipfile.BadZipFile(str(error)) from error


class _Folder:
    def __init__(self, root: Path) -> None:
        self.name = root.name
        self._root = root.resolve()

    def names(self) -> list[str]:
        found = (path.relative_to(self._root) for path in self._root.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in found if not _left_behind(path.as_posix()))

    def read(self, name: str, *, most: int) -> bytes:
        path = self._root / name
        # A link may lead anywhere on this machine.
        if not path.resolve().is_relative_to(self._root):
            raise FileRefused(
                path, "it is a link that leads out of the folder.", "Copy the file itself there."
            )
        try:
            with path.open("rb") as file:
                return file.read(most + 1)
        except OSError as error:
            raise FileRefused(
                path, f"it cannot be read ({error.strerror}).", "Check its permissions."
            ) from error


# Whatever zipfile stumbles over: OSError and ValueError are of places before the file's beginning.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.name = name
        self._archive = archive
        self._members = self._checked(archive.infolist())

    def names(self) -> list[str]:
        return sorted(self._members)

    def read(self, name: str, *, most: int) -> bytes:
        try:
            # As many bytes as asked for, whatever size the directory of the ZIP claims.
            with self._archive.open(self._members[name]) as file:
                return file.read(most + 1)
        except _UNREADABLE as error:
            raise FileRefused(
                self.name, f"'{name}' cannot be unpacked ({error}).", "Pack it again."
            ) from error

    def _checked(self, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        if len(members) > MOST_FILES:
            raise FileRefused(
                self.name, f"it has {len(members)} files; {MOST_FILES} is the most.", "Part it."
            )
        if sum(member.file_size for member in members) > MOST_BYTES:
            raise FileRefused(
                self.name, f"it unpacks to more than {MOST_BYTES / 1e9:.0f} GB.", "Part it, or use a folder."
            )
        found: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            if member.is_dir() or _left_behind(member.filename):
                continue
            if _unsafe(member.filename) or stat.S_ISLNK(member.external_attr >> 16):
                raise FileRefused(
                    self.name, f"'{member.filename}' leads out of the ZIP.", "Pack the plain files only."
                )
            if member.flag_bits & 0x1:
                raise FileRefused(self.name, "it is locked with a password.", "Pack it without one.")
            if member.filename in found:
                raise FileRefused(self.name, f"it has two files '{member.filename}'.", "Remove one.")
            found[member.filename] = member
        return found


def _left_behind(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or any(part.startswith(".") and part != ".." for part in parts)


def _unsafe(name: str) -> bool:
    return name.startswith("/") or "\\" in name or "\0" in name or ".." in PurePosixPath(name).parts


__all__ = ["Bundle", "opened"]
