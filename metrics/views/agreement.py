"""How far annotators agree, within and between groups of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics import frames, queries
from metrics.led import led_study
from metrics.queries_pages import agreement as pages
from metrics.views import freshness
from metrics.views.tables import changed

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
    study = led_study(request, name)
    by = request.GET.get("by", pages.BY[0])
    if by not in pages.BY:
        by = pages.BY[0]
    wanted = freshness.of_agreement(by)
    run = queries.newest_run(study, *wanted)
    return render(
        request,
        "metrics/agreement.html",
        {
            "study": study,
            "simulated": frames.holds_simulated(study),
            "by": by,
            "choices": [(each, _SAID[each], changed(request, by=each)) for each in pages.BY],
            "run": run,
            "tasks": pages.agreement(run) if run else [],
            "fresh": freshness.check(study, [wanted]) if "check" in request.GET else None,
            "fresh_question": freshness.question([wanted], more=[("by", by)] if by != pages.BY[0] else []),
        },
    )
