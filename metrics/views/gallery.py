"""The gallery: images with everybody's boxes."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.core.requests import without_page
from annotation.models import IdentityGroup
from metrics import frames
from metrics.led import led_depiction_study
from metrics.queries_pages.gallery import DIFFER, Filters
from metrics.queries_pages.gallery import gallery as read_gallery
from metrics.views.access import whole_number


@login_required
@require_safe
def gallery(request: HttpRequest, name: str) -> HttpResponse:
    study = led_depiction_study(request, name)
    asked = request.GET.get("group", "")
    group = get_object_or_404(IdentityGroup, pk=whole_number(asked)) if asked else None
    differ = whole_number(request.GET.get("differ", "0"))
    filters = Filters(
        group=group,
        attribute=request.GET.get("attribute", ""),
        people=request.GET.get("people", ""),
        differ=differ if differ in DIFFER else 0,
    )
    try:
        page = read_gallery(study, filters, page=request.GET.get("page", "1"))
    except ValueError as error:
        raise Http404(str(error)) from error
    return render(
        request,
        "metrics/gallery.html",
        {
            "study": study,
            "simulated": frames.holds_simulated(study),
            "page": page,
            "differ": DIFFER,
            "pager": without_page(request),
        },
    )
