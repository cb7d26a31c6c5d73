"""Shared by all figures: a Vega-Lite specification with its numbers, one style, file formats (DESIGN §7)."""

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from django.core.cache import cache

from annotation.core.csv_text import safe_cell

CONTENT_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
# The cache key is a digest of the content, so an entry never becomes wrong.
_CACHE_SECONDS = 7 * 24 * 3600
_PNG_SCALE = 3
# The palette of all figures. Text and lines, on white.
INK = "#22252a"
INK_SOFT = "#585e66"
LINE = "#82868c"
LINE_FAINT = "#c9ccd1"
# A single series.
BAR = "#34517f"
# Categories: distinguishable with any colour vision (after Okabe and Ito, without yellow, which is invisible
# on white), in this order, each colour with a shape.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#8b5a2b")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke")
# From low to high: always darker, so that it also works in grey.
SEQUENCE = ("#dbe6f3", "#b1cbe6", "#80a9d5", "#4f83bd", "#2b5d9b", "#163c70", "#081d40")
# No question was asked; questions were asked, but there is no number.
NOTHING, UNKNOWN = "#ffffff", "#e4e4e4"


class UnknownFormat(ValueError):
    """There is no such file format for figures. The message lists the formats."""


@dataclass(frozen=True)
class Figure:
    """A specification with the numbers it shows (`columns`, `rows`) and its description.

    `alt` replaces the picture, `notes` are shown below it. On the page, a mark whose datum has a field `link`
    (a URL of this program) is a link; in files there are no links.
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
        renderer_version = metadata.version("vl-convert-python")
        content = [self.title, self.alt, self.notes, self.columns, self.rows, self.spec, renderer_version]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# The style of all figures, as Vega-Lite has it.
_TEXT = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
_CONFIG: dict[str, Any] = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "labelColor": INK,
        "titleColor": INK_SOFT,
        "grid": False,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 220,
        "titlePadding": 10,
    },
    "legend": {**_TEXT, "labelColor": INK, "titleColor": INK_SOFT, "labelLimit": 260, "titleLimit": 500},
    "title": {
        "anchor": "start",
        "color": INK,
        "subtitleColor": INK_SOFT,
        "fontSize": 15,
        "subtitleFontSize": 12,
        "offset": 14,
    },
}


def apply_style(
    chart: Any,
    title: str = "",
    subtitle: Sequence[str] | str = (),
    *,
    spacing: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """The specification of an Altair chart with its title, in the style of all figures.

    A list has charts that stand below one another, and lists of charts side by side; `spacing`: pixels
    between those below and those beside one another. altair copies a chart of several charts for each
    property that it is given, and once more for each chart in it: lists and the style are put together
    here."""
    style: dict[str, Any] = {"background": "white", "padding": 14, "config": _CONFIG}
    if title:
        subtitle = subtitle if isinstance(subtitle, str) else list(subtitle)
        style["title"] = {"text": title, "subtitle": subtitle}
    return _specification(chart, style, spacing)


def _specification(chart: Any, style: dict[str, Any], spacing: tuple[int, int] | None) -> dict[str, Any]:
    """Unchecked (drawing.py)."""
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    of_list = isinstance(chart, list)
    found: dict[str, Any] = (alt.vconcat() if of_list else chart).to_dict(validate=False)
    config = dict(found.get("config", {}))
    for name, value in style["config"].items():
        config[name] = {**config.get(name, {}), **value} if isinstance(value, dict) else value
    found |= {**style, "config": config}
    return found | _parts(chart, "vconcat", spacing) if of_list else found


def _parts(charts: list[Any], name: str, spacing: tuple[int, int] | None) -> dict[str, Any]:
    found: dict[str, Any] = {name: [_part(one, spacing) for one in charts]}
    return found if spacing is None else {**found, "spacing": spacing[name == "hconcat"]}


def _part(chart: Any, spacing: tuple[int, int] | None) -> dict[str, Any]:
    if isinstance(chart, list):
        return _parts(chart, "hconcat", spacing)
    found: dict[str, Any] = chart.to_dict(validate=False, context={"top_level": False})
    return found


def check_format(file_format: str) -> None:
    """Raise UnknownFormat unless figures are available in that format."""
    if file_format not in CONTENT_TYPES:
        raise UnknownFormat(
            f"There is no figure format '{file_format}'. There are: {', '.join(CONTENT_TYPES)}."
        )


def render_figure(figure: Figure, file_format: str) -> bytes:
    """The figure as a file: svg, png (three pixels per unit), pdf, or csv with the numbers it shows. Raises
    UnknownFormat. Cached: the same content is drawn once.
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
    # imported here because it takes 60 MB
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
    # as in exports: text that a spreadsheet would run as a formula is made harmless
    writer.writerows(
        [safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in figure.rows
    )
    return out.getvalue().encode()


def marked_title(study: str, *, simulated: bool) -> str:
    """The title of a study, marked as simulated unless it already says so.

    Examples
    --------
    >>> marked_title("Trial", simulated=True), marked_title("Simulated trial", simulated=True)
    ('Trial – simulated answers', 'Simulated trial')
    """
    return f"{study} – simulated answers" if simulated and "simulated" not in study.lower() else study


def answered_by(*, simulated: bool) -> str:
    """The cell of the column `answers`."""
    return "simulated" if simulated else "given by people"
