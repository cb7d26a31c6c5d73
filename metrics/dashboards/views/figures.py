"""Figures: the list of a study's, a page for each, and as files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.models import Study
from metrics.core.charts.figure import CONTENT_TYPES, render_figure
from metrics.core.figure_sources import UnknownFigure
from metrics.core.study_access import get_study_or_404
from metrics.dashboards.figures import FIGURES, draw_figure

_MAX_ROWS = 500  # of the table beside a figure; the file has them all
_NARROW = 640  # pixels: what a wider figure needs to be readable, it scrolls for in a small window
# what the page draws from, beside the files
_SPECIFICATION = "json"


@login_required
@require_safe
def figure_list(request: HttpRequest, name: str) -> HttpResponse:
    """Every figure that there is; each is fetched by itself, or says why it cannot be drawn."""
    study = get_study_or_404(request, name)
    return render(
        request,
        "metrics/dashboards/figures.html",
        {"study": study, "sources": FIGURES.items()},
    )


@login_required
@require_safe
@vary_on_headers("HX-Request")
def figure_page(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The page of one figure; for a page that fetches it (htmx), the figure alone."""
    study = get_study_or_404(request, name)
    # an empty field of the form chooses nothing
    chosen = {option: value for option, value in request.GET.dict().items() if value}
    options = _options(figure, chosen)
    about = {
        "study": study,
        "name": figure,
        "source": FIGURES.get(figure),
        "options": options,
        "asks": any(not option["choices"] for option in options),
        "query": f"?{urlencode(chosen)}" if chosen else "",
        **_figure_context(study, figure, chosen),
    }
    alone = "HX-Request" in request.headers
    return render(
        request, "metrics/dashboards/_figure_drawn.html" if alone else "metrics/dashboards/figure.html", about
    )


@login_required
@require_safe
def figure_file(request: HttpRequest, name: str, figure: str, fmt: str) -> HttpResponse:
    """`?download` names the file for the browser to keep; without it the picture is for a page."""
    study = get_study_or_404(request, name)
    try:
        chosen = {name: value for name, value in request.GET.dict().items() if name != "download"}
        drawing = draw_figure(study, figure, chosen)
    except ValueError as error:
        raise Http404(str(error)) from error
    if fmt != _SPECIFICATION and fmt not in CONTENT_TYPES:
        raise Http404(f"There is no figure format '{fmt}'.")
    etag = f'"{drawing.digest[:32]}-{fmt}"'
    answer = get_conditional_response(request, etag=etag)
    if answer is None and fmt == _SPECIFICATION:
        answer = HttpResponse(json.dumps(drawing.spec), content_type="application/json")
    elif answer is None:
        answer = HttpResponse(render_figure(drawing, fmt), content_type=CONTENT_TYPES[fmt])
    answer["ETag"] = etag
    # Ask each time whether it has changed; the answer is mostly a short no.
    answer["Cache-Control"] = "private, no-cache"
    if "download" in request.GET:
        answer["Content-Disposition"] = f'attachment; filename="{study.name}-{figure}.{fmt}"'
    return answer


def _figure_context(study: Study, name: str, chosen: Mapping[str, str]) -> dict[str, object]:
    """The figure with the size of its picture, or why there is none, be it the study or an option that was
    chosen. Http404 for a figure that is not known."""
    try:
        drawing = draw_figure(study, name, chosen)
    except UnknownFigure as error:
        raise Http404(str(error)) from error
    except ValueError as error:
        return {"nothing": str(error)}
    width, height = _size(render_figure(drawing, "svg"))
    return {
        "figure": drawing,
        "width": width,
        "height": height,
        "wide": width > _NARROW,
        "rows": drawing.rows[:_MAX_ROWS],
        "left_out": max(0, len(drawing.rows) - _MAX_ROWS),
    }


def _size(svg: bytes) -> tuple[int, int]:
    """Width and height as the picture states them, so that a page has room for it before it is there."""
    found = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg[:1000])
    return (round(float(found[1])), round(float(found[2]))) if found else (_NARROW, _NARROW)


def _options(name: str, chosen: Mapping[str, str]) -> list[dict[str, object]]:
    """What can be chosen of the figure, with a link for each of a few values."""
    source = FIGURES.get(name)
    if source is None:
        return []
    return [
        {
            "name": option,
            "meaning": meaning,
            "value": chosen.get(option, ""),
            "choices": [
                {
                    "value": value,
                    "link": f"?{urlencode({**chosen, option: value})}",
                    "current": value == chosen.get(option, source.choices[option][0]),
                }
                for value in source.choices.get(option, ())
            ],
        }
        for option, meaning in source.options.items()
    ]
