"""The methods page: the meaning of every score, generated from the registry."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import policies
from metrics.score_runs import registry


@login_required
@require_safe
def methods(request: HttpRequest) -> HttpResponse:
    if not policies.is_admin(request.user) and not policies.studies_led_by(request.user).exists():
        raise Http404
    entries = [(metric, registry.describe_source(metric)) for metric in registry.metrics()]
    return render(request, "metrics/score_runs/methods.html", {"metrics": entries})
