"""The setting STORAGES. With `S3_BUCKET`, images and exports are in a bucket (docs/growing.md)."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env, env_int

# Anyone who has a signed URL can use it, so it must expire within minutes.
_MAX_SIGNED_MINUTES = 60


@dataclass(frozen=True)
class Buckets:
    """An S3-compatible server, from the environment. `signed_minutes` 0: the web server sends the images."""

    endpoint: str
    public_endpoint: str
    region: str
    images: str
    exports: str
    access_key: str | None
    secret_key: str | None
    signed_minutes: int


def configured(var_dir: Path, *, static_manifest: bool) -> dict[str, dict[str, Any]]:
    """Django's STORAGES. `static_manifest`: static files with hashed names."""
    s3 = buckets()
    hashed = "visage_app.serving.static_files.HashedFiles"
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    return {
        **(in_buckets(s3) if s3 else in_folders(var_dir)),
        "staticfiles": {"BACKEND": hashed if static_manifest else plain},
    }


def image_origins(*, https: bool) -> list[str]:
    """Other origins of images: the bucket's if browsers get signed URLs, otherwise none."""
    s3 = buckets()
    if s3 is None or not s3.signed_minutes:
        return []
    public = urlsplit(s3.public_endpoint)
    if https and public.scheme != "https":
        raise ImproperlyConfigured(
            f"S3_SIGNED_MINUTES sends browsers to {s3.public_endpoint}, and this site is reached over "
            "https. Set S3_PUBLIC_ENDPOINT to an address with https://, or S3_SIGNED_MINUTES=0."
        )
    return [f"{public.scheme}://{public.netloc}"]


def signed_seconds() -> int:
    """How long a signed URL is valid; 0: browsers never access the bucket."""
    s3 = buckets()
    return s3.signed_minutes * 60 if s3 else 0


def buckets() -> Buckets | None:
    """The S3 settings from the environment; None without S3_BUCKET. Raises ImproperlyConfigured."""
    endpoint = env.str("S3_ENDPOINT", default="").strip().rstrip("/")
    s3 = Buckets(
        endpoint=endpoint,
        public_endpoint=env.str("S3_PUBLIC_ENDPOINT", default="").strip().rstrip("/") or endpoint,
        region=env.str("S3_REGION", default="").strip() or "us-east-1",
        images=env.str("S3_BUCKET", default="").strip(),
        exports=env.str("S3_EXPORTS_BUCKET", default="").strip(),
        access_key=env.str("S3_ACCESS_KEY", default="").strip() or None,
        secret_key=env.str("S3_SECRET_KEY", default="").strip() or None,
        signed_minutes=env_int("S3_SIGNED_MINUTES", 0),
    )
    if not s3.images:
        if endpoint:
            raise ImproperlyConfigured(
                "S3_ENDPOINT is set but S3_BUCKET is not. Set it to the bucket for images."
            )
        return None
    _check_address("S3_ENDPOINT", endpoint)
    _check_address("S3_PUBLIC_ENDPOINT", s3.public_endpoint)
    if (s3.access_key is None) != (s3.secret_key is None):
        raise ImproperlyConfigured(
            "Only one of S3_ACCESS_KEY and S3_SECRET_KEY is set. Set both, or neither if the machine has a "
            "role."
        )
    if s3.signed_minutes > _MAX_SIGNED_MINUTES:
        raise ImproperlyConfigured(
            f"S3_SIGNED_MINUTES={s3.signed_minutes} is too long: anyone with the URL can see "
            f"the image. Set it to at most {_MAX_SIGNED_MINUTES}, or to 0."
        )
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            "S3_BUCKET needs the libraries for S3. Install them: pip install 'visage-studies[s3]'"
        )
    return s3


def _check_address(name: str, address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query:
        raise ImproperlyConfigured(
            f"{name}={address!r} is not the URL of an S3 server. Write scheme and host, without the bucket: "
            f"{name}=https://s3.eu-central-1.amazonaws.com"
        )


def in_folders(var_dir: Path) -> dict[str, dict[str, Any]]:
    """Both below `var_dir` (images: MEDIA_ROOT), on this machine only."""
    return {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        # Finished exports: readable only by the program, never served directly (docs/exports.md).
        "exports": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": var_dir / "exports",
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        },
    }


def in_buckets(s3: Buckets) -> dict[str, dict[str, Any]]:
    """Both on an S3-compatible server."""
    server = {
        "endpoint_url": s3.endpoint,
        "region_name": s3.region,
        "access_key": s3.access_key,
        "secret_key": s3.secret_key,
        # Works with all servers and with dots in bucket names.
        "addressing_style": "path",
        "signature_version": "s3v4",
        # Names are unique: the hash of an image, the claim key of an export.
        "file_overwrite": True,
    }
    images = {
        "bucket_name": s3.images,
        "public_endpoint": s3.public_endpoint,
        "signed_seconds": s3.signed_minutes * 60,
    }
    exports = {"bucket_name": s3.exports or s3.images, "location": "exports"}
    return {
        "default": {"BACKEND": "visage_app.storage.bucket.Bucket", "OPTIONS": {**server, **images}},
        "exports": {"BACKEND": "visage_app.storage.bucket.Bucket", "OPTIONS": {**server, **exports}},
    }
