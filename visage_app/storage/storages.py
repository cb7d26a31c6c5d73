"""The setting STORAGES: where images, finished exports and static files are kept.

Without `S3_BUCKET` in folders below `var_dir`, with it in a bucket of an S3-compatible server
(docs/growing.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env, env_int

# Signed addresses go to whoever has them: minutes, never a day.
_LONGEST_SIGNED = 60


@dataclass(frozen=True)
class Buckets:
    """An S3-compatible server as the environment names it. `signed_minutes` 0: we send images ourselves."""

    endpoint: str
    public_endpoint: str
    region: str
    images: str
    exports: str
    access_key: str | None
    secret_key: str | None
    signed_minutes: int


def configured(var_dir: Path, *, static_manifest: bool) -> dict[str, dict[str, Any]]:
    """Django's STORAGES. `static_manifest`: static files under hashed names."""
    here = buckets()
    return {
        **(in_buckets(here) if here else in_folders(var_dir)),
        "staticfiles": {
            "BACKEND": "visage_app.serving.static_files.HashedFiles"
            if static_manifest
            else "django.contrib.staticfiles.storage.StaticFilesStorage"
        },
    }


def image_origins(*, https: bool) -> list[str]:
    """Where else than from us a page gets images: nowhere, unless browsers are sent to signed addresses."""
    here = buckets()
    if here is None or not here.signed_minutes:
        return []
    public = urlsplit(here.public_endpoint)
    if https and public.scheme != "https":
        raise ImproperlyConfigured(
            f"S3_SIGNED_MINUTES sends browsers to {here.public_endpoint}, and this site is reached over "
            "https. Set S3_PUBLIC_ENDPOINT to an address with https://, or S3_SIGNED_MINUTES=0."
        )
    return [f"{public.scheme}://{public.netloc}"]


def signed_seconds() -> int:
    """How long an image's address in the bucket is good for; 0: browsers never hear of the bucket."""
    here = buckets()
    return here.signed_minutes * 60 if here else 0


def buckets() -> Buckets | None:
    """What the environment says of S3; None without S3_BUCKET. ImproperlyConfigured with the cure."""
    found = Buckets(
        endpoint=env.str("S3_ENDPOINT", default="").strip().rstrip("/"),
        public_endpoint=env.str("S3_PUBLIC_ENDPOINT", default="").strip().rstrip("/"),
        region=env.str("S3_REGION", default="").strip() or "us-east-1",
        images=env.str("S3_BUCKET", default="").strip(),
        exports=env.str("S3_EXPORTS_BUCKET", default="").strip(),
        access_key=env.str("S3_ACCESS_KEY", default="").strip() or None,
        secret_key=env.str("S3_SECRET_KEY", default="").strip() or None,
        signed_minutes=env_int("S3_SIGNED_MINUTES", 0),
    )
    if not found.images:
        if found.endpoint:
            raise ImproperlyConfigured(
                "S3_ENDPOINT is set and S3_BUCKET is not. Name the bucket that images are kept in."
            )
        return None
    _check_address("S3_ENDPOINT", found.endpoint)
    if found.public_endpoint:
        _check_address("S3_PUBLIC_ENDPOINT", found.public_endpoint)
    if (found.access_key is None) != (found.secret_key is None):
        raise ImproperlyConfigured(
            "Of S3_ACCESS_KEY and S3_SECRET_KEY one is set. Set both, or neither where the machine has a "
            "role."
        )
    if found.signed_minutes > _LONGEST_SIGNED:
        raise ImproperlyConfigured(
            f"S3_SIGNED_MINUTES={found.signed_minutes} is too long: whoever has such an address sees the "
            f"image. Set it to {_LONGEST_SIGNED} at most, or to 0."
        )
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            "S3_BUCKET needs the libraries for S3. Install them: pip install 'visage-studies[s3]'"
        )
    return Buckets(**{**vars(found), "public_endpoint": found.public_endpoint or found.endpoint})


def _check_address(name: str, address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query:
        raise ImproperlyConfigured(
            f"{name}={address!r} is no address of an S3 server. Write scheme and host, without the bucket: "
            f"{name}=https://s3.eu-central-1.amazonaws.com"
        )


def in_folders(var_dir: Path) -> dict[str, dict[str, Any]]:
    """Both below `var_dir` (images: MEDIA_ROOT), on this machine only."""
    return {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        # Finished exports: nobody's but the program's, and never served from here (docs/exports.md).
        "exports": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": var_dir / "exports",
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        },
    }


def in_buckets(here: Buckets) -> dict[str, dict[str, Any]]:
    """Both on an S3-compatible server."""
    server = {
        "endpoint_url": here.endpoint,
        "region_name": here.region,
        "access_key": here.access_key,
        "secret_key": here.secret_key,
        # what servers of all makes understand, also for buckets with dots in their names
        "addressing_style": "path",
        "signature_version": "s3v4",
        # an image bears the hash of its bytes, an export the key of its claim: never another's
        "file_overwrite": True,
    }
    images = {
        "bucket_name": here.images,
        "public_endpoint": here.public_endpoint,
        "signed_seconds": here.signed_minutes * 60,
    }
    exports = {"bucket_name": here.exports or here.images, "location": "exports"}
    return {
        "default": {"BACKEND": "visage_app.storage.bucket.Bucket", "OPTIONS": {**server, **images}},
        "exports": {"BACKEND": "visage_app.storage.bucket.Bucket", "OPTIONS": {**server, **exports}},
    }
