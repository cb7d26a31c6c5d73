"""Downloads of annotator-level data, for admins."""

import logging

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from annotation.api.study_access import study_for_export
from annotation.core.requests import LoggedIn
from annotation.exports import queries, tasks
from annotation.exports.formats.registry import FORMATS, readme
from annotation.exports.forms import ExportForm
from annotation.exports.packing import zip_response
from annotation.exports.selection import ExportRefused, Selection
from annotation.exports.services import jobs as export_jobs
from annotation.exports.services import writing
from annotation.models import ExportJob, Study

log = logging.getLogger(__name__)


@require_safe
def export_page(request: LoggedIn, name: str) -> HttpResponse:
    """The formats with their uses, and the filters."""
    study = study_for_export(request, name)
    return _page(request, study, ExportForm(study, initial={"format": "csv"}))


@require_GET
def export_download(request: LoggedIn, name: str) -> HttpResponse | StreamingHttpResponse:
    """The chosen export as a zip archive, with a description of its columns."""
    study = study_for_export(request, name)
    form = ExportForm(study, request.GET)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    fmt = form.cleaned_data["format"]
    try:
        archive = writing.stream_zip(study=study, fmt=fmt, by=request.user, filters=form.filters())
    except ExportRefused as refused:
        form.add_error(None, str(refused))
        return _page(request, study, form, status=422)
    return zip_response(archive, f"{study.name}-{fmt}.zip")


@require_GET
def export_annotations(request: LoggedIn, name: str) -> StreamingHttpResponse:
    """The long table of the whole study as plain CSV. A header links to the description of its columns."""
    study = study_for_export(request, name)
    return StreamingHttpResponse(
        writing.stream_csv(study=study, by=request.user),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{study.name}-annotations.csv"',
            "Link": f'<{reverse("export_columns", args=[study.name])}>; rel="describedby"; type="text/plain"',
        },
    )


@require_safe
def export_columns(request: LoggedIn, name: str) -> HttpResponse:
    """The description of the plain CSV's columns: Markdown, sent as text so that a browser shows it."""
    study = study_for_export(request, name)
    return HttpResponse(readme(FORMATS["csv"], Selection(study)), content_type="text/plain; charset=utf-8")


@require_http_methods(["GET", "HEAD", "POST"])
def export_list(request: LoggedIn, name: str) -> HttpResponse:
    """POST requests an export, now or in the background; GET shows the progress of background exports."""
    study = study_for_export(request, name)
    if request.method != "POST":
        # The page polls this address; anything else is sent to the whole page.
        if not request.htmx:
            return redirect("export_page", name=name)
        return render(request, "annotation/exports/_exports.html", _listed_exports(request, study))
    form = ExportForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    if request.POST.get("when") == "now":
        return redirect(f"{reverse('export_download', args=[name])}?{form.query_string()}")
    try:
        job = export_jobs.request(
            study=study, fmt=form.cleaned_data["format"], filters=form.filters(), by=request.user
        )
    except ExportRefused as refused:
        form.add_error(None, str(refused))
        return _page(request, study, form, status=422)
    tasks.enqueue(job)
    return redirect(f"{reverse('export_page', args=[name])}#exports")


@require_POST
def export_action(request: LoggedIn, name: str, pk: int, action: str) -> HttpResponse:
    """Make an export again, or delete it."""
    job = _job(request, name, pk)
    if action == "retry":
        if export_jobs.retry(job=job):
            job.refresh_from_db()
            tasks.enqueue(job)
    elif action == "delete":
        export_jobs.delete(job=job)
    else:
        raise Http404
    return redirect(f"{reverse('export_page', args=[name])}#exports")


@require_GET
def export_file(request: LoggedIn, name: str, pk: int) -> HttpResponse | FileResponse:
    """The file of an export that was made in the background."""
    job = _job(request, name, pk)
    try:
        file = export_jobs.open_file(job=job, by=request.user)
    except export_jobs.ExportGone:
        messages.warning(request, _("The file of this export was deleted. Make it again."))
        return redirect("export_page", name=name)
    except OSError:
        log.exception("export %s cannot be read", job.pk)
        messages.error(request, _("The export storage is not responding. Try again in a minute."))
        return redirect("export_page", name=name)
    return FileResponse(file, as_attachment=True, filename=f"{job.study.name}-{job.format}.zip")


def _job(request: LoggedIn, name: str, pk: int) -> ExportJob:
    return queries.export_job(request.user, study_for_export(request, name), pk=pk)


def _listed_exports(request: LoggedIn, study: Study) -> dict[str, object]:
    exports = queries.exports_of(request.user, study)
    return {"study": study, "exports": exports, "waiting": any(one.waiting for one in exports)}


def _page(request: LoggedIn, study: Study, form: ExportForm, *, status: int = 200) -> HttpResponse:
    context = {
        **_listed_exports(request, study),
        "form": form,
        "formats": form.formats,
        "chosen": form["format"].value(),
        "large": queries.is_large(study),
        "threshold": queries.LARGE,
    }
    return render(request, "annotation/exports/export.html", context, status=status)
