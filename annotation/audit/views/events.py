"""The audit log, for admins."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from annotation import policies
from annotation.audit.forms import AuditForm
from annotation.audit.queries import events
from annotation.audit.services import events as audit_log
from annotation.core.requests import LoggedIn, query_without_page


@login_required
@never_cache
@require_safe
def audit(request: LoggedIn) -> HttpResponse:
    if not policies.may_read_audit_log(request.user):
        raise Http404
    form = AuditForm(request.GET, choices=events.choices())
    valid = form.is_valid()
    log = events.page(form.filters() if valid else events.Filters(), page=request.GET.get("page", "1"))
    pager = query_without_page(request)
    context = {"form": form, "log": log, "pager": pager, "formats": audit_log.FORMATS}
    return render(request, "annotation/audit/events.html", context, status=200 if valid else 422)


@login_required
@require_GET
@never_cache
def audit_export(request: LoggedIn, fmt: str) -> HttpResponse | StreamingHttpResponse:
    """Download all events that match the page's filters."""
    if not policies.may_read_audit_log(request.user) or fmt not in audit_log.FORMATS:
        raise Http404
    form = AuditForm(request.GET, choices=events.choices())
    if not form.is_valid():
        return audit(request)
    return StreamingHttpResponse(
        audit_log.stream(fmt=fmt, filters=form.filters(), by=request.user),
        content_type=audit_log.FORMATS[fmt],
        headers={"Content-Disposition": f'attachment; filename="audit-{timezone.now():%Y-%m-%d}.{fmt}"'},
    )
