"""Where a request comes from."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def client_ip(request: HttpRequest) -> str:
    """The address of the client: of the last entry of X-Forwarded-For behind our proxy, which adds it.

    What stands further left in that header was written by the client, who may write anything.
    """
    own = request.META.get("REMOTE_ADDR", "")
    if not settings.BEHIND_PROXY:
        return own
    return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or own
