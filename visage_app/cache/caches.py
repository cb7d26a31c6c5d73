"""The setting CACHES from CACHE_URL: shared by all processes and machines, or one for each process."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env


def configured(*, code: str) -> dict[str, dict[str, Any]]:
    """Django's CACHES. `code`: the code revision, since another version may not be able to read the
    values."""
    url = env.str("CACHE_URL", default="").strip()
    if not url:
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        raise ImproperlyConfigured("CACHE_URL is not a Redis URL. Write CACHE_URL=redis://host:6379/0")
    if url == env.str("CELERY_BROKER_URL", default="").strip():
        raise ImproperlyConfigured(
            "CACHE_URL and CELERY_BROKER_URL are the same. A cache evicts old values and can be "
            "cleared, which would delete the broker's messages. Use another Redis, or at least another "
            "number after the last slash."
        )
    return {
        "default": {
            "BACKEND": "visage_app.cache.shared_cache.SharedCache",
            "LOCATION": url,
            "KEY_PREFIX": f"visage:{code}" if code else "visage",
        }
    }
