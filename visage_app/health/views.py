"""Storage and job health, for admins. A load balancer asks `/healthz` and `/readyz`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.views.requests import LoggedIn
from visage_app.health import queries

KINDS = {
    "generation": gettext_lazy("Generation"),
    "scores": gettext_lazy("Scores"),
    "exports": gettext_lazy("Exports"),
    "deliveries": gettext_lazy("Webhook messages"),
}


@login_required
@never_cache
@require_safe
def page(request: LoggedIn) -> HttpResponse:
    return render(request, "health.html", _shown(request))


@login_required
@never_cache
@require_safe
def live(request: LoggedIn) -> HttpResponse:
    """The part of the page that moves. Nothing (204) if it is as `?mark` says."""
    shown = _shown(request)
    if shown["health"].mark == request.GET.get("mark"):
        return HttpResponse(status=204)
    return render(request, "health_live.html", shown)


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
