"""Rate limit: `API_RATE` for each token, account or, without either, IP address."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from annotation.models import ApiToken


class PerCaller(SimpleRateThrottle):
    """Counted in Django's cache: over all processes and machines with CACHE_URL, otherwise in each process.
    While the shared cache is down, no request is refused."""

    def get_rate(self) -> str:
        return settings.API_RATE

    def get_cache_key(self, request: Request, view: object) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api-rate-token-{request.auth.pk}"
        if request.user.is_authenticated:
            return f"api-rate-user-{request.user.pk}"
        return f"api-rate-address-{self.get_ident(request)}"
