"""The page of agreement between annotators."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from metrics.agreement import queries as pages
from metrics.agreement.queries import run_of
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404
from metrics.core.tables import url_with
from metrics.score_runs import freshness, queries


@require_safe
def agreement(request: HttpRequest, name: str) -> HttpResponse:
    """`?by=` chooses the groups of annotators; an unknown value shows all annotators together."""
    study = get_study_or_404(request, name)
    by = request.GET.get("by", pages.BY[0])
    if by not in pages.BY:
        by = pages.BY[0]
    wanted = run_of(by)
    chosen = [("by", by)] if by != pages.BY[0] else []
    run = queries.newest_run(study, *wanted)
    return render(
        request,
        "metrics/agreement/agreement.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "by": by,
            "choices": [(each, pages.BY_TEXTS[each], url_with(request, by=each)) for each in pages.BY],
            "run": run,
            "tasks": pages.task_agreements(run) if run else [],
            "fresh": freshness.check(study, [wanted]) if "check" in request.GET else None,
            "freshness_query": freshness.query_string([wanted], extra=chosen),
            "check_query": urlencode(chosen),
        },
    )
