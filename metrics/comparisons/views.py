"""Two studies, image sets or groups of annotators side by side; each identity group against the others."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation import policies
from metrics.comparisons import queries as pages
from metrics.comparisons.queries import score_requests
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_depiction_study_or_404
from metrics.depiction.queries.identities import COLUMNS
from metrics.models import Variant
from metrics.score_runs import contrasts, freshness, queries

_DIFFERENCE = _("Difference")
# What is compared, with the heading of its difference.
_COLUMNS = {
    "tendency_difference": [(COLUMNS["l_stereo"], _DIFFERENCE), (COLUMNS["theta"], "ln")],
    "offensiveness_difference": [(COLUMNS["o"], _DIFFERENCE)],
}
_NAMES = [name for metric in contrasts.METRICS for name in contrasts.NAMES[metric]]


@login_required
@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """`?with=` names two sides that are offered here: a study of the reader's own, or a split of this one.
    Each group and region against the others stands below, whatever is chosen."""
    study = get_depiction_study_or_404(request, name)
    choices = pages.choices(study, policies.studies_led_by(request.user))
    asked = request.GET.get("with", "")
    choice = next((one for one in choices if one.key == asked), None)
    if asked and choice is None:
        raise Http404("There is nothing of that name to compare.")
    variant = Variant.CORRECTED
    runs = pages.stored_runs(study, choice, variant) if choice else {}
    compared = score_requests(choice) if choice else []
    wanted = [*compared, *freshness.default_requests(contrasts.METRICS)]
    against = [queries.newest_run(study, metric, variant) for metric in contrasts.METRICS]
    contrast_runs = [run for run in against if run is not None]
    others = contrasts.contrasts(contrast_runs, _NAMES) if contrast_runs else []
    studies = [study, choice.other] if choice and choice.other else [study]
    return render(
        request,
        "metrics/comparisons/compare.html",
        {
            "study": study,
            "simulated": any(has_simulated_answers(one) for one in studies),
            "choices": choices,
            "choice": choice,
            "tables": [(run, pages.comparison_rows(run), _COLUMNS[metric]) for metric, run in runs.items()],
            "contrast_runs": contrast_runs,
            "contrast_columns": [COLUMNS[name] for name in _NAMES],
            "regions": [row for row in others if row.group is None],
            "groups": [row for row in others if row.group is not None],
            "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
            "fresh_question": freshness.query_string(wanted, extra=[("with", asked)] if choice else []),
        },
    )
