"""People and a machine judge item by item, and the judge's answers as a file."""

import numpy as np
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.requests import LoggedIn, query_without_page
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404
from metrics.core.tables import parse_id
from metrics.machine_judges.answers_csv import answers_response
from metrics.machine_judges.queries import items
from metrics.machine_judges.queries.item_rows import item_rows


@require_safe
def judge_items(request: LoggedIn, name: str, number: int) -> HttpResponse:
    """`?group=ID&attribute=ID&region=Europe&differ=1` narrows the list."""
    study = get_study_or_404(request, name)
    judge = items.answered_judge_or_404(study, number)
    filters = items.ItemFilters(
        group=_id(request, "group"),
        attribute=_id(request, "attribute"),
        region=request.GET.get("region", ""),
        differ=request.GET.get("differ") == "1",
    )
    ranked = items.ranking(judge)
    page = Paginator(items.matching(judge, ranked, filters), items.PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "simulated": has_simulated_answers(study),
        "judge": judge,
        "filters": filters,
        "choices": items.choices(judge),
        "attribute": items.judged_attribute(judge, filters.attribute),
        "total": page.paginator.count,
        "all": len(ranked.places),
        "rows": item_rows(judge, ranked, np.asarray(page.object_list)),
        "page": page,
        "pager": query_without_page(request),
    }
    return render(request, "metrics/machine_judges/items.html", context)


@require_safe
def judge_answers(request: LoggedIn, name: str, number: int) -> StreamingHttpResponse:
    """The judge's answers as CSV."""
    return answers_response(get_study_or_404(request, name), number)


def _id(request: LoggedIn, name: str) -> int:
    """An id of the query; one that no row has for what is none, and 0 where none is asked for."""
    text = request.GET.get(name, "")
    return (parse_id(text) or -1) if text else 0
