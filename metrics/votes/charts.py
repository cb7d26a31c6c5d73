"""Dot charts: one row for each region or group, one lane for each series, one panel for each pool.

Used for the counterparts of SeeGULL's figures of votes and offensiveness.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metrics.core.charts.figure import COLOURS, INK, INK_SOFT, LINE_FAINT, SHAPES, Figure, apply_style
from metrics.core.stats.means import HIGHEST, LOWEST

Unit = Literal["number", "share", "score"]
_LANE = 15
_WIDTH = {1: 460, 2: 320, 3: 240}


@dataclass(frozen=True)
class Dot:
    """One number, placed by `row`, `series` and `panel`; `k` of `n` if it is a count."""

    row: str
    series: str
    value: float
    n: int
    k: int | None = None
    low: float | None = None
    high: float | None = None
    panel: str = ""
    link: str = ""


@dataclass(frozen=True)
class Plot:
    """The labels of a chart. `n_title` says what n counts, `row_title` what a row is."""

    name: str
    title: str
    subtitle: tuple[str, ...]
    axis_title: str
    row_title: str
    n_title: str
    unit: Unit
    notes: tuple[str, ...] = ()


def dot_chart(points: Sequence[Dot], plot: Plot) -> Figure:
    """Draw at least one point; rows, series and panels keep the order of `points`.

    Series differ by colour, shape and lane. Numbers have a stem from 0; shares and scores have their
    interval. The tooltip gives the number with its interval and n.
    """
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    rows, series, panels = (
        list(dict.fromkeys(getattr(point, name) for point in points)) for name in ("row", "series", "panel")
    )
    data = [_datum(point, plot.unit) for point in points]
    several = len(series) > 1
    with_text = plot.unit == "number" or not several
    domain, ticks = _axis(points, plot.unit, text=with_text)
    y = alt.Y(
        "row:N",
        sort=rows,
        title=None,
        scale=alt.Scale(paddingInner=0.25 if several else 0.2, paddingOuter=0.15),
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8, labelLimit=200),
    )
    lane = alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series))
    x = alt.X(
        "value:Q",
        title=plot.axis_title,
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=alt.Axis(
            labelFlush=False,
            **ticks,
            format={"number": ",d", "share": ".0%", "score": ".1f"}[plot.unit],
            grid=True,
            gridColor=LINE_FAINT,
            gridOpacity=0.6,
        ),
    )
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(series))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(series))]
    legend = None
    if several:
        legend = alt.Legend(orient="top", direction="horizontal", title=None, labelFontSize=12, symbolSize=90)
    colour = alt.Color("series:N", scale=alt.Scale(domain=series, range=colours), legend=legend)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=series, range=shapes), legend=legend)
    tooltip = [
        alt.Tooltip("row:N", title=plot.row_title),
        *([alt.Tooltip("panel:N", title="Pool")] if len(panels) > 1 else []),
        *([alt.Tooltip("series:N", title="Of")] if several else []),
        alt.Tooltip("shown:N", title={"number": "Number", "share": "Share", "score": "Mean"}[plot.unit]),
        alt.Tooltip("counted:N", title=plot.n_title),
    ]
    base = alt.Chart().encode(y=y, yOffset=lane)
    layers = []
    if plot.unit == "number":
        layers.append(base.mark_rule(strokeWidth=1.5).encode(x=x, x2=alt.datum(0), color=colour))
    else:
        layers.append(base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", color=colour))
    if plot.unit == "score":
        zero = alt.Chart().mark_rule(color=INK_SOFT, strokeDash=[4, 3]).encode(x=alt.datum(0))
        layers.insert(0, zero)
    layers.append(
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, color=colour, shape=shape, tooltip=tooltip
        )
    )
    if with_text:
        # twice: the white outline separates the text from the grid lines
        for style in ({"stroke": "white", "strokeWidth": 3, "color": "white"}, {"color": INK}):
            text = base.mark_text(align="left", baseline="middle", dx=8, fontSize=10, **style)
            layers.append(text.encode(x=alt.X("end:Q"), text="text:N"))
    size: Mapping[str, Any] = {
        "width": _WIDTH[min(len(panels), 3)],
        "height": alt.Step(_LANE, **{"for": "offset"}) if several else alt.Step(22),
    }
    chart: Any = alt.layer(*layers, data=alt.Data(values=tuple(data))).properties(**size)
    if len(panels) > 1:
        header = alt.Header(title=None, labelFontSize=13, labelColor=INK, labelAnchor="start", labelPadding=6)
        chart = chart.facet(column=alt.Column("panel:N", sort=panels, header=header), spacing=24)
    return Figure(
        name=plot.name,
        title=plot.title,
        alt=f"{plot.title}: {plot.axis_title}, of {len(rows)} rows. {_alt_text(points)}.",
        columns=(plot.row_title.lower(), "pool", "series", "value", "low", "high", "k", "n"),
        rows=tuple(
            (point.row, point.panel, point.series, point.value, point.low, point.high, point.k, point.n)
            for point in points
        ),
        spec=apply_style(chart, plot.title, list(plot.subtitle)),
        notes=plot.notes,
    )


def _datum(point: Dot, unit: Unit) -> dict[str, Any]:
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f" [{_number(point.low, unit)}, {_number(point.high, unit)}]"
    value = _number(point.value, unit)
    counted = f"{point.n:,}" if point.k is None else f"{point.k:,} of {point.n:,}"
    datum: dict[str, Any] = {
        "row": point.row,
        "series": point.series,
        "panel": point.panel,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "n": point.n,
        "end": point.value if unit == "number" or point.high is None else point.high,
        "text": {"number": value, "share": f"{value}  ({counted})", "score": f"{value}  (n = {point.n:,})"}[
            unit
        ],
        "shown": value + interval,
        "counted": counted,
    }
    return datum | ({"link": point.link} if point.link else {})


def _number(value: float, unit: Unit) -> str:
    shown = {"number": f"{value:,.0f}", "share": f"{100 * value:.1f} %", "score": f"{value:.2f}"}[unit]
    return shown.replace("-", "−")


def _axis(points: Sequence[Dot], unit: Unit, *, text: bool) -> tuple[list[float], dict[str, Any]]:
    """The domain and about six ticks. The domain starts at 0 unless values are negative and leaves room for
    the `text` of the longest bar; no tick is outside the possible values."""
    ends = [end for point in points for end in (point.value, point.low, point.high) if end is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if unit == "number":
        return [0.0, max(1.0, 1.16 * high)], {"tickCount": 6}
    if unit == "share":
        top = max(0.05, (1.3 if text else 1.04) * high)
        return [0.0, top], {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if top > 1 else {"tickCount": 6}
    room = (high - low or 1.0) * 0.05
    domain = [low - room if low < 0 else 0.0, high + (6 * room if text else room)]
    step = 0.5 if high - low < 3 else 1.0
    ticks = [tick * step for tick in range(round(LOWEST / step), round(HIGHEST / step) + 1)]
    return domain, {"values": [tick for tick in ticks if domain[0] <= tick <= domain[1]]}


def _alt_text(points: Sequence[Dot]) -> str:
    return "; ".join(
        f"{', '.join(part for part in (point.row, point.panel, point.series) if part)}: "
        f"{point.value:.4g} (n {point.n:,})"
        for point in points
    )
