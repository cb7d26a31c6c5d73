"""Probes of a load balancer (`/healthz`, `/readyz`), and storage and job health for admins."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
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
    "exports": gettext_lazy("Exports"),
    "deliveries": gettext_lazy("Webhook messages"),
}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Whether the process answers; if it does not, it is to be started again."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Whether it can serve people: 503, naming what is missing, if it cannot. Work that waits for a worker
    is said and is no reason."""
    found = readiness.checks()
    ready = readiness.FAILED not in found.values()
    status = readiness.OK if ready else readiness.FAILED
    return JsonResponse({"status": status, "checks": found}, status=200 if ready else 503)


@login_required
@never_cache
@require_safe
def page(request: LoggedIn) -> HttpResponse:
    return render(request, "visage_app/health/health.html", _shown(request))


@login_required
@never_cache
@require_safe
def live(request: LoggedIn) -> HttpResponse:
    """The part of the page that moves. Nothing (204) if it is as `?mark` says."""
    shown = _shown(request)
    if shown["health"].mark == request.GET.get("mark"):
        return HttpResponse(status=204)
    return render(request, "visage_app/health/_live.html", shown)


def _shown(request: LoggedIn) -> dict[str, Any]:
    if not policies.is_admin(request.user):
        raise Http404
    found = queries.health()
    return {
        "health": found,
        "queues": [(KINDS[queue.kind], queue) for queue in found.queues],
        "stuck": [KINDS[kind] for kind in found.stuck],
        "slow": [KINDS[kind] for kind in found.slow],
        "slow_minutes": settings.QUEUE_SLOW_MINUTES,
        "silent": [worker for worker in found.workers if worker.silent],
        "failing": [(KINDS[queue.kind], queue) for queue in found.queues if queue.failed],
    }
