"""Charts of brightness: its change over the strength by group, or its mean by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import COLOURS, INK, INK_SOFT, LINE_FAINT, SHAPES, Figure, apply_style

_WIDTH, _HEIGHT, _LANE = 460, 300, 26
_SHIFT = 0.006
"""How far the points of two groups lie apart at one strength, so that their intervals do not overlap."""
_TOOLTIPS = {"group": "Group", "strength": "Strength", "shown": "Value", "n": "Images"}


@dataclass(frozen=True)
class Point:
    """A number of a group, perhaps at a strength; `n`: images."""

    group: str
    value: float
    low: float | None
    high: float | None
    n: int
    strength: float | None = None


def line_chart(
    points: Sequence[Point], *, name: str, title: str, subtitle: Sequence[str], notes: tuple[str, ...]
) -> Figure:
    """One line for each group over the strengths, with intervals; change in per cent. Groups keep the order
    of the points, and differ by colour and shape."""
    from metrics.core.charts.drawing import alt  # takes most of a second to import

    groups = list(dict.fromkeys(point.group for point in points))
    middle = (len(groups) - 1) / 2
    data = [
        {**_datum(point, " %"), "x": (point.strength or 0) + _SHIFT * (groups.index(point.group) - middle)}
        for point in points
    ]
    colour, shape = _scales(alt, groups)
    x = alt.X("x:Q", title="Strength of the change", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(alt.Data(values=tuple(data))).encode(x=x, color=colour)
    zero = alt.Chart(alt.Data(values=[{"y": 0}])).mark_rule(color=LINE_FAINT).encode(y="y:Q")
    y = alt.Y("value:Q", title="Change of brightness, per cent")
    chart = alt.layer(
        zero,
        base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.2).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=y),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            y=y, shape=shape, tooltip=[alt.Tooltip(f"{field}:N", title=t) for field, t in _TOOLTIPS.items()]
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)
    return Figure(
        name=name,
        title=title,
        alt=f"{title}, by group and strength. {_described(points, ' %')}.",
        columns=("group", "strength", "change", "low", "high", "n"),
        rows=tuple((one.group, one.strength, one.value, one.low, one.high, one.n) for one in points),
        spec=apply_style(chart, title, list(subtitle)),
        notes=notes,
    )


def group_chart(
    points: Sequence[Point], *, name: str, title: str, subtitle: Sequence[str], notes: tuple[str, ...]
) -> Figure:
    """One row for each group with its mean brightness and interval, from black to white."""
    from metrics.core.charts.drawing import alt  # takes most of a second to import

    groups = list(dict.fromkeys(point.group for point in points))
    data = [_datum(point, "") for point in points]
    title_x = "Mean brightness, 0 (black) to 255 (white)"
    scale = alt.Scale(domain=[0, 255], nice=False)
    x = alt.X("value:Q", title=title_x, scale=scale, axis=alt.Axis(values=[*range(0, 201, 50), 255]))
    y = alt.Y("group:N", title="Group", sort=groups, axis=alt.Axis(titleAngle=0, titleAnchor="start"))
    base = alt.Chart(alt.Data(values=tuple(data))).encode(y=y)
    tooltips = [alt.Tooltip(f"{field}:N", title=t) for field, t in _TOOLTIPS.items() if field != "strength"]
    chart = alt.layer(
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.4, color=INK_SOFT)
        .encode(x=alt.X("low:Q", title=title_x), x2="high:Q"),
        base.mark_point(filled=True, size=70, opacity=1, color=COLOURS[0]).encode(x=x, tooltip=tooltips),
        base.mark_text(align="left", dx=9, dy=-8, color=INK, fontSize=11).encode(x=x, text="shown:N"),
    ).properties(width=_WIDTH, height=alt.Step(_LANE))
    return Figure(
        name=name,
        title=title,
        alt=f"{title}, by group. {_described(points, '')}.",
        columns=("group", "brightness", "low", "high", "n"),
        rows=tuple((one.group, one.value, one.low, one.high, one.n) for one in points),
        spec=apply_style(chart, title, list(subtitle)),
        notes=notes,
    )


def _scales(alt: Any, groups: Sequence[str]) -> tuple[Any, Any]:
    """Colour and shape of each group, in one legend. After eight groups they come again."""

    def ranged(values: Sequence[str]) -> list[str]:
        return [values[place % len(values)] for place in range(len(groups))]

    legend = alt.Legend(title="Group", symbolOpacity=1)
    return (
        alt.Color("group:N", legend=legend, scale=alt.Scale(domain=list(groups), range=ranged(COLOURS))),
        alt.Shape("group:N", legend=legend, scale=alt.Scale(domain=list(groups), range=ranged(SHAPES))),
    )


def _datum(point: Point, unit: str) -> Mapping[str, Any]:
    return {
        "group": point.group,
        "strength": point.strength,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "n": f"{point.n:,}",
        "shown": _shown(point, unit),
    }


def _shown(point: Point, unit: str) -> str:
    signed = "+.1f" if unit else ".1f"
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f" [{point.low:{signed}}, {point.high:{signed}}]"
    return f"{point.value:{signed}}{unit}{interval}".replace("-", "−")


def _described(points: Sequence[Point], unit: str) -> str:
    return "; ".join(
        f"{one.group}{'' if one.strength is None else f' at strength {one.strength:g}'}: {_shown(one, unit)}"
        for one in points
    )
