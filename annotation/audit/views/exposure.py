"""Hours and exposure of annotators: of one study for its leads, of all studies for admins."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from annotation import policies
from annotation.audit.queries import exposure as exposure_queries
from annotation.audit.services import exposure as hours
from annotation.core.requests import LoggedIn
from annotation.models import Study


def _study(request: LoggedIn, name: str | None) -> Study | None:
    """The study, or None for all studies. 404 if the account may not see the hours."""
    if name is None:
        if not policies.may_see_all_hours(request.user):
            raise Http404
        return None
    study = get_object_or_404(Study, name=name)
    if not policies.may_see_hours(request.user, study):
        raise Http404
    return study


@login_required
@never_cache
@require_safe
def exposure(request: LoggedIn, name: str | None = None) -> HttpResponse:
    study = _study(request, name)
    page = exposure_queries.page(study, page=request.GET.get("page", "1"))
    return render(request, "annotation/audit/exposure.html", {"study": study, "page": page})


@login_required
@require_GET
@never_cache
def exposure_csv(request: LoggedIn, name: str | None = None) -> StreamingHttpResponse:
    study = _study(request, name)
    return StreamingHttpResponse(
        hours.stream_csv(study=study, by=request.user),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.name if study else "all"}-hours.csv"'},
    )
