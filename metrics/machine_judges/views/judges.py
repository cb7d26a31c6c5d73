"""Pages of a study's machine judges: the list, and a new one with its preview."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import StudyStatus
from generation.runs.planning_page import preview_or_start
from metrics.core.studies import get_study_or_404
from metrics.machine_judges import words
from metrics.machine_judges.data import judge_runs
from metrics.machine_judges.forms import JudgeForm
from metrics.machine_judges.queries.judges import judge_rows

JUDGES_PER_PAGE = 30


@require_safe
def judges(request: LoggedIn, name: str) -> HttpResponse:
    study = get_study_or_404(request, name)
    runs = judge_runs(study).select_related("created_by")
    page = Paginator(runs, JUDGES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "rows": [(row, words.model_time(row.seconds)) for row in judge_rows(list(page))],
        "makes": policies.may_make_images(request.user),
        "is_draft": study.status == StudyStatus.DRAFT,
    }
    return render(request, "metrics/machine_judges/judges.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new_judge(request: LoggedIn, name: str) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    study = get_study_or_404(request, name)
    if not policies.may_make_images(request.user):
        raise Http404
    context: dict[str, Any] = {}
    if request.method == "POST":
        form = JudgeForm(request.POST, study=study, user=request.user)
        started, context = preview_or_start(request, form)
        if started is not None:
            return redirect("run", pk=started.pk)
    else:
        form = JudgeForm(study=study, user=request.user)
    context |= {"study": study, "form": form}
    return render(
        request, "metrics/machine_judges/new_judge.html", context, status=422 if form.errors else 200
    )
