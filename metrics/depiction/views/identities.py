"""Scores per identity group: the table, and one group with its images."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.models import IdentityGroup
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_depiction_study_or_404
from metrics.core.tables import default_direction, headings, url_with
from metrics.depiction.queries.identities import COLUMNS, IdentityRow, identity_rows, unreported
from metrics.depiction.queries.identity import identity_page
from metrics.models import Variant
from metrics.score_runs import contrasts, freshness, queries
from metrics.score_runs.history import score_history

# text columns are sorted from A to Z first
_TEXT_COLUMNS = frozenset({"identity", "region"})
_TENDENCY = ("l_stereo", "l_random", "theta")
_CONTRAST_TEXTS = {
    "l_stereo": _("L(stereo) of this group minus the mean of all others:"),
    "o": _("Offensiveness of its depiction minus the mean of all others:"),
}


@login_required
@require_safe
def identities(request: HttpRequest, name: str) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    variant = _variant(request)
    run = queries.newest_run(study, "tendency", variant)
    sort = request.GET.get("sort", "theta")
    if sort not in COLUMNS:
        sort = "theta"
    descending = request.GET.get("dir", default_direction(sort, _TEXT_COLUMNS)) == "desc"
    search, region = request.GET.get("q", ""), request.GET.get("region", "")
    all_rows: list[IdentityRow] = []
    not_reported: list[IdentityGroup] = []
    if run is not None:
        offensiveness = queries.newest_run(study, "offensiveness", variant)
        all_rows = identity_rows(run, sort=sort, descending=descending, offensiveness=offensiveness)
        not_reported = unreported(study, all_rows)
    rows = [row for row in all_rows if row.matches(search) and region in {"", row.group.region}]
    wanted = freshness.default_requests(["tendency", "offensiveness"], variant)
    return render(
        request,
        "metrics/depiction/identities.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "variant": variant,
            "variants": _variants(request),
            "run": run,
            "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
            "freshness_query": freshness.query_string(wanted),
            "rows": rows,
            "not_reported": not_reported,
            "search": search,
            "region": region,
            "regions": sorted({row.group.region for row in all_rows} - {""}),
            "sort": sort,
            "direction": "desc" if descending else "asc",
            "columns": headings(
                request, COLUMNS, sort=sort, descending=descending, text_columns=_TEXT_COLUMNS
            ),
        },
    )


@login_required
@require_safe
def identity(request: HttpRequest, name: str, group_id: int) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    group = get_object_or_404(IdentityGroup, pk=group_id)
    run = queries.newest_run(study, "likelihood", Variant.CORRECTED)
    page = identity_page(study, group, run=run, page=request.GET.get("page", "1"))
    if not page.images:
        raise Http404("No image of this group is judged in this study.")
    wanted = freshness.default_requests(["likelihood", "tendency", *contrasts.METRICS])
    against = [queries.newest_run(study, metric, Variant.CORRECTED) for metric in contrasts.METRICS]
    runs = [one for one in against if one is not None]
    others = contrasts.contrasts(runs, _CONTRAST_TEXTS, group=group) if runs else []
    return render(
        request,
        "metrics/depiction/identity.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "group": group,
            "page": page,
            "run": run,
            "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
            "freshness_query": freshness.query_string(wanted),
            "contrasts": [
                each for row in others for each in zip(_CONTRAST_TEXTS.values(), row.numbers, strict=True)
            ],
            "history": score_history(
                study,
                group,
                metric="tendency",
                names=_TENDENCY,
                variant=Variant.CORRECTED,
            ),
            "history_columns": [COLUMNS[name] for name in _TENDENCY],
        },
    )


def _variant(request: HttpRequest) -> str:
    variant = request.GET.get("variant", Variant.CORRECTED)
    return variant if variant in Variant.values else str(Variant.CORRECTED)


def _variants(request: HttpRequest) -> list[tuple[str, str]]:
    return [(value, url_with(request, variant=value)) for value in Variant.values]
