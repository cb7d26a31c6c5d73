"""How each annotator works, for leads only."""

from __future__ import annotations

import csv

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.services.exports import safe_cell
from annotation.views.requests import without_page
from metrics import frames
from metrics.led import led_study
from metrics.queries_pages import quality as pages
from metrics.views.tables import first_direction, headings

_WORDS = frozenset({"who"})


@login_required
@never_cache
@require_safe
def quality(request: HttpRequest, name: str) -> HttpResponse:
    study = led_study(request, name)
    sort, descending = _order(request)
    return render(
        request,
        "metrics/quality.html",
        {
            "study": study,
            "simulated": frames.holds_simulated(study),
            "page": pages.quality(study, sort=sort, descending=descending, page=request.GET.get("page", "1")),
            "columns": headings(request, pages.COLUMNS, sort=sort, descending=descending, words=_WORDS),
            "pager": without_page(request),
        },
    )


@login_required
@never_cache
@require_safe
def quality_csv(request: HttpRequest, name: str) -> HttpResponse:
    """The whole table, in the order that the page has it in."""
    study = led_study(request, name)
    sort, descending = _order(request)
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{study.name}-quality.csv"'
    writer = csv.writer(answer, lineterminator="\n")
    writer.writerow(pages.CSV_COLUMNS)
    for row in pages.as_cells(pages.everybody(study, sort=sort, descending=descending)):
        writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return answer


def _order(request: HttpRequest) -> tuple[str, bool]:
    sort = request.GET.get("sort", "flags")
    if sort not in pages.COLUMNS:
        sort = "flags"
    return sort, request.GET.get("dir", first_direction(sort, _WORDS)) == "desc"
