"""Scores per identity group: the table, and one group with its images. The gallery of images with boxes."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.core.requests import query_without_page
from annotation.models import IdentityGroup
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_depiction_study_or_404
from metrics.core.tables import parse_id, requested_order, url_with
from metrics.depiction import sensitivity_scores
from metrics.depiction.queries.gallery import DISAGREEMENT_CHOICES, Filters, gallery_page
from metrics.depiction.queries.identities import (
    COLUMNS,
    TENDENCY,
    TEXT_COLUMNS,
    identity_page,
    identity_table,
    score_rows,
)
from metrics.depiction.queries.sensitivity import newest_readable, sensitivity
from metrics.depiction.queries.standings import column_axes, standings
from metrics.models import Variant
from metrics.score_runs import contrasts, freshness, queries
from metrics.score_runs.queries import score_history

_CONTRAST_TEXTS = {
    "l_stereo": _("L(stereo) of this group minus the mean of all others:"),
    "o": _("Offensiveness of its depiction minus the mean of all others:"),
}


@require_safe
def identities(request: HttpRequest, name: str) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    variant = request.GET.get("variant", "")
    if variant not in Variant.values:
        variant = str(Variant.CORRECTED)
    run = queries.newest_run(study, "tendency", variant)
    offensiveness = queries.newest_run(study, "offensiveness", variant) if run else None
    named = run is None or sensitivity_scores.are_identified(study)
    widths = None if named else newest_readable(request.user, study)
    wanted = freshness.default_requests(["tendency", "offensiveness"], variant)
    wanted += [] if named else freshness.default_requests(["annotator_sensitivity"])
    order = requested_order(request, COLUMNS, TEXT_COLUMNS, default="theta")
    all_rows, not_reported = identity_table(study, run, offensiveness, order)
    search, region = request.GET.get("q", ""), request.GET.get("region", "")
    return render(
        request,
        "metrics/depiction/identities.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "variant": variant,
            "variants": [(value, url_with(request, variant=value)) for value in Variant.values],
            "run": run,
            "sensitivity_run": widths,
            "sensitivity": sensitivity(widths) if widths else None,
            "rows": [row for row in all_rows if row.matches(search) and region in {"", row.group.region}],
            "axes": column_axes(all_rows),
            "not_reported": not_reported,
            "search": search,
            "region": region,
            "regions": sorted({row.group.region for row in all_rows} - {""}),
            **order.context(request, COLUMNS, TEXT_COLUMNS),
            **freshness.page_context(request, study, wanted),
        },
    )


@require_safe
def identity(request: HttpRequest, name: str, group_id: int) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    group = get_object_or_404(IdentityGroup, pk=group_id)
    run = queries.newest_run(study, "likelihood", Variant.CORRECTED)
    page = identity_page(study, group, run=run, page=request.GET.get("page", "1"))
    if not page.images:
        raise Http404("No image of this group is judged in this study.")
    wanted = freshness.default_requests(["likelihood", "tendency", "offensiveness", *contrasts.METRICS])
    tendency = queries.newest_run(study, "tendency", Variant.CORRECTED)
    offensiveness = queries.newest_run(study, "offensiveness", Variant.CORRECTED) if tendency else None
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
            "standings": standings(score_rows(tendency, offensiveness), group),
            "contrasts": [
                each for row in others for each in zip(_CONTRAST_TEXTS.values(), row.numbers, strict=True)
            ],
            "history": score_history(
                study, group, metric="tendency", names=TENDENCY, variant=Variant.CORRECTED
            ),
            "history_columns": [COLUMNS[name] for name in TENDENCY],
            **freshness.page_context(request, study, wanted),
        },
    )


@require_safe
def gallery(request: HttpRequest, name: str) -> HttpResponse:
    study = get_depiction_study_or_404(request, name)
    number = request.GET.get("group", "")
    differ = parse_id(request.GET.get("differ", "0"))
    filters = Filters(
        group=get_object_or_404(IdentityGroup, pk=parse_id(number)) if number else None,
        attribute=request.GET.get("attribute", ""),
        people=request.GET.get("people", ""),
        differ=differ if differ in DISAGREEMENT_CHOICES else 0,
    )
    try:
        page = gallery_page(study, filters, page=request.GET.get("page", "1"))
    except ValueError as error:
        raise Http404(str(error)) from error
    return render(
        request,
        "metrics/depiction/gallery.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "page": page,
            "differ": DISAGREEMENT_CHOICES,
            "pager": query_without_page(request),
        },
    )
