"""The gallery: images with the boxes of all annotators."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.core.requests import query_without_page
from annotation.models import IdentityGroup
from metrics.core.answers import has_simulated_answers
from metrics.core.request_parameters import parse_id
from metrics.core.study_access import get_depiction_study_or_404
from metrics.depiction.queries.gallery import DISAGREEMENT_CHOICES, Filters
from metrics.depiction.queries.gallery import gallery_page as read_gallery


@login_required
@require_safe
def gallery(request: HttpRequest, name: str) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    number = request.GET.get("group", "")
    group = get_object_or_404(IdentityGroup, pk=parse_id(number)) if number else None
    differ = parse_id(request.GET.get("differ", "0"))
    filters = Filters(
        group=group,
        attribute=request.GET.get("attribute", ""),
        people=request.GET.get("people", ""),
        differ=differ if differ in DISAGREEMENT_CHOICES else 0,
    )
    try:
        page = read_gallery(study, filters, page=request.GET.get("page", "1"))
    except ValueError as error:
        raise Http404(str(error)) from error
    return render(
        request,
        "metrics/depiction/gallery.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "page": page,
            "differ": DISAGREEMENT_CHOICES,
            "pager": query_without_page(request),
        },
    )
