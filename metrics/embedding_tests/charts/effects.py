"""Effect sizes with their intervals: one row a test, one colour an encoder."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import COLOURS, INK_SOFT, LINE_FAINT, SHAPES, Figure, apply_style

_WIDTH = 460
_LABEL = 44
"""Characters of a row's label on the axis."""


@dataclass(frozen=True)
class EffectDot:
    """One effect size d with its interval. `row`: the whole name, which tells rows apart; the axis shortens
    it. `cells`: what else the row of the figure's table has."""

    row: str
    series: str
    value: float
    low: float | None
    high: float | None
    cells: tuple[Any, ...]


@dataclass(frozen=True)
class EffectTexts:
    """The texts of the chart; `columns`: headings of the dots' `cells`."""

    name: str
    title: str
    subtitle: tuple[str, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]


def effect_chart(dots: Sequence[EffectDot], texts: EffectTexts) -> Figure:
    """Draw at least one dot; rows and series keep the order of `dots`. A line at 0, and faint ones at Cohen's
    0.2, 0.5 and 0.8 in both directions."""
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    rows, series = (list(dict.fromkeys(getattr(dot, name) for dot in dots)) for name in ("row", "series"))
    several = len(series) > 1
    data = [
        {
            "row": dot.row,
            "series": dot.series,
            "value": dot.value,
            "low": dot.low,
            "high": dot.high,
            "shown": _shown(dot),
        }
        for dot in dots
    ]
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    low, high = min([-0.2, *ends]), max([0.2, *ends])
    room = 0.05 * (high - low)
    domain = [low - room, high + room]
    x = alt.X(
        "value:Q",
        title="effect size d",
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=alt.Axis(tickCount=8, format=".1f", grid=False),
    )
    y = alt.Y(
        "row:N",
        sort=rows,
        title=None,
        scale=alt.Scale(paddingInner=0.25 if several else 0.2, paddingOuter=0.15),
        axis=alt.Axis(
            # a limit in pixels would cut the ends that tell labels apart
            ticks=False,
            domain=False,
            labelPadding=8,
            labelLimit=0,
            labelExpr=f"{json.dumps(row_labels(rows))}[datum.label] || datum.label",
        ),
    )
    legend = (
        alt.Legend(orient="top", direction="horizontal", columns=2, title=None, symbolSize=90)
        if several
        else None
    )
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(series))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(series))]
    colour = alt.Color("series:N", scale=alt.Scale(domain=series, range=colours), legend=legend)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=series, range=shapes), legend=legend)
    tooltip = [
        alt.Tooltip("row:N", title="Test"),
        *([alt.Tooltip("series:N", title="Encoder")] if several else []),
        alt.Tooltip("shown:N", title="d"),
    ]
    lane = alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series))
    base = alt.Chart().encode(y=y, yOffset=lane)
    sizes = [{"size": sign * size} for size in (0.2, 0.5, 0.8) for sign in (-1, 1)]
    inside = [each for each in sizes if domain[0] <= each["size"] <= domain[1]]
    layers = [
        alt.Chart(alt.Data(values=inside)).mark_rule(color=LINE_FAINT, strokeDash=[2, 3]).encode(x="size:Q"),
        alt.Chart(alt.Data(values=[{"size": 0}])).mark_rule(color=INK_SOFT).encode(x="size:Q"),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, color=colour, shape=shape, tooltip=tooltip
        ),
    ]
    height = alt.Step(15, **{"for": "offset"}) if several else alt.Step(22)
    chart = alt.layer(*layers, data=alt.Data(values=tuple(data))).properties(width=_WIDTH, height=height)
    drawn = "; ".join(
        f"{', '.join(part for part in (dot.row, dot.series if several else '') if part)}: {_shown(dot)}"
        for dot in dots
    )
    return Figure(
        name=texts.name,
        title=texts.title,
        alt=f"{texts.title}, of {len(rows)} tests. {drawn}.",
        columns=("test", "encoder", "effect_size", "low", "high", *texts.columns),
        rows=tuple((dot.row, dot.series, dot.value, dot.low, dot.high, *dot.cells) for dot in dots),
        spec=apply_style(chart, texts.title, list(texts.subtitle)),
        notes=texts.notes,
    )


def row_labels(names: Sequence[str]) -> dict[str, str]:
    """Labels for those of the different `names` that are too long for the axis, no two of them alike: the
    beginning; of names with one beginning also the end; of names with both, beginning and place."""
    ends = _LABEL // 2
    labels = {name: name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…" for name in names}
    for shorter in (
        {name: f"{name[: ends - 1]}…{name[-ends:]}" for name in names},
        {name: f"{name[:ends]}… ({place})" for place, name in enumerate(names, start=1)},
    ):
        taken = Counter(labels.values())
        labels |= {name: shorter[name] for name in names if len(name) > _LABEL and taken[labels[name]] > 1}
    return {name: label for name, label in labels.items() if label != name}


def _shown(dot: EffectDot) -> str:
    interval = "" if dot.low is None or dot.high is None else f" [{dot.low:.2f}, {dot.high:.2f}]"
    return f"{dot.value:.2f}{interval}".replace("-", "−")
