"""The page of a study's report, and its download, for leads."""

from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.core.leases import OPEN
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404, is_large
from metrics.models import ScoreRun
from metrics.report import services
from metrics.report.queries.runs import all_of_few, may_be_reported, newest_stored
from metrics.report.queries.wanted import wanted_scores
from metrics.report.refused import FEW, ReportRefused
from metrics.score_runs import registry
from metrics.score_runs.tasks import enqueue


@require_safe
def report(request: HttpRequest, name: str) -> HttpResponse:
    """What a report holds, from which scores, and how to get it."""
    return _page(request, get_study_or_404(request, name))


@require_safe
def report_zip(request: HttpRequest, name: str) -> HttpResponse | FileResponse:
    """The report as a zip archive, with images if `?images` is sent. If it is refused, the page says why."""
    study = get_study_or_404(request, name)
    try:
        archive = services.write_zip(study=study, with_images="images" in request.GET)
    except ReportRefused as refused:
        return _page(request, study, refused=refused.reason)
    return FileResponse(archive, as_attachment=True, filename=f"{study.name}-report.zip")


@require_POST
def report_scores(request: HttpRequest, name: str) -> HttpResponse:
    """Request all scores of the present answers that a report can show."""
    study = get_study_or_404(request, name)
    waiting = [run for run in services.request_scores(study) if run.state in OPEN]
    for run in waiting:
        enqueue(run)
    if waiting:
        text = ngettext(
            "%(number)d computation of scores was requested.",
            "%(number)d computations of scores were requested.",
            len(waiting),
        )
        messages.success(request, text % {"number": len(waiting)})
    else:
        messages.success(request, _("All scores are those of the present answers."))
    return redirect("report", name=study.name)


def _page(request: HttpRequest, study: Study, *, refused: str = "") -> HttpResponse:
    stored = newest_stored(study)
    computed = {metric.name for metric, _run in stored}
    # In a large study nobody waits for this, and hardly any has so few people.
    few = bool(stored) and not is_large(study) and all_of_few(study, stored)
    reportable = [metric.name for metric in registry.metrics() if may_be_reported(metric)]
    context = {
        "study": study,
        "simulated": has_simulated_answers(study),
        "stored": stored,
        "missing": len({metric for metric, _variant, _parameters in wanted_scores(study)} - computed),
        "waiting": ScoreRun.objects.filter(study=study, state__in=OPEN, metric__in=reportable).count(),
        "refused": refused or (FEW if few else ""),
    }
    return render(request, "metrics/report/report.html", context, status=409 if refused else 200)
