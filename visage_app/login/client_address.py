"""The IP address of a client."""

from django.conf import settings
from django.http import HttpRequest


def client_ip(request: HttpRequest) -> str:
    """The IP address of the client; behind our proxy, the last entry of X-Forwarded-For, which the proxy
    adds.

    The earlier entries come from the client and cannot be trusted.
    """
    peer = request.META.get("REMOTE_ADDR", "")
    if not settings.BEHIND_PROXY:
        return peer
    return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or peer
