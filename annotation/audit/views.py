"""The audit log, and hours and exposure: of one study for its leads, of all studies for admins."""

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from annotation import policies
from annotation.audit import queries, services
from annotation.audit.forms import AuditForm
from annotation.audit.sentences import sentence
from annotation.core.requests import LoggedIn, query_without_page
from annotation.models import Study


@require_safe
def audit(request: LoggedIn) -> HttpResponse:
    if not policies.is_admin(request.user):
        raise Http404
    form = AuditForm(request.GET)
    valid = form.is_valid()
    events = queries.events(form.cleaned_data if valid else {})
    log = Paginator(events, 100).get_page(request.GET.get("page", "1"))
    context = {
        "form": form,
        "log": log,
        "entries": [(event, sentence(event)) for event in log],
        "pager": query_without_page(request),
        "formats": services.EVENT_FORMATS,
    }
    return render(request, "annotation/audit/events.html", context, status=200 if valid else 422)


@require_GET
def audit_export(request: LoggedIn, fmt: str) -> HttpResponse | StreamingHttpResponse:
    """Download all events that match the page's filters."""
    if not policies.is_admin(request.user) or fmt not in services.EVENT_FORMATS:
        raise Http404
    form = AuditForm(request.GET)
    if not form.is_valid():
        return audit(request)
    return StreamingHttpResponse(
        services.stream_events(fmt=fmt, filters=form.cleaned_data, by=request.user),
        content_type=services.EVENT_FORMATS[fmt],
        headers={"Content-Disposition": f'attachment; filename="audit-{timezone.now():%Y-%m-%d}.{fmt}"'},
    )


@require_safe
def exposure(request: LoggedIn, name: str | None = None) -> HttpResponse:
    study = _study(request, name)
    page = queries.hours_page(study, page=request.GET.get("page", "1"))
    context = {
        "study": study,
        "page": page,
        # The sum of one page of several would mislead
        "active_hours": None if page.has_other_pages() else sum(row.active_hours for row in page),
        "withdrawn": queries.withdrawn(study),
    }
    return render(request, "annotation/audit/exposure.html", context)


@require_GET
def exposure_csv(request: LoggedIn, name: str | None = None) -> StreamingHttpResponse:
    study = _study(request, name)
    return StreamingHttpResponse(
        services.stream_hours(study=study, by=request.user),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.name if study else "all"}-hours.csv"'},
    )


def _study(request: LoggedIn, name: str | None) -> Study | None:
    """The study, or None for all studies. 404 if the account may not see the hours."""
    study = None if name is None else get_object_or_404(Study, name=name)
    allowed = policies.leads(request.user, study) if study else policies.is_admin(request.user)
    if not allowed:
        raise Http404
    return study
