"""Download the released files from their authors' repositories on GitHub, and verify their checksums."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from annotation.imports.readers.oddities import sha256_of

_SEEGULL = "https://raw.githubusercontent.com/google-research-datasets/seegull/main/dataset/"
_VISAGE = "https://raw.githubusercontent.com/google-research-datasets/visage/main/"
TIMEOUT = 30
"""Seconds without data after which a download fails."""
CHUNK_SIZE = 1 << 16
MAX_BYTES = 100 << 20
"""Largest download in bytes; the released files are much smaller."""


class DownloadFailed(ValueError):
    """A file that could not be downloaded, or has another checksum. The message says what to do."""


@dataclass(frozen=True)
class RemoteFile:
    """A public file with its URL and expected SHA-256."""

    name: str
    url: str
    sha256: str


SEEGULL = RemoteFile(
    "stereotypes_global_v2.csv",
    f"{_SEEGULL}stereotypes_global_v2.csv",
    "0262db0b96c402e9340c88ee3e176af3591ff9f33fbf81541d35afbb7a81157d",
)
SEEGULL_US_STATES = RemoteFile(
    "stereotypes_us_states.csv",
    f"{_SEEGULL}stereotypes_us_states.csv",
    "11fbb30074440b719bbfda290bcb625a186da96bfdf1df8003fb275bd4939259",
)
SEEGULL_INDIAN_STATES = RemoteFile(
    "stereotypes_indian_states.csv",
    f"{_SEEGULL}stereotypes_indian_states.csv",
    "1267e2358f44952453fb0f06193fe453c001f615b27b771c0a0959786826f2f3",
)
VISAGE_ATTRIBUTES = RemoteFile(
    "Visual Attributes_.xlsx",
    f"{_VISAGE}Visual%20Attributes_.xlsx",
    "ddb7ad24d32b27d5df0138b95ab8843c0ece9a5a91fa23d39aa4dd67af25fa46",
)
VISAGE_ANNOTATIONS = RemoteFile(
    "Image Annotations.xlsx",
    f"{_VISAGE}Image%20Annotations.xlsx",
    "74a28f47969d8125e1742bf8789d901668dec81dad4026db3b7df4f6a89affb1",
)


def fetch(remote: RemoteFile, folder: Path, *, report: Callable[[str], None]) -> Path:
    """Download `remote` into `folder`, unless a file with its checksum is there already; returns its path.

    The file appears under its name only when it is complete and its checksum is correct. `report` is called
    with progress messages. Raises DownloadFailed.
    """
    path = folder / remote.name
    if path.is_file() and sha256_of(path) == remote.sha256:
        report(f"{remote.name}: already in {folder}")
        return path
    if urlsplit(remote.url).scheme not in {"https", "http"}:
        raise DownloadFailed(f"{remote.url} is not a web address. Give one that starts with https://.")
    report(f"{remote.name}: fetching {remote.url}")
    # One partial file per process, so that two downloads do not write into the same file.
    part = folder / f"{remote.name}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _fetch_into(remote.url, part)
        if found != remote.sha256:
            raise DownloadFailed(
                f"{remote.url} is not the file that was expected: its SHA-256 is {found}, not "
                f"{remote.sha256}. It may have been changed or cut short. Try again; if its authors "
                "published a new version, fetch it yourself and give its path instead of --download."
            )
        part.replace(path)
    except urllib.error.HTTPError as error:
        with error:
            raise _unreachable(remote, folder, str(error)) from error
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(remote, folder, str(error)) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _unreachable(remote: RemoteFile, folder: Path, reason: str) -> DownloadFailed:
    return DownloadFailed(
        f"{remote.url} could not be fetched into {folder}: {reason}. Check the connection and the folder, "
        "or fetch the file on another machine and give its path instead of --download."
    )


def _fetch_into(url: str, part: Path) -> str:
    """Download `url` into `part`; returns its SHA-256."""
    digest, size = hashlib.sha256(), 0
    request = urllib.request.Request(url, headers={"User-Agent": "visage-studies"})  # noqa: S310 (checked)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response, part.open("wb") as file:  # noqa: S310
        while chunk := response.read(CHUNK_SIZE):
            size += len(chunk)
            if size > MAX_BYTES:
                raise DownloadFailed(f"{url} is larger than {MAX_BYTES} bytes. Check the address.")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()
