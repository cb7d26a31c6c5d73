"""Read files from a folder or a ZIP by name, without unpacking it. Pure: no Django."""

import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from annotation.core.zip_files import UNREADABLE, is_hidden
from annotation.imports.readers.oddities import FileRefused

MAX_FILES = 200_000
MAX_BYTES = 50_000_000_000
"""Unpacked size of a ZIP."""


class Bundle(Protocol):
    """Files by relative name, separated by '/', without hidden files and __MACOSX."""

    name: str

    def names(self) -> list[str]: ...

    def read(self, name: str, *, limit: int) -> bytes:
        """At limit `limit` + 1 bytes of a file in `names`. Raises FileRefused."""


@contextmanager
def open_bundle(source: Path | IO[bytes], *, name: str = "") -> Iterator[Bundle]:
    """The files of a folder, a ZIP at a path, or an uploaded ZIP called `name`. Raises FileRefused."""
    if isinstance(source, Path):
        if source.is_dir():
            yield _Folder(source)
            return
        if not source.is_file():
            raise FileRefused(source, f"there is no such folder or ZIP ({source}).", "Check the path.")
    file_name = name or Path(getattr(source, "name", "") or str(source)).name
    try:
        with _archive(source) as archive:
            yield _Zip(archive, file_name)
    except zipfile.BadZipFile as error:
        raise FileRefused(
            file_name, f"this is not a complete ZIP file ({error}).", "Pack it again."
        ) from error


def _archive(source: Path | IO[bytes]) -> zipfile.ZipFile:
    """The ZIP. Raises BadZipFile also for invalid offsets and versions in its directory."""
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
        return sorted(path.as_posix() for path in found if not is_hidden(path.as_posix()))

    def read(self, name: str, *, limit: int) -> bytes:
        path = self._root / name
        # A link may point anywhere on this machine.
        if not path.resolve().is_relative_to(self._root):
            raise FileRefused(
                path, "it is a link to a file outside the folder.", "Copy the file itself there."
            )
        try:
            with path.open("rb") as file:
                return file.read(limit + 1)
        except OSError as error:
            raise FileRefused(
                path, f"it cannot be read ({error.strerror}).", "Check its permissions."
            ) from error


class _Zip:
    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.name = name
        self._archive = archive
        self._members = self._check(archive.infolist())

    def names(self) -> list[str]:
        return sorted(self._members)

    def read(self, name: str, *, limit: int) -> bytes:
        try:
            # Limited, whatever size the directory of the ZIP claims.
            with self._archive.open(self._members[name]) as file:
                return file.read(limit + 1)
        except UNREADABLE as error:
            raise FileRefused(
                self.name, f"'{name}' cannot be unpacked ({error}).", "Pack it again."
            ) from error

    def _check(self, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        if len(members) > MAX_FILES:
            raise FileRefused(
                self.name, f"it has {len(members)} files; the limit is {MAX_FILES}.", "Split it."
            )
        if sum(member.file_size for member in members) > MAX_BYTES:
            raise FileRefused(
                self.name, f"it unpacks to more than {MAX_BYTES / 1e9:.0f} GB.", "Split it, or use a folder."
            )
        found: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            if member.is_dir() or is_hidden(member.filename):
                continue
            if _is_unsafe(member.filename) or stat.S_ISLNK(member.external_attr >> 16):
                raise FileRefused(
                    self.name, f"'{member.filename}' points outside the ZIP.", "Pack plain files only."
                )
            if member.flag_bits & 0x1:
                raise FileRefused(self.name, "it is encrypted with a password.", "Pack it without one.")
            if member.filename in found:
                raise FileRefused(self.name, f"it has two files '{member.filename}'.", "Remove one.")
            found[member.filename] = member
        return found


def _is_unsafe(name: str) -> bool:
    return name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts
