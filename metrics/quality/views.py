"""The quality page, for leads only."""

import csv
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.core.csv_text import safe_cell
from annotation.core.requests import query_without_page
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404, is_large
from metrics.core.tables import default_direction, headings
from metrics.quality.queries import annotators as pages
from metrics.quality.queries import work

_TEXT_COLUMNS = frozenset({"who"})


@require_safe
@vary_on_headers("HX-Request")
def quality(request: HttpRequest, name: str) -> HttpResponse:
    """The page with the last count. For htmx requests of the page: 204 if the count is up to date, otherwise
    the table, marked as stale. `?check` counts first, unless the last count is recent."""
    study = get_study_or_404(request, name)
    now = timezone.now()
    partial, check = "HX-Request" in request.headers, "check" in request.GET
    counted = work.recent_count(study, now=now) if check else work.immediate_count(study, now=now)
    stale = counted is not None and (partial or check) and work.is_stale(study, counted)
    if partial and not check and counted is not None and not stale:
        return HttpResponse(status=204)
    sort, descending = _order(request)
    number = request.GET.get("page", "1")
    context = {
        "study": study,
        "stale": stale,
        "next_poll": _next_poll(study, counted, stale=stale, checked=partial or check, now=now),
        "page": counted and pages.quality_page(study, counted, sort=sort, descending=descending, page=number),
        "columns": headings(
            request, pages.COLUMNS, sort=sort, descending=descending, text_columns=_TEXT_COLUMNS
        ),
        "pager": query_without_page(request),
        "number": number,
    }
    if partial:
        return render(request, "metrics/quality/_quality.html", context)
    return render(
        request, "metrics/quality/quality.html", {**context, "simulated": has_simulated_answers(study)}
    )


def _next_poll(
    study: Study, counted: work.WorkCount | None, *, stale: bool, checked: bool, now: datetime
) -> str:
    """What the loaded page requests next: "count" for a new count, "changed" to check for changed answers."""
    if counted is None or (stale and counted.may_recount(now=now)):
        return "count"
    return "changed" if not checked and is_large(study) else ""


@require_safe
def quality_csv(request: HttpRequest, name: str) -> HttpResponse:
    """The whole table, in the order of the page."""
    study = get_study_or_404(request, name)
    sort, descending = _order(request)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.name}-quality.csv"'
    writer = csv.writer(response, lineterminator="\n")
    writer.writerow(pages.CSV_COLUMNS)
    for row in pages.csv_rows(pages.current_rows(study, sort=sort, descending=descending)):
        writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return response


def _order(request: HttpRequest) -> tuple[str, bool]:
    sort = request.GET.get("sort", "flags")
    if sort not in pages.COLUMNS:
        sort = "flags"
    return sort, request.GET.get("dir", default_direction(sort, _TEXT_COLUMNS)) == "desc"
