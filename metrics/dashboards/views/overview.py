"""The overview page of a study."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import StudyStatus
from annotation.studies.services import studies
from metrics.core.studies import get_study_or_404
from metrics.dashboards.queries import progress
from metrics.dashboards.queries.overview import read_overview
from metrics.score_runs import freshness
from metrics.votes.services import default_name, may_save


@require_safe
def overview(request: LoggedIn, name: str) -> HttpResponse:
    """`?check` counts and checks the scores during the request; otherwise htmx does it after loading."""
    study = get_study_or_404(request, name)
    now = timezone.now()
    page = read_overview(request.user, study, now=now)
    check = "check" in request.GET
    requests = freshness.default_requests(page.results.metrics)
    return render(
        request,
        "metrics/dashboards/overview.html",
        {
            "study": study,
            "page": page,
            # A draft is opened on the setup pages.
            "moves": [] if study.status == StudyStatus.DRAFT else studies.next_statuses(study),
            "progress": progress.recent_progress(study, now=now) if check else page.progress,
            "fresh": freshness.check(study, requests) if check else None,
            "freshness_query": freshness.query_string(requests),
            "may_export": policies.may_export(request.user, study),
            "may_save_votes": may_save(study) and policies.may_create_studies(request.user),
            "votes_name": default_name(study),
        },
    )


@require_safe
def live(request: HttpRequest, name: str) -> HttpResponse:
    """The progress section of the overview, polled by htmx. 204 if `?mark` is still current."""
    study = get_study_or_404(request, name)
    found = progress.recent_progress(study, now=timezone.now())
    if found.mark == request.GET.get("mark"):
        return HttpResponse(status=204)
    return render(request, "metrics/dashboards/_progress.html", {"study": study, "progress": found})
