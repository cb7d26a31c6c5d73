"""Image files. Each is named by its hash and written completely or not at all."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

_FOLDER = "images"
_PART = ".part-"
_ABANDONED = timedelta(days=1)  # nobody needs a day to write one file


def store(data: bytes, *, suffix: str = ".png") -> tuple[str, str]:
    """Store a file under its hash. Returns its name (for Image.file) and its SHA-256 in hex.

    The same bytes have the same name, so storing them again changes nothing, but repairs a damaged file. On
    a local disk the file appears under its name only when it is complete, even if the writer is killed or
    the disk is full. Raises OSError if it cannot be written.
    """
    sha256 = digest(data)
    name = f"{_FOLDER}/{sha256}{suffix}"
    if not is_stored(name, sha256=sha256):
        write(name, data)
    return name, sha256


def write(name: str, data: bytes) -> None:
    """Write the file `name` completely or not at all. Raises OSError if it cannot be written."""
    if isinstance(default_storage, FileSystemStorage):
        _write(Path(default_storage.path(name)), data)
    else:
        _save_remotely(name, data)


def digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def is_stored(name: str, *, sha256: str) -> bool:
    """Whether the file `name` exists and its bytes have this hash."""
    try:
        with default_storage.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False


def sweep_unfinished() -> int:
    """Delete temporary files that killed writers left behind; returns how many.

    A storage that is not a local disk, such as S3, has none.
    """
    if not isinstance(default_storage, FileSystemStorage):
        return 0
    swept = 0
    for path in Path(default_storage.path(_FOLDER)).glob(f"{_PART}*"):
        with suppress(FileNotFoundError):  # its writer has just finished
            if time.time() - path.stat().st_mtime > _ABANDONED.total_seconds():
                path.unlink()
                swept += 1
    return swept


def _write(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it. Others see the complete file or none, even after a power cut."""
    _make_folder(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=_PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            # mkstemp lets only this account read, but a web server may run under another.
            if settings.FILE_UPLOAD_PERMISSIONS is not None:
                os.fchmod(file.fileno(), settings.FILE_UPLOAD_PERMISSIONS)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS is not None:
            folder.chmod(settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS)


def _save_remotely(name: str, data: bytes) -> None:
    """Save to a storage that is not a local disk, such as S3. It shows a complete object or none.

    A storage that never overwrites chooses another name. In that case the file under `name` is damaged, so
    it is replaced."""
    saved_as = default_storage.save(name, ContentFile(data))
    if saved_as != name:
        default_storage.delete(saved_as)
        default_storage.delete(name)
        saved_as = default_storage.save(name, ContentFile(data))
        if saved_as != name:  # another process saved it in the meantime
            default_storage.delete(saved_as)


# Only still pictures that a browser shows without running anything: SVG can contain scripts.
CONTENT_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
