"""Views of figures: the list, the page of a figure, and its files."""

import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.models import Study
from metrics.core.charts.figure import CONTENT_TYPES, render_figure
from metrics.core.figure_sources import UnknownFigure
from metrics.core.studies import get_study_or_404
from metrics.dashboards.figures import FIGURES, draw_figure

_MAX_ROWS = 500  # in the table of a figure; the file has all rows
_NARROW = 640  # pixels: a wider figure scrolls in a narrow window, because it would be unreadable if scaled
# the format for drawing in the page; the others are files
_SPECIFICATION = "json"


@require_safe
def figure_list(request: HttpRequest, name: str) -> HttpResponse:
    """All figures; each is loaded separately, or says why it cannot be drawn."""
    study = get_study_or_404(request, name)
    return render(
        request,
        "metrics/dashboards/figures.html",
        {"study": study, "sources": FIGURES.items()},
    )


@require_safe
@vary_on_headers("HX-Request")
def figure_page(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The page of one figure; for htmx requests, only the figure."""
    study = get_study_or_404(request, name)
    # an empty form field is ignored
    chosen = {option: value for option, value in request.GET.dict().items() if value}
    options = _options(figure, chosen)
    context = {
        "study": study,
        "name": figure,
        "source": FIGURES.get(figure),
        "options": options,
        "has_form": any(not option["choices"] for option in options),
        "query": f"?{urlencode(chosen)}" if chosen else "",
        **_figure_context(study, figure, chosen),
    }
    partial = "HX-Request" in request.headers
    return render(
        request,
        "metrics/dashboards/_figure_content.html" if partial else "metrics/dashboards/figure.html",
        context,
    )


@require_safe
def figure_file(request: HttpRequest, name: str, figure: str, fmt: str) -> HttpResponse:
    """The file of a figure; with `?download` the browser saves it."""
    study = get_study_or_404(request, name)
    try:
        chosen = {name: value for name, value in request.GET.dict().items() if name != "download"}
        drawing = draw_figure(study, figure, chosen)
    except ValueError as error:
        raise Http404(str(error)) from error
    if fmt != _SPECIFICATION and fmt not in CONTENT_TYPES:
        raise Http404(f"There is no figure format '{fmt}'.")
    etag = f'"{drawing.digest[:32]}-{fmt}"'
    response = get_conditional_response(request, etag=etag)
    if response is None and fmt == _SPECIFICATION:
        response = HttpResponse(json.dumps(drawing.spec), content_type="application/json")
    elif response is None:
        response = HttpResponse(render_figure(drawing, fmt), content_type=CONTENT_TYPES[fmt])
    response["ETag"] = etag
    # The browser revalidates each time; mostly the reply is a short 304.
    response["Cache-Control"] = "private, no-cache"
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{study.name}-{figure}.{fmt}"'
    return response


def _figure_context(study: Study, name: str, chosen: Mapping[str, str]) -> dict[str, object]:
    """The figure with the size of its picture, or the reason why it cannot be drawn. Http404 for an unknown
    figure."""
    try:
        drawing = draw_figure(study, name, chosen)
    except UnknownFigure as error:
        raise Http404(str(error)) from error
    except ValueError as error:
        return {"problem": str(error)}
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
    """Width and height from the SVG, so that the page can reserve space for it."""
    found = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg[:1000])
    return (round(float(found[1])), round(float(found[2]))) if found else (_NARROW, _NARROW)


def _options(name: str, chosen: Mapping[str, str]) -> list[dict[str, object]]:
    """The figure's options, with a link for each allowed value."""
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
