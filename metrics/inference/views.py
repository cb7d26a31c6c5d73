"""Pages of inference models: their runs, one run's results, its figure, and a new run with its preview."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.models import Run
from generation.plans.plan import Plan
from generation.recipes import recipes
from generation.runs import queries as runs_queries
from generation.runs.planning_page import preview_or_start
from metrics.core.access import catalogue_readers_only
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.tables import url_with
from metrics.inference import queries
from metrics.inference.data import design_of, inference_runs
from metrics.inference.figures import SHOWN, inference_figure
from metrics.inference.forms import InferenceForm
from metrics.inference.labels import LabelsRefused
from metrics.inference.services.planning import DrawnPair, PairAskings

RUNS_PER_PAGE = 30
GROUPS_SHOWN = 50
PAIRS_SHOWN = 25
DRAWN_SHOWN = 40
NAMES: dict[str, Promise] = {
    "share": _("%E: share that is entailed"),
    "mean_of_entailed": _("M(E), entailed pairs only"),
    "mean_of_all": _("M(E), all pairs"),
}


@catalogue_readers_only
@require_safe
def inference_list(request: LoggedIn) -> HttpResponse:
    page = Paginator(inference_runs().select_related("created_by"), RUNS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    rows = [(row, design_of(row.run)["sources"]) for row in runs_queries.run_rows(list(page))]
    context = {"page": page, "rows": rows, "may_ask": policies.may_make_images(request.user)}
    return render(request, "metrics/inference/inference_list.html", context)


@catalogue_readers_only
@require_safe
def inference(request: LoggedIn, pk: int) -> HttpResponse:
    """`?show=mean_of_all` draws another number; `?source=seegull-v2&region=Europe` narrows the lists."""
    run = _run(pk)
    context: dict[str, Any] = {
        "run": run,
        "design": design_of(run),
        "progress": runs_queries.progress(run),
        "simulated": run.backend == recipes.FAKE,
        "makes": policies.may_make_images(request.user),
    }
    try:
        found = queries.results(run)
    except LabelsRefused as refused:
        return render(request, "metrics/inference/inference.html", {**context, "problem": str(refused)})
    shown = _shown(request)
    source, region = request.GET.get("source", ""), request.GET.get("region", "")
    groups = [each for each in found.groups if source in {"", each.source} and region in {"", each.region}]
    figure = inference_figure(run, found, shown=shown, simulated=run.backend == recipes.FAKE)
    context |= {
        "found": found,
        "shown": shown,
        "shown_links": [(name, label, url_with(request, show=name)) for name, label in NAMES.items()],
        "by_region": _by_region(found),
        "source": source,
        "region": region,
        "groups": groups[:GROUPS_SHOWN],
        "groups_in_all": len(groups),
        "pairs": queries.most_entailed(run, source=source, region=region, limit=PAIRS_SHOWN),
    }
    if figure is not None:
        query = f"?{urlencode({'show': shown})}"
        context |= figure_context(figure, lambda fmt: reverse("inference_figure", args=[run.pk, fmt]) + query)
    return render(request, "metrics/inference/inference.html", context)


@catalogue_readers_only
@require_safe
def inference_figure_file(request: LoggedIn, pk: int, fmt: str) -> HttpResponse:
    """The file of a run's figure; with `?download` the browser saves it."""
    run, shown = _run(pk), _shown(request)
    try:
        found = queries.results(run)
    except LabelsRefused as refused:
        raise Http404(str(refused)) from refused
    figure = inference_figure(run, found, shown=shown, simulated=run.backend == recipes.FAKE)
    if figure is None:
        raise Http404("There is no answer yet.")
    return figure_response(request, figure, fmt, filename=f"{run.name}-{shown}")


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_inference(request: LoggedIn) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    context: dict[str, Any] = {}
    if request.method == "POST":
        form = InferenceForm(request.POST)
        started, context = preview_or_start(request, form)
        if started is not None:
            return redirect("inference", pk=started.pk)
        if "preview" in context:
            drawn = _drawn(context["preview"].plan)
            context["drawn"] = [(each.source, each) for each in drawn[:DRAWN_SHOWN]]
            context["drawn_left_out"] = max(0, len(drawn) - DRAWN_SHOWN)
    else:
        form = InferenceForm(initial={"source": request.GET.get("source", "")})
    context["form"] = form
    return render(
        request, "metrics/inference/new_inference.html", context, status=422 if form.errors else 200
    )


def _run(pk: int) -> Run:
    return get_object_or_404(inference_runs(), pk=pk)


def _shown(request: HttpRequest) -> str:
    shown = request.GET.get("show", SHOWN[0])
    return shown if shown in SHOWN else SHOWN[0]


def _drawn(plan: Plan) -> Sequence[DrawnPair]:
    return plan.askings.drawn if isinstance(plan.askings, PairAskings) else ()


def _by_region(found: queries.Results) -> list[tuple[str, list[queries.ResultRow]]]:
    """For each region the rows of its sources; ALL comes first."""
    return [
        (region, [row for row in found.rows if row.region == region])
        for region in [queries.ALL, *found.regions]
    ]
