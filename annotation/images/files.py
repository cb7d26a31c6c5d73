"""The files of images: each under its hash, whole or not at all, whoever writes it and however it ends."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

_FOLDER = "images"


def keep(data: bytes, *, suffix: str = ".png") -> tuple[str, str]:
    """Store a file under its hash; returns its name (for Image.file) and its SHA-256 in hex.

    The same bytes have the same name, so writing them again changes nothing, but mends a file that was
    damaged. In a folder of this machine the name appears at once and whole: a writer that is killed, or a
    disk that is full, leaves no half picture behind a good name. Raises OSError if it cannot be written.
    """
    sha256 = digest(data)
    name = f"{_FOLDER}/{sha256}{suffix}"
    if not holds(name, sha256=sha256):
        if isinstance(default_storage, FileSystemStorage):
            _write(Path(default_storage.path(name)), data)
        else:
            _send(name, data)
    return name, sha256


def digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def holds(name: str, *, sha256: str) -> bool:
    """Whether the file `name` is there and its bytes have this hash."""
    try:
        with default_storage.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False


def _write(path: Path, data: bytes) -> None:
    """Write beside the name and rename: others see the whole file or none, also after a power cut."""
    _make(path.parent)
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            # mkstemp lets only this account read; a web server may run under another
            if settings.FILE_UPLOAD_PERMISSIONS is not None:
                os.fchmod(file.fileno(), settings.FILE_UPLOAD_PERMISSIONS)
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS is not None:
            folder.chmod(settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS)


def _send(name: str, data: bytes) -> None:
    """Other storages (S3 and its like) show an object when all of it has arrived, in place of the one
    before. One that never overwrites chooses another name: then what bears this one is damaged, and goes."""
    given = default_storage.save(name, ContentFile(data))
    if given != name:
        default_storage.delete(given)
        default_storage.delete(name)
        given = default_storage.save(name, ContentFile(data))
        if given != name:  # somebody sent it meanwhile
            default_storage.delete(given)


# Only what a browser shows as a still picture without running anything: SVG can carry scripts.
CONTENT_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}


__all__ = ["digest", "holds", "keep"]
