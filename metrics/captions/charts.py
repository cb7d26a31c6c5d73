"""Top attributes of groups or regions: counterparts of ViSAGe's figure 3 and SeeGULL's figures 10 and 11."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import BAR, INK, INK_SOFT, Figure, apply_style

_WIDTH = 190
_STEP = 22
# least and greatest width of the attributes' names
_LABELS = (60, 170)
_LETTER = 6.4
# width of a panel relative to its longest bar, with room for the number
_MARGIN = 1.75


@dataclass(frozen=True)
class RankedBar:
    """One bar. `known`: whether the attribute is a stereotype of the group; None if all of them are."""

    attribute: str
    value: float
    k: int
    n: int
    low: float | None = None
    high: float | None = None
    known: bool | None = None
    link: str = ""

    @property
    def end(self) -> float:
        return self.value if self.high is None else max(self.value, self.high)


@dataclass(frozen=True)
class Panel:
    """The top attributes of one `group` (or region) by one measure, the highest first. `counts` says what k
    and n count; `empty` is shown if there are no bars."""

    group: str
    measure: str
    counts: str
    bars: tuple[RankedBar, ...]
    empty: str = "none"
    digits: int = 3


@dataclass(frozen=True)
class RankingTexts:
    """The texts of a figure. `panel_column`: the table's column for what a panel is about."""

    name: str
    title: str
    subtitle: tuple[str, ...]
    panel_column: str
    answers: str
    notes: tuple[str, ...] = ()


def ranking_chart(panels: Sequence[Panel], texts: RankingTexts, *, columns: int = 2) -> Figure:
    """Draw at least one panel of bars, `columns` side by side; panels of the same measure share their scale.

    A bar is filled if its attribute is a stereotype of the group (or all are), else outlined. A thin line is
    its 95 % interval, if it has one.
    """
    tops: dict[str, float] = {}
    for panel in panels:
        end = max([bar.end for bar in panel.bars], default=0.0)
        tops[panel.measure] = max(tops.get(panel.measure, 0.0), _MARGIN * end)
    longest = max((len(bar.attribute) for panel in panels for bar in panel.bars), default=0)
    template = _template(
        labels=min(max(_LABELS[0], _LETTER * longest + 8), _LABELS[1]),
        intervals=any(bar.low is not None for panel in panels for bar in panel.bars),
    )
    parts = {
        "concat": [_panel(panel, template, tops[panel.measure]) for panel in panels],
        "columns": columns,
        "spacing": {"row": 18, "column": 34},
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
        "title": {"text": texts.title, "subtitle": [*texts.subtitle, *texts.notes]},
    }
    return Figure(
        name=texts.name,
        title=texts.title,
        alt=f"Bars, the highest first. {'. '.join(texts.subtitle)}. {'; '.join(map(_alt_text, panels))}.",
        columns=(texts.panel_column, "measure", "rank", *_BAR_COLUMNS, "answers"),
        rows=tuple(
            (
                *(panel.group, panel.measure, rank, bar.attribute, bar.value, bar.low, bar.high),
                *(bar.k, bar.n, _KNOWN[bar.known], texts.answers),
            )
            for panel in panels
            for rank, bar in enumerate(panel.bars, 1)
        ),
        spec={**{key: template[key] for key in _FIGURE_KEYS}, **parts},
        notes=texts.notes,
    )


_BAR_COLUMNS = ("attribute", "value", "low", "high", "k", "n", "stereotype_of_the_group")
_KNOWN = {None: None, True: "yes", False: "no"}


