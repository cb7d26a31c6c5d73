"""The curves of a plan: a row of charts for each measure, over images, annotators and overlap."""

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.core.charts.figure import BAR, COLOURS, INK, Figure, apply_style
from metrics.planning.curves import VARIED, Point
from metrics.planning.sentences import COLUMNS, NAMES, Cell, shown
from metrics.planning.stats import POWER

_WIDTH, _HEIGHT = 170, 120
_AXES = {"images": "Images of a group", "people": "Annotators", "overlap": "Answers for each image"}
_UNITS = {
    "l_stereo": "± points",
    "theta": "factor",
    "alpha": "± α",
    "difference": "± points",
    POWER: "per cent",
}
_PER_CENT = ("l_stereo", "difference", POWER)


def plan_chart(
    curves: Mapping[str, Sequence[Point]], rows: Sequence[Mapping[str, Cell]], *, title: str, subtitle: str
) -> Figure:
    """Half-widths and power over each of VARIED, with the other two as chosen; the chosen design is marked.
    `rows`: the numbers as a table."""
    from metrics.core.charts.drawing import alt  # takes most of a second to import

    measures = list(curves["images"][0].values)
    panels = [[_panel(alt, name, varied, curves[varied]) for varied in VARIED] for name in measures]
    columns = tuple(name for name in COLUMNS if any(row[name] is not None for row in rows))
    return Figure(
        name="plan",
        title=title,
        alt=f"{title}. {_described(curves, measures)}",
        columns=columns,
        rows=tuple(tuple(row[name] for name in columns) for row in rows),
        spec=apply_style(panels, title, subtitle),
        notes=("Curves are smoothed. The diamond is the chosen design.",),
    )


def _panel(alt: Any, name: str, varied: str, points: Sequence[Point]) -> Any:
    by = 100 if name in _PER_CENT else 1
    data = [
        {
            "x": point.x,
            "y": None if point.values[name] != point.values[name] else by * point.values[name],
            "shown": shown(name, point.values[name]),
        }
        for point in points
    ]
    chosen = next(index for index, point in enumerate(points) if point.is_chosen)
    start = 1 if name == "theta" else 0
    x = alt.X("x:Q", title=_AXES[varied], scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickCount=5))
    top = {"domainMax": 100} if name == POWER else {}
    y = alt.Y("y:Q", title=_UNITS[name], scale=alt.Scale(domainMin=start, **top), axis=alt.Axis(tickCount=4))
    tooltip = [alt.Tooltip("x:Q", title=_AXES[varied]), alt.Tooltip("shown:N", title=NAMES[name])]
    base = alt.Chart(alt.Data(values=tuple(data))).transform_filter("isValid(datum.y)").encode(x=x, y=y)
    mark = alt.Chart(alt.Data(values=[data[chosen]])).transform_filter("isValid(datum.y)").encode(x=x, y=y)
    return alt.layer(
        base.mark_line(strokeWidth=1.6, color=BAR),
        base.mark_point(filled=True, size=36, opacity=1, color=BAR).encode(tooltip=tooltip),
        mark.mark_point(filled=True, size=120, opacity=1, shape="diamond", color=COLOURS[1]).encode(
            tooltip=tooltip
        ),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(NAMES[name], fontSize=12, color=INK, fontWeight="normal", offset=6),
    )


def _described(curves: Mapping[str, Sequence[Point]], measures: Sequence[str]) -> str:
    lines = []
    for name in measures:
        for varied in VARIED:
            each = "; ".join(f"{point.x}: {shown(name, point.values[name])}" for point in curves[varied])
            lines.append(f"{NAMES[name]} over {_AXES[varied].lower()}: {each}.")
    return " ".join(lines)
