"""Files in a bucket of an S3-compatible server (settings: visage_app/storage/storages.py).

Objects are private: no ACL is ever sent, nothing is listed for anybody. Whatever goes wrong is an OSError
that says what to do, so that callers need not know which kind of storage they have: FileNotFoundError for
an object that is not there, BucketFailed for a server, bucket or key that does not do.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from django.utils.deconstruct import deconstructible
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

# A page waits for this: a server that is gone is told within seconds, one hiccup is passed over.
_PATIENCE = {
    "connect_timeout": 3,
    "read_timeout": 30,
    "retries": {"mode": "standard", "total_max_attempts": 2},
    # Older servers refuse the newer checksums; an image's bytes are held against its SHA-256 by ourselves.
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}
_BUFFER = 1 << 16
_NO_SUCH_KEY = {"NoSuchKey"}
_NOT_FOUND = {"404", "NotFound"}
_WRONG_KEY = {"InvalidAccessKeyId", "SignatureDoesNotMatch"}
_NOT_ALLOWED = {"403", "AccessDenied", "Forbidden"}


class BucketFailed(OSError):
    """The server, the bucket or the key does not do. Says which, and the cure."""


@deconstructible
class Bucket(S3Storage):
    """Django's storage in one bucket. A file read from its first byte to its last is one request."""

    client_config: Any
    public_endpoint: str
    signed_seconds: int

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.client_config = self.client_config.merge(Config(**_PATIENCE))
        self._signing = threading.Lock()
        self._signer: Any = None

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
        """An address at which whoever has it sees the file for `signed_seconds`, without asking us again.

        It is the caller who looks whether the person may. Only for a storage with `signed_seconds`.
        """
        if not self.signed_seconds:
            raise ValueError("This storage gives out no addresses.")
        wanted = {
            "Bucket": self.bucket_name,
            "Key": self._key(name),
            "ResponseCacheControl": f"private, max-age={self.signed_seconds}",
        }
        signed: str = self._public().generate_presigned_url(
            "get_object", Params=wanted, ExpiresIn=self.signed_seconds
        )
        return signed

    def get(self, name: str, **more: str) -> dict[str, Any]:
        """The server's answer to one GET of an object."""
        with self.translated_errors(name):
            answer: dict[str, Any] = self._client.get_object(
                Bucket=self.bucket_name, Key=self._key(name), **more
            )
            return answer

    @contextmanager
    def translated_errors(self, name: str) -> Iterator[None]:
        """What the libraries raise, as what this storage raises."""
        try:
            yield
        except ClientError as error:
            raise self._translated(error, name) from error
        except (BotoCoreError, Boto3Error) as error:
            raise BucketFailed(f"The S3 server at {self.endpoint_url} does not answer: {error}") from error

    def _open(self, name: str, mode: str = "rb") -> File:
        if mode != "rb":
            raise ValueError("Files in a bucket are read with mode rb, and written whole by save().")
        return _Opened(_Object(self, name))

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

    def _public(self) -> Any:
        """Signs for the address that browsers reach: an address is signed with its host."""
        with self._signing:
            if self._signer is None:
                session = boto3.session.Session(self.access_key, self.secret_key, self.security_token)
                self._signer = session.client(
                    "s3",
                    region_name=self.region_name,
                    endpoint_url=self.public_endpoint or self.endpoint_url,
                    config=self.client_config,
                )
            return self._signer

    def _translated(self, error: ClientError, name: str) -> OSError:
        code = str(error.response.get("Error", {}).get("Code", ""))
        where = f"bucket {self.bucket_name} at {self.endpoint_url}"
        if code in _NO_SUCH_KEY or (code in _NOT_FOUND and self._is_there()):
            return FileNotFoundError(f"There is no {name} in {where}.")
        if code == "NoSuchBucket" or code in _NOT_FOUND:
            return BucketFailed(
                f"There is no {where}. Create it, private, or set S3_BUCKET to the right one."
            )
        if code in _WRONG_KEY:
            return BucketFailed(
                f"The S3 server at {self.endpoint_url} does not know S3_ACCESS_KEY, or S3_SECRET_KEY is not "
                f"its secret ({code})."
            )
        if code in _NOT_ALLOWED:
            return BucketFailed(
                f"The key may not do this in {where} ({code}). It needs to list the bucket, and to get, put "
                "and delete its objects."
            )
        return BucketFailed(f"The {where} refuses: {error}")

    def _is_there(self) -> bool:
        """A server that is asked for the head of an object says 404 for a lost bucket as for a lost object:
        without this, everything would look as if it had been deleted."""
        try:
            self._client.head_bucket(Bucket=self.bucket_name)
        except ClientError as error:
            return str(error.response.get("Error", {}).get("Code", "")) not in _NOT_FOUND
        return True


class _Object(io.RawIOBase):
    """An object as it arrives. Going back, or on by a leap, is one more request; its size is none."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        super().__init__()
        self._bucket, self.name = bucket, name
        answer = bucket.get(name)
        self._body, self._version = answer["Body"], answer["ETag"]
        self.size = int(answer["ContentLength"])
        # where the reader is, and where the answer is
        self._at = self._arrived = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self.size - self._at)
        if wanted <= 0:
            return 0
        if self._at != self._arrived:
            self._go_on()
        with self._bucket.translated_errors(self.name):
            piece = self._body.read(wanted)
        if not piece:
            raise BucketFailed(f"The S3 server ended {self.name} after {self._at} of {self.size} bytes.")
        buffer[: len(piece)] = piece
        self._at = self._arrived = self._at + len(piece)
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()

    def _go_on(self) -> None:
        self._body.close()
        # never the beginning of one version and the end of another
        answer = self._bucket.get(self.name, Range=f"bytes={self._at}-", IfMatch=self._version)
        self._body, self._arrived = answer["Body"], self._at


class _Opened(File):
    def __init__(self, held: _Object) -> None:
        super().__init__(io.BufferedReader(held, _BUFFER), held.name)
        # asked of the file itself, it would go to its end and back
        self.size = held.size
