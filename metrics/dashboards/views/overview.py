"""How a study stands."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation import policies
from metrics.core.study_access import get_study_or_404
from metrics.dashboards.queries import progress
from metrics.dashboards.queries.overview import read_overview, shown_metrics
from metrics.score_runs import freshness


@login_required
@require_safe
def overview(request: HttpRequest, name: str) -> HttpResponse:
    """`?check` does within the page what htmx does after it: count, and compare scores with the answers."""
    study = get_study_or_404(request, name)
    now = timezone.now()
    page = read_overview(study, now=now)
    asked = "check" in request.GET
    shown = freshness.default_requests(shown_metrics(study))
    return render(
        request,
        "metrics/dashboards/overview.html",
        {
            "study": study,
            "page": page,
            "progress": progress.recent_progress(study, now=now) if asked else page.progress,
            "fresh": freshness.check(study, shown) if asked else None,
            "fresh_question": freshness.query_string(shown),
            "may_export": policies.may_export(request.user, study),
        },
    )


@login_required
@require_safe
def live(request: HttpRequest, name: str) -> HttpResponse:
    """The part of the page that moves. Nothing (204) if it is as `?mark` says."""
    study = get_study_or_404(request, name)
    found = progress.recent_progress(study, now=timezone.now())
    if found.mark == request.GET.get("mark"):
        return HttpResponse(status=204)
    return render(request, "metrics/dashboards/_live.html", {"study": study, "progress": found})
