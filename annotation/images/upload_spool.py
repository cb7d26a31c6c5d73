"""Where files lie while they are being sent: in a folder of VAR_DIR, on the disk that keeps them afterwards.

Not in the folder for temporary files, which in a container is memory. The files have no names, so that one
whose process is killed in the middle leaves nothing behind.
"""

from __future__ import annotations

import errno
import logging
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = (errno.ENOSPC, errno.EDQUOT)
_FLAG = "no_room_for_files"
log = logging.getLogger(__name__)


def folder() -> Path:
    """The folder of files that are being sent; nothing is to be seen in it."""
    found = Path(settings.UPLOADS_UNFINISHED)
    found.mkdir(parents=True, exist_ok=True, mode=0o700)
    return found


def told(error: OSError) -> None:
    """Say in the log that a disk is full, and which."""
    log.error("no room in %s for a file that is being sent: %s", settings.UPLOADS_UNFINISHED, error.strerror)


def found_no_room(request: Any) -> bool:
    """Whether a file of this form found no room: then it is not among FILES, nor what came after it."""
    return bool(getattr(request, _FLAG, False))


class Spool(FileUploadHandler):
    """Keeps a file of a form on the disk, and gives up without an error of the server where that is full: the
    rest is read and thrown away, so that the browser hears what visage_app/storage/disk_full.py answers."""

    file: UploadedFile

    def new_file(self, *arguments: Any, **options: Any) -> None:
        super().new_file(*arguments, **options)
        with self._room():
            kept: IO[bytes] = tempfile.TemporaryFile(dir=folder())  # noqa: SIM115 - the request closes it
            self.file = UploadedFile(
                kept, self.file_name, self.content_type, 0, self.charset, self.content_type_extra
            )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        with self._room():
            self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile:
        with self._room():
            self.file.seek(0)  # which writes what is still in memory
        self.file.size = file_size
        return self.file

    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            told(error)
            setattr(self.request, _FLAG, True)
            if hasattr(self, "file"):
                with suppress(OSError):  # closing writes, too
                    self.file.close()
            raise StopUpload from error


__all__ = ["FULL", "Spool", "folder", "found_no_room", "told"]
