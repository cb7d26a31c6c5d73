"""Retry a failed score run."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from metrics.core.study_access import get_study_or_404
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from metrics.score_runs.tasks import enqueue


@login_required
@require_POST
def retry_scores(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """Put a failed run back into the queue and return to the page of the request."""
    study = get_study_or_404(request, name)
    run = get_object_or_404(ScoreRun, pk=run_id, study=study)
    try:
        if score_runs.retry(run_id=run.pk):
            run.refresh_from_db()
            enqueue(run)
    except ValueError as error:
        messages.error(request, str(error))
    next_url = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(next_url, allowed_hosts={request.get_host()}):
        return redirect(next_url)
    return redirect("overview", name=study.name)
