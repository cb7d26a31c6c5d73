"""Files in a bucket of an S3-compatible server (settings: visage_app/storage/storages.py).

Objects are private: no ACL is ever sent. Every failure is an OSError that says what to do, so callers need
not know the kind of storage: FileNotFoundError for a missing object, BucketFailed for a problem with the
server, bucket or key.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from django.utils.deconstruct import deconstructible
from django.utils.functional import cached_property
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

# Pages wait for this: report a dead server within seconds, but retry once.
_CLIENT_OPTIONS = {
    "connect_timeout": 3,
    "read_timeout": 30,
    "retries": {"mode": "standard", "total_max_attempts": 2},
    # Older servers refuse the newer checksums; the program itself checks images against their SHA-256.
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}
_BUFFER = 1 << 16
_NOT_FOUND = {"404", "NotFound"}
_WRONG_KEY = {"InvalidAccessKeyId", "SignatureDoesNotMatch"}
_NOT_ALLOWED = {"403", "AccessDenied", "Forbidden"}


class BucketFailed(ConnectionError):
    """A problem with the server, the bucket or the key. The message says which and what to do."""


@deconstructible
class Bucket(S3Storage):
    """Django's storage in one bucket. Reading a file from start to end takes one request."""

    client_config: Any
    public_endpoint: str
    signed_seconds: int

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.client_config = self.client_config.merge(Config(**_CLIENT_OPTIONS))

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "public_endpoint": "", "signed_seconds": 0}

    def exists(self, name: str) -> bool:
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        with self.translated_errors(name):
            head = self._client.head_object(Bucket=self.bucket_name, Key=self._key(name))
            return int(head["ContentLength"])

    def delete(self, name: str) -> None:
        with self.translated_errors(name):
            super().delete(name)

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        with self.translated_errors(name):
            folders, files = super().listdir(name)
            return folders, files

    def url(self, name: str, *_: Any, **__: Any) -> str:
        """A signed URL of the file, valid for `signed_seconds` for anyone who has it.

        The caller must check permissions. Only for a storage with `signed_seconds`.
        """
        if not self.signed_seconds:
            raise ValueError("This storage has no signed URLs.")
        wanted = {
            "Bucket": self.bucket_name,
            "Key": self._key(name),
            "ResponseCacheControl": f"private, max-age={self.signed_seconds}",
        }
        signed: str = self._signer.generate_presigned_url(
            "get_object", Params=wanted, ExpiresIn=self.signed_seconds
        )
        return signed

    def get(self, name: str, **more: str) -> dict[str, Any]:
        """The response to one GET of an object."""
        with self.translated_errors(name):
            answer: dict[str, Any] = self._client.get_object(
                Bucket=self.bucket_name, Key=self._key(name), **more
            )
            return answer

    @contextmanager
    def translated_errors(self, name: str) -> Iterator[None]:
        """Translate the exceptions of the libraries to those of this storage."""
        try:
            yield
        except ClientError as error:
            raise self._translated(error, name) from error
        except (BotoCoreError, Boto3Error) as error:
            raise BucketFailed(f"The S3 server at {self.endpoint_url} does not answer: {error}") from error

    def _open(self, name: str, mode: str = "rb") -> File:
        if mode != "rb":
            raise ValueError("Files in a bucket can only be opened with mode rb; write them with save().")
        stream = _Object(self, name)
        file = File(io.BufferedReader(stream, _BUFFER), name)
        file.size = stream.size  # Django would seek to the end and back to find it
        return file

    def _save(self, name: str, content: File) -> str:
        with self.translated_errors(name):
            saved: str = super()._save(name, content)
            return saved

    @property
    def _client(self) -> Any:
        return self.connection.meta.client

    def _key(self, name: str) -> str:
        key: str = self._normalize_name(clean_name(name))
        return key

    @cached_property
    def _signer(self) -> Any:
        """The client that signs URLs with the public host, since the host is part of the signature."""
        session = boto3.session.Session(self.access_key, self.secret_key, self.security_token)
        return session.client(
            "s3",
            region_name=self.region_name,
            endpoint_url=self.public_endpoint,
            config=self.client_config,
        )

    def _translated(self, error: ClientError, name: str) -> OSError:
        code = _code(error)
        where = f"bucket {self.bucket_name} at {self.endpoint_url}"
        if code == "NoSuchKey" or (code in _NOT_FOUND and self._bucket_exists()):
            return FileNotFoundError(f"There is no {name} in {where}.")
        if code == "NoSuchBucket" or code in _NOT_FOUND:
            return BucketFailed(f"There is no {where}. Create it as a private bucket, or correct S3_BUCKET.")
        if code in _WRONG_KEY:
            return BucketFailed(
                f"The S3 server at {self.endpoint_url} refuses S3_ACCESS_KEY or S3_SECRET_KEY ({code})."
            )
        if code in _NOT_ALLOWED:
            return BucketFailed(
                f"The key lacks permissions for {where} ({code}). It must be able to list the bucket and to "
                "get, put and delete its objects."
            )
        return BucketFailed(f"The {where} refused the request: {error}")

    def _bucket_exists(self) -> bool:
        """Whether the bucket exists. A HEAD request for an object gives 404 for a missing bucket too; without
        this check all files would seem to be deleted."""
        try:
            self._client.head_bucket(Bucket=self.bucket_name)
        except ClientError as error:
            return _code(error) not in _NOT_FOUND
        return True


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


class _Object(io.RawIOBase):
    """An object read as a stream. Each seek costs one request; the size costs none."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        super().__init__()
        self._bucket, self.name = bucket, name
        answer = bucket.get(name)
        self._body, self._version = answer["Body"], answer["ETag"]
        self.size = int(answer["ContentLength"])
        # The positions of the reader and of the response body.
        self._position = self._body_position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = max(
            0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        )
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self.size - self._position)
        if wanted <= 0:
            return 0
        if self._position != self._body_position:
            self._reopen()
        with self._bucket.translated_errors(self.name):
            piece = self._body.read(wanted)
        if not piece:
            raise BucketFailed(
                f"The S3 server ended {self.name} after {self._position} of {self.size} bytes."
            )
        buffer[: len(piece)] = piece
        self._position = self._body_position = self._position + len(piece)
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()

    def _reopen(self) -> None:
        self._body.close()
        # IfMatch: never combine two versions of an object.
        answer = self._bucket.get(self.name, Range=f"bytes={self._position}-", IfMatch=self._version)
        self._body, self._body_position = answer["Body"], self._position
