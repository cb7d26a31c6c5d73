"""Pages of brightness: its runs, one run's numbers, its figure, and a new run with its preview."""

from typing import Any

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
from generation.image_sets.access import visible_image_sets
from generation.models import Run
from generation.runs import queries as runs_queries
from generation.runs.planning_page import preview_or_start
from metrics.brightness import queries
from metrics.brightness.data import (
    MeasurementsRefused,
    brightness_runs,
    crop_of,
    image_set_of,
    looks_for_faces,
)
from metrics.brightness.figures import brightness_figure
from metrics.brightness.forms import BrightnessForm, crop_fields
from metrics.core.access import catalogue_readers_only, of_visible_sets
from metrics.core.figure_files import figure_context, figure_response

RUNS_PER_PAGE = 30
NOTES: dict[str, Promise] = {
    "OpenCV is not installed": _("OpenCV was not installed on the worker"),
    "no face found": _("no face was found"),
    "too little skin in the face": _("there was too little skin in the face"),
    "faces were not looked for": _("faces were not looked for"),
}
"""The notes of the backend, for people."""


@catalogue_readers_only
@require_safe
def brightness_list(request: LoggedIn) -> HttpResponse:
    runs = of_visible_sets(request, brightness_runs()).select_related("created_by")
    page = Paginator(runs, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(row, crop_of(row.run).name) for row in runs_queries.run_rows(list(page))]
    context = {"page": page, "rows": rows, "may_measure": policies.may_make_images(request.user)}
    return render(request, "metrics/brightness/brightness_list.html", context)


@catalogue_readers_only
@require_safe
def brightness(request: LoggedIn, pk: int) -> HttpResponse:
    run = _run(request, pk)
    context: dict[str, Any] = {
        "run": run,
        "image_set": image_set_of(run),
        "crop": crop_of(run).name,
        "faces": looks_for_faces(run),
        "progress": runs_queries.progress(run),
        "may_measure": policies.may_make_images(request.user),
    }
    try:
        found = queries.results(run)
    except MeasurementsRefused as refused:
        return render(request, "metrics/brightness/brightness.html", {**context, "problem": str(refused)})
    found = queries.of_sets(found, visible_image_sets(request))
    context |= {"found": found, "notes": [(NOTES.get(note, note), n) for note, n in found.notes]}
    figure = brightness_figure(run, found)
    if figure is not None:
        context |= figure_context(figure, lambda fmt: reverse("brightness_figure", args=[run.pk, fmt]))
    return render(request, "metrics/brightness/brightness.html", context)


@catalogue_readers_only
@require_safe
def brightness_figure_file(request: LoggedIn, pk: int, fmt: str) -> HttpResponse:
    """The file of a run's figure; with `?download` the browser saves it."""
    run = _run(request, pk)
    try:
        figure = brightness_figure(run, queries.results(run))
    except MeasurementsRefused as refused:
        raise Http404(str(refused)) from refused
    if figure is None:
        raise Http404("Nothing is measured yet.")
    return figure_response(request, figure, fmt, filename=f"{run.name}-{figure.name}")


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_brightness(request: LoggedIn) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run.
    `?set=faces&crop=published` fills the form."""
    context: dict[str, Any] = {}
    if request.method == "POST":
        form = BrightnessForm(request.POST)
        started, context = preview_or_start(request, form)
        if started is not None:
            return redirect("brightness_run", pk=started.pk)
    else:
        crop = request.GET.get("crop", "")
        form = BrightnessForm(
            initial={"image_set": request.GET.get("set", ""), **(crop_fields(crop) if crop else {})}
        )
    context["form"] = form
    return render(
        request, "metrics/brightness/new_brightness.html", context, status=422 if form.errors else 200
    )


def _run(request: HttpRequest, pk: int) -> Run:
    return get_object_or_404(of_visible_sets(request, brightness_runs()), pk=pk)
