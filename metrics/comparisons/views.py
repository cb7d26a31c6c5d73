"""The comparison page: two groups of annotators, and each identity group against the others."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics.comparisons import queries as pages
from metrics.comparisons import rankings
from metrics.comparisons.queries import score_requests
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_depiction_study_or_404
from metrics.depiction.queries.identities import COLUMNS
from metrics.models import Variant
from metrics.score_runs import contrasts, freshness, queries

_DIFFERENCE = _("Difference")
# {metric: (heading of the score, heading of its difference)}.
_COLUMNS = {
    "tendency_difference": [(COLUMNS["l_stereo"], _DIFFERENCE), (COLUMNS["theta"], "ln")],
    "offensiveness_difference": [(COLUMNS["o"], _DIFFERENCE)],
}
_NAMES = [name for metric in contrasts.METRICS for name in contrasts.NAMES[metric]]


@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """`?with=` is the key of an offered comparison of two groups of annotators. The places of groups, and the
    contrasts of each group and region, are always shown. Models are compared in a league: links to those
    of two studies or image sets lead there."""
    study = get_depiction_study_or_404(request, name)
    choices = pages.choices(study)
    key = request.GET.get("with", "")
    kind, _sign, value = key.partition(":")
    if kind in ("study", "image_set"):
        names = [study.name, value] if kind == "study" else [study.name]
        return redirect(f"{reverse('league')}?{urlencode([('study', one) for one in names])}")
    choice = next((one for one in choices if one.key == key), None)
    if key and choice is None:
        raise Http404("There is no such comparison.")
    variant = Variant.CORRECTED
    runs = pages.stored_runs(study, choice, variant) if choice else {}
    compared = score_requests(choice) if choice else []
    requests = [*compared, *freshness.default_requests([rankings.METRIC, *contrasts.METRICS])]
    newest = [queries.newest_run(study, metric, variant) for metric in contrasts.METRICS]
    contrast_runs = [run for run in newest if run is not None]
    ranking_run = queries.newest_run(study, rankings.METRIC, variant)
    rows = contrasts.contrasts(contrast_runs, _NAMES) if contrast_runs else []
    return render(
        request,
        "metrics/comparisons/compare.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "choices": choices,
            "choice": choice,
            "tables": [(run, pages.comparison_rows(run), _COLUMNS[metric]) for metric, run in runs.items()],
            "ranking_run": ranking_run,
            "ranking": rankings.ranking(ranking_run) if ranking_run else None,
            "contrast_runs": contrast_runs,
            "contrast_columns": [COLUMNS[name] for name in _NAMES],
            "regions": [row for row in rows if row.group is None],
            "groups": [row for row in rows if row.group is not None],
            "fresh": freshness.check(study, requests) if "check" in request.GET else None,
            "freshness_query": freshness.query_string(requests, extra=[("with", key)] if choice else []),
        },
    )
