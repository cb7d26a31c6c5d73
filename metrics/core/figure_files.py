"""A figure in a page and as a file, for every page that shows figures."""

import json
import re
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import get_conditional_response
from rest_framework.response import Response

from metrics.core.charts.figure import CONTENT_TYPES, Figure, render_figure

_MAX_ROWS = 500  # in the table of a figure; the file has all rows
_NARROW = 640  # pixels: a wider figure scrolls in a narrow window, because it would be unreadable if scaled
# the format for drawing in the page; the others are files
_SPECIFICATION = "json"
_DOWNLOADS = ("png", "svg", "pdf", "csv")
_COMPRESSING = GZipMiddleware(lambda request: HttpResponse())


def figure_context(figure: Figure, url: Callable[[str], str]) -> dict[str, object]:
    """What templates/metrics/core/_figure_content.html shows. `url`: format -> the figure's address in it."""
    width, height = svg_size(render_figure(figure, "svg"))
    urls = {fmt: url(fmt) for fmt in (_SPECIFICATION, *_DOWNLOADS)}
    return {
        "figure": figure,
        "width": width,
        "height": height,
        "wide": width > _NARROW,
        "rows": figure.rows[:_MAX_ROWS],
        "left_out": max(0, len(figure.rows) - _MAX_ROWS),
        "urls": urls,
        "downloads": [
            (fmt.upper(), f"{urls[fmt]}{'&' if '?' in urls[fmt] else '?'}download") for fmt in _DOWNLOADS
        ],
    }


def figure_response(request: HttpRequest, figure: Figure, fmt: str, *, filename: str) -> HttpResponse:
    """The file of a figure; with `?download` the browser saves it as `filename` with the format's ending.
    Http404 for an unknown format."""
    if fmt != _SPECIFICATION and fmt not in CONTENT_TYPES:
        raise Http404(f"There is no figure format '{fmt}'.")
    etag = f'"{figure.digest[:32]}-{fmt}"'
    response = get_conditional_response(request, etag=etag)
    if response is None and fmt == _SPECIFICATION:
        response = HttpResponse(json.dumps(figure.spec), content_type="application/json")
    elif response is None:
        response = HttpResponse(render_figure(figure, fmt), content_type=CONTENT_TYPES[fmt])
    response["ETag"] = etag
    # The browser revalidates each time; mostly the reply is a short 304.
    response["Cache-Control"] = "private, no-cache"
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{filename}.{fmt}"'
    _COMPRESSING.process_response(request, response)  # a map is 220 kB of text
    return response


def api_figure(figure: Figure, file_format: str, *, filename: str) -> Response:
    """The file of a figure in the API, to be saved as `filename` with the format's ending."""
    response = Response(render_figure(figure, file_format), content_type=CONTENT_TYPES[file_format])
    response["Content-Disposition"] = f'attachment; filename="{filename}.{file_format}"'
    return response


def svg_size(svg: bytes) -> tuple[int, int]:
    """Width and height from the SVG, so that the page can reserve space for it."""
    found = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg[:1000])
    return (round(float(found[1])), round(float(found[2]))) if found else (_NARROW, _NARROW)
