"""How far annotators agree, within and between groups of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics.agreement import queries as pages
from metrics.agreement.queries import wanted_by
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_study_or_404
from metrics.core.tables import url_with
from metrics.score_runs import freshness, queries

_SAID = {
    "none": _("everybody together"),
    "gender": _("by gender"),
    "origin": _("by origin"),
    "pool": _("in-region and out-region"),
}


@login_required
@require_safe
def agreement(request: HttpRequest, name: str) -> HttpResponse:
    """`?by=` is what tells annotators apart; anything that nothing is known of shows everybody together."""
    study = get_study_or_404(request, name)
    by = request.GET.get("by", pages.BY[0])
    if by not in pages.BY:
        by = pages.BY[0]
    wanted = wanted_by(by)
    run = queries.newest_run(study, *wanted)
    return render(
        request,
        "metrics/agreement/agreement.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "by": by,
            "choices": [(each, _SAID[each], url_with(request, by=each)) for each in pages.BY],
            "run": run,
            "tasks": pages.agreement(run) if run else [],
            "fresh": freshness.check(study, [wanted]) if "check" in request.GET else None,
            "freshness_query": freshness.query_string(
                [wanted], extra=[("by", by)] if by != pages.BY[0] else []
            ),
        },
    )
