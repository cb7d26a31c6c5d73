"""Lines over top-p: one panel for each series of runs, one line for each group (after figure 5 of Wolfe and
Caliskan 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core.charts.figure import COLOURS, LINE_FAINT, SHAPES, Figure, apply_style

_WIDTH, _HEIGHT = 380, 260


@dataclass(frozen=True)
class Point:
    """`k` of `n` texts about images of `group`, sampled with `top_p`."""

    series: str
    group: str
    top_p: float
    value: float
    low: float | None
    high: float | None
    k: int
    n: int


def line_chart(
    points: Sequence[Point], *, title: str, subtitle: Sequence[str], notes: tuple[str, ...]
) -> Figure:
    """Draw at least two points; series and groups keep the order of `points`."""
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    groups = list(dict.fromkeys(point.group for point in points))
    series = list(dict.fromkeys(point.series for point in points))
    values = sorted({point.top_p for point in points})
    data = [{**vars(point), "counted": f"{point.k:,} of {point.n:,}"} for point in points]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(groups))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(groups))]
    legend = alt.Legend(orient="top", direction="horizontal", title=None, labelFontSize=12, symbolSize=90)
    colour = alt.Color("group:N", scale=alt.Scale(domain=groups, range=colours), legend=legend)
    shape = alt.Shape("group:N", scale=alt.Scale(domain=groups, range=shapes), legend=legend)
    x = alt.X(
        "top_p:Q",
        title="top-p",
        scale=alt.Scale(zero=False, nice=False, padding=14),
        axis=alt.Axis(values=values, format=".2~f"),
    )
    y = alt.Y(
        "value:Q",
        title="share of texts that name the group",
        scale=alt.Scale(domainMin=0),
        axis=alt.Axis(format=".0%", grid=True, gridColor=LINE_FAINT, gridOpacity=0.6),
    )
    tooltip = [
        alt.Tooltip("group:N", title="Group"),
        alt.Tooltip("top_p:Q", title="top-p"),
        alt.Tooltip("value:Q", title="Share", format=".1%"),
        alt.Tooltip("counted:N", title="Texts"),
    ]
    base = alt.Chart().encode(x=x, color=colour)
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_point(filled=True, size=60, opacity=1).encode(y=y, shape=shape, tooltip=tooltip),
    ]
    chart = alt.layer(*layers, data=alt.Data(values=tuple(data))).properties(width=_WIDTH, height=_HEIGHT)
    if len(series) > 1:
        header = alt.Header(title=None, labelFontSize=13, labelAnchor="start")
        chart = chart.facet(column=alt.Column("series:N", sort=series, header=header), spacing=24)
    said = "; ".join(f"{one.series}, {one.group}, top-p {one.top_p:g}: {one.value:.4g}" for one in points)
    return Figure(
        name="marking",
        title=title,
        alt=f"{title}: lines of {len(groups)} groups over top-p. {said}.",
        columns=("series", "group", "top_p", "value", "low", "high", "k", "n"),
        rows=tuple(
            (one.series, one.group, one.top_p, one.value, one.low, one.high, one.k, one.n) for one in points
        ),
        spec=apply_style(chart, title, list(subtitle)),
        notes=notes,
    )
