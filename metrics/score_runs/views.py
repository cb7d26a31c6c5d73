"""Views of score runs: the methods page, generated from the registry, and retrying a failed run."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from metrics.core.studies import get_study_or_404
from metrics.score_runs import queries, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.tasks import enqueue


@require_safe
def methods(request: HttpRequest) -> HttpResponse:
    if not policies.is_admin(request.user) and not policies.studies_led_by(request.user).exists():
        raise Http404
    entries = [
        (metric, registry.describe_source(metric), registry.describe_interval(metric))
        for metric in registry.metrics()
    ]
    return render(request, "metrics/score_runs/methods.html", {"metrics": entries})


@require_POST
def retry_scores(request: LoggedIn, name: str, run_id: int) -> HttpResponse:
    """Put a failed run back into the queue and return to the page of the request."""
    study = get_study_or_404(request, name)
    run = get_object_or_404(queries.runs_to_list(request.user, study), pk=run_id)
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
