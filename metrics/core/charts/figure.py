"""What every figure shares: a Vega-Lite specification with its numbers, one style, four file formats.

A figure takes numbers, not studies: what to draw is fetched by metrics/dashboards/figures. Charts stand
on white, so that they read the same in a dark page, in a paper and in print, and they never tell things
apart by colour alone (DESIGN §7).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from django.core.cache import cache

from annotation.exports.formats.text import safe_cell

CONTENT_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
# A drawn figure is named by what is in it, so it can be kept for as long as there is room.
_CACHE_SECONDS = 7 * 24 * 3600
_PNG_SCALE = 3
# The one palette of all figures. Text and lines, on white.
INK = "#22252a"
INK_SOFT = "#585e66"
LINE = "#82868c"
LINE_FAINT = "#c9ccd1"
# A single series.
BAR = "#34517f"
# Things of different kinds: told apart by people with any colour vision (after Okabe and Ito, the yellow
# left out, which is lost on white), in this order, with a shape beside each colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#8b5a2b")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke")
# From little to much: darker all the way, so that it reads in grey too.
SEQUENCE = ("#dbe6f3", "#b1cbe6", "#80a9d5", "#4f83bd", "#2b5d9b", "#163c70", "#081d40")
# Where nothing was asked, and where something was and there is no number.
NOTHING, UNKNOWN = "#ffffff", "#e4e4e4"


class UnknownFormat(ValueError):
    """There is no such file format for figures; the message names those there are."""


@dataclass(frozen=True)
class Figure:
    """A specification with the numbers it shows (`columns`, `rows`) and what to say of it in words.

    `alt` stands for the picture, `notes` beneath it. In the page, a mark of a datum that has a field `link`
    (an address within the program) leads there; in files nothing does.
    """

    name: str
    title: str
    alt: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    spec: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides how the figure looks and what it says."""
        drawn_by = metadata.version("vl-convert-python")
        said = [self.title, self.alt, self.notes, self.columns, self.rows, self.spec, drawn_by]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def apply_style(chart: Any) -> dict[str, Any]:
    """The specification of an Altair chart in the style of all figures."""
    specification: dict[str, Any] = (
        chart.configure(font="Liberation Sans, Arial, Helvetica, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK_SOFT,
            grid=False,
            domainColor=LINE,
            tickColor=LINE,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=220,
            titlePadding=10,
        )
        .configure_legend(
            labelColor=INK,
            titleColor=INK_SOFT,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=260,
            titleLimit=500,
        )
        .configure_title(
            anchor="start", color=INK, subtitleColor=INK_SOFT, fontSize=15, subtitleFontSize=12, offset=14
        )
        .to_dict()
    )
    return specification


def check_format(file_format: str) -> None:
    """Raises UnknownFormat unless figures come in that format."""
    if file_format not in CONTENT_TYPES:
        raise UnknownFormat(
            f"There is no figure format '{file_format}'. There are: {', '.join(CONTENT_TYPES)}."
        )


def render_figure(figure: Figure, file_format: str) -> bytes:
    """The figure as a file: svg, png (three pixels a unit), pdf, or csv with the numbers it shows.

    Raises UnknownFormat. Drawn once for the same content, then taken from the cache.
    """
    check_format(file_format)
    if file_format == "csv":
        return _csv(figure)
    key = f"figure:{figure.digest}:{file_format}"
    drawn: bytes | None = cache.get(key)
    if drawn is None:
        drawn = _draw(figure.spec, file_format)
        cache.set(key, drawn, _CACHE_SECONDS)
    return drawn


def _draw(spec: dict[str, Any], file_format: str) -> bytes:
    # 60 MB of drawing program, for those who draw only
    import vl_convert

    if file_format == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if file_format == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec))
    return bytes(vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE))


def _csv(figure: Figure) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(figure.columns)
    # a text that a spreadsheet would run is defused, as in exports
    writer.writerows(
        [safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in figure.rows
    )
    return out.getvalue().encode()
