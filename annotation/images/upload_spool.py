"""Uploads in progress are written to nameless files in VAR_DIR, on the disk that stores them afterwards."""

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

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_FLAG = "no_room_for_files"
log = logging.getLogger(__name__)


def folder() -> Path:
    """The folder of uploads in progress, created if needed."""
    path = Path(settings.UPLOADS_UNFINISHED)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def log_disk_full(error: OSError) -> None:
    log.error("no room in %s for a file that is being sent: %s", settings.UPLOADS_UNFINISHED, error.strerror)


def ran_out_of_space(request: Any) -> bool:
    """Whether the disk was full while this form was read. Then FILES lacks this file and later ones."""
    return bool(getattr(request, _FLAG, False))


class SpoolingUploadHandler(FileUploadHandler):
    """Write an uploaded file to the disk. If the disk is full, the rest of the request is read and thrown
    away, so that the browser receives the answer of visage_app/storage/body_limits.py."""

    file: UploadedFile

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        with self._stop_if_full():
            content: IO[bytes] = tempfile.TemporaryFile(dir=folder())  # noqa: SIM115 - the request closes it
            self.file = UploadedFile(
                content, self.file_name, self.content_type, 0, self.charset, self.content_type_extra
            )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        with self._stop_if_full():
            self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile:
        with self._stop_if_full():
            self.file.seek(0)  # flushes the buffer, so it can find the disk full
        self.file.size = file_size
        return self.file

    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    @contextmanager
    def _stop_if_full(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            log_disk_full(error)
            setattr(self.request, _FLAG, True)
            if hasattr(self, "file"):
                with suppress(OSError):  # closing flushes the buffer, too
                    self.file.close()
            raise StopUpload from error
