"""Scores per identity group: the table, and one group with its images."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.models import IdentityGroup
from metrics import frames, queries, queries_pages
from metrics.led import led_depiction_study
from metrics.models import Variant
from metrics.queries_pages import contrast
from metrics.queries_pages.identities import COLUMNS, unreported
from metrics.views import freshness
from metrics.views.tables import changed, first_direction, headings

# columns of words, which are sorted from A to Z first
_WORDS = frozenset({"identity", "region"})
_TENDENCY = ("l_stereo", "l_random", "theta")
# What is said of a group against the others.
_COMPARED = {
    "l_stereo": _("L(stereo) of this group less the mean of all others:"),
    "o": _("Offensiveness of its depiction less the mean of all others:"),
}


@login_required
@require_safe
def identities(request: HttpRequest, name: str) -> HttpResponse:
    study = led_depiction_study(request, name)
    variant = _variant(request)
    run = queries.newest_run(study, "tendency", variant)
    sort = request.GET.get("sort", "theta")
    if sort not in COLUMNS:
        sort = "theta"
    descending = request.GET.get("dir", first_direction(sort, _WORDS)) == "desc"
    search, region = request.GET.get("q", ""), request.GET.get("region", "")
    every: list[queries_pages.IdentityRow] = []
    apart: list[IdentityGroup] = []
    if run is not None:
        offensiveness = queries.newest_run(study, "offensiveness", variant)
        every = queries_pages.identities(run, sort=sort, descending=descending, offensiveness=offensiveness)
        apart = unreported(study, every)
    rows = [row for row in every if row.matches(search) and region in {"", row.group.region}]
    wanted = freshness.usual(["tendency", "offensiveness"], variant)
    return render(
        request,
        "metrics/identities.html",
        {
            "study": study,
            "simulated": frames.holds_simulated(study),
            "variant": variant,
            "variants": _variants(request),
            "run": run,
            "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
            "fresh_question": freshness.question(wanted),
            "rows": rows,
            "apart": apart,
            "search": search,
            "region": region,
            "regions": sorted({row.group.region for row in every} - {""}),
            "sort": sort,
            "direction": "desc" if descending else "asc",
            "columns": headings(request, COLUMNS, sort=sort, descending=descending, words=_WORDS),
        },
    )


@login_required
@require_safe
def identity(request: HttpRequest, name: str, group_id: int) -> HttpResponse:
    study = led_depiction_study(request, name)
    group = get_object_or_404(IdentityGroup, pk=group_id)
    run = queries.newest_run(study, "likelihood", Variant.CORRECTED)
    page = queries_pages.identity(study, group, run=run, page=request.GET.get("page", "1"))
    if not page.images:
        raise Http404("No image of this group is judged in this study.")
    wanted = freshness.usual(["likelihood", "tendency", *contrast.METRICS])
    against = [queries.newest_run(study, metric, Variant.CORRECTED) for metric in contrast.METRICS]
    runs = [one for one in against if one is not None]
    others = contrast.contrasts(runs, _COMPARED, group=group) if runs else []
    return render(
        request,
        "metrics/identity.html",
        {
            "study": study,
            "simulated": frames.holds_simulated(study),
            "group": group,
            "page": page,
            "run": run,
            "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
            "fresh_question": freshness.question(wanted),
            "contrasts": [
                each for row in others for each in zip(_COMPARED.values(), row.numbers, strict=True)
            ],
            "history": queries_pages.history(
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
    asked = request.GET.get("variant", Variant.CORRECTED)
    return asked if asked in Variant.values else str(Variant.CORRECTED)


def _variants(request: HttpRequest) -> list[tuple[str, str]]:
    return [(value, changed(request, variant=value)) for value in Variant.values]
