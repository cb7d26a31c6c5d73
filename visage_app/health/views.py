"""Probes for load balancers (`/healthz`, `/readyz`), and the health page for admins."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from visage_app.health import queries, readiness

KINDS = {
    "generation": gettext_lazy("Generation"),
    "scores": gettext_lazy("Scores"),
    "candidates": gettext_lazy("Candidates"),
    "associations": gettext_lazy("Associations"),
    "exports": gettext_lazy("Exports"),
    "imports": gettext_lazy("Imports"),
    "deliveries": gettext_lazy("Webhook messages"),
}


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Liveness: if this does not answer, the process should be restarted."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Readiness: 503 with the failed checks if the process cannot serve requests. Slow queues are reported
    but do not fail it."""
    results = readiness.checks()
    ready = readiness.FAILED not in results.values()
    status = readiness.OK if ready else readiness.FAILED
    return JsonResponse({"status": status, "checks": results}, status=200 if ready else 503)


@require_safe
def page(request: LoggedIn) -> HttpResponse:
    return render(request, "visage_app/health/health.html", _context(request))


@require_safe
def live(request: LoggedIn) -> HttpResponse:
    """The part of the page that is refreshed; 204 if it still matches `?mark`."""
    context = _context(request)
    if context["health"].mark == request.GET.get("mark"):
        return HttpResponse(status=204)
    return render(request, "visage_app/health/_live.html", context)


def _context(request: LoggedIn) -> dict[str, Any]:
    if not policies.is_admin(request.user):
        raise Http404
    health = queries.health()
    return {
        "health": health,
        "queues": [(KINDS[queue.kind], queue) for queue in health.queues],
        "stuck": [KINDS[kind] for kind in health.stuck],
        "slow": [KINDS[kind] for kind in health.slow],
        "slow_minutes": settings.QUEUE_SLOW_MINUTES,
        "failing": [(KINDS[queue.kind], queue) for queue in health.queues if queue.failed],
    }
