"""Two image sets, or two groups of annotators, side by side."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import policies
from metrics import frames
from metrics.led import led_depiction_study
from metrics.models import Variant
from metrics.queries_pages import compare as pages
from metrics.queries_pages.identities import COLUMNS
from metrics.views import freshness


@login_required
@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """`?with=` names two sides that are offered here: a study of the reader's own, or a split of this one."""
    study = led_depiction_study(request, name)
    choices = pages.choices(study, policies.studies_led_by(request.user))
    asked = request.GET.get("with", "")
    choice = next((one for one in choices if one.key == asked), None)
    if asked and choice is None:
        raise Http404("There is nothing of that name to compare.")
    variant = Variant.CORRECTED
    runs, rows = pages.stored(study, choice, variant) if choice else ([], [])
    wanted = freshness.of_comparison(choice) if choice else []
    studies = [study, choice.other] if choice and choice.other else [study]
    return render(
        request,
        "metrics/compare.html",
        {
            "study": study,
            "simulated": any(frames.holds_simulated(one) for one in studies),
            "choices": choices,
            "choice": choice,
            "runs": runs,
            "rows": rows,
            "beside": any(any(row.sides) for row in rows),
            "columns": [COLUMNS[name] for name in ("l_stereo", "theta")],
            "differences": [COLUMNS["l_stereo"], "ln θ"],
            "fresh": freshness.check(study, wanted) if choice and "check" in request.GET else None,
            "fresh_question": freshness.question(wanted, more=[("with", asked)]),
        },
    )