def _template(*, labels: float, intervals: bool) -> dict[str, Any]:
    """The specification of one panel without its data and title, in the style of all figures.

    It is made once, because building and validating a chart for each panel takes seconds. What differs
    between panels is in their data: the order, and `share`, the bar's share of its panel's width.
    """
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    base = alt.Chart().encode(
        y=alt.Y(
            "attribute:N",
            sort=alt.EncodingSortField("rank", op="min"),
            title=None,
            axis=alt.Axis(
                ticks=False,
                domain=False,
                labelPadding=6,
                labelLimit=labels - 6,
                minExtent=labels,
                maxExtent=labels,
            ),
        ),
        x=alt.X("share:Q", title=None, axis=None, scale=alt.Scale(domain=[0, 1], nice=False)),
        tooltip=[
            alt.Tooltip("attribute:N", title="Attribute"),
            alt.Tooltip("group:N", title="Of"),
            alt.Tooltip("measure:N", title="Measure"),
            alt.Tooltip("shown:N", title="Value"),
            alt.Tooltip("counted:N", title="k of n"),
            alt.Tooltip("known:N", title="Stereotype of the group"),
        ],
    )
    filled = alt.condition("datum.known !== 'no'", alt.value(BAR), alt.value("white"))
    # with a white outline, so that the line is visible on a dark bar
    lines = [
        base.mark_rule(color=colour, strokeWidth=width).encode(x=alt.X("low_share:Q"), x2="high_share:Q")
        for colour, width in (("white", 3.2), (INK, 1.2))
        if intervals
    ]
    chart = alt.layer(
        base.mark_bar(height=14, stroke=BAR, strokeWidth=1).encode(color=filled),
        *lines,
        base.mark_text(align="left", baseline="middle", dx=5, color=INK, fontSize=11).encode(
            x=alt.X("end_share:Q"), text="text:N"
        ),
    )
    return apply_style(chart.properties(width=_WIDTH, height=alt.Step(_STEP), data=alt.Data(values=[])))


_FIGURE_KEYS = ("$schema", "config", "background", "padding")
"""Keys of the template that belong to the whole figure."""


def _panel(panel: Panel, template: dict[str, Any], top: float) -> dict[str, Any]:
    title = {
        "text": panel.group,
        "subtitle": panel.measure,
        "anchor": "start",
        "frame": "group",
        "fontSize": 13,
        "subtitleFontSize": 11,
        "subtitleColor": INK_SOFT,
        "offset": 6,
    }
    if not panel.bars:
        return {
            "data": {"values": [{"text": panel.empty}]},
            "mark": {
                "type": "text",
                "align": "left",
                "color": INK_SOFT,
                "fontSize": 12,
                "fontStyle": "italic",
            },
            "encoding": {"text": {"field": "text", "type": "nominal"}, "x": {"value": 0}},
            "width": _WIDTH,
            "height": _STEP,
            "title": title,
        }
    values = [_datum(bar, panel, rank, top) for rank, bar in enumerate(panel.bars, 1)]
    own = {key: part for key, part in template.items() if key not in _FIGURE_KEYS}
    return {**own, "data": {"values": values}, "title": title}


def _datum(bar: RankedBar, panel: Panel, rank: int, top: float) -> dict[str, Any]:
    """`top`: the value at the full width of the panel."""
    value = f"{bar.value:.{panel.digits}f}"
    interval = ""
    if bar.low is not None and bar.high is not None:
        interval = f", 95 % {bar.low:.{panel.digits}f} to {bar.high:.{panel.digits}f}"
    low = bar.value if bar.low is None else bar.low
    high = bar.value if bar.high is None else bar.high
    datum: dict[str, Any] = {
        "rank": rank,
        "attribute": bar.attribute,
        "group": panel.group,
        "measure": panel.measure,
        "value": bar.value,
        "low": bar.low,
        "high": bar.high,
        "n": bar.n,
        "share": bar.value / top,
        "low_share": low / top,
        "high_share": high / top,
        "end_share": bar.end / top,
        "text": f"{value}  ({bar.k:,}/{bar.n:,})",
        "shown": value + interval,
        "counted": f"{bar.k:,} of {bar.n:,} ({panel.counts})",
        "known": _KNOWN[bar.known] or "not asked",
    }
    return {**datum, "link": bar.link} if bar.link else datum


def _alt_text(panel: Panel) -> str:
    bars = ", ".join(f"{bar.attribute} {bar.value:.{panel.digits}f}" for bar in panel.bars) or panel.empty
    return f"{panel.group}, {panel.measure}: {bars}"
