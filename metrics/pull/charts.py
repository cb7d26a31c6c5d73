"""Scatter plot of stereotypical pull, one point per region or per group (counterpart of ViSAGe's figure
5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import COLOURS, INK_SOFT, LINE_FAINT, SHAPES, Figure, apply_style

_WIDTH, _HEIGHT = 520, 380
_MARGIN = 0.08  # share of the axis beyond the outermost interval
_NO_REGION = "no region"
_OWN = "this study"
# A stroke has no area, so a filled point of this shape would be invisible.
_SHAPES = (*(shape for shape in SHAPES if shape != "stroke"), "triangle-left")


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; None if it has none."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return _number(self.value) + (
            "" if self.low is None or self.high is None else f" [{_number(self.low)}, {_number(self.high)}]"
        )


@dataclass(frozen=True)
class PullPoint:
    """One point: a region, or an identity group of the region. `n`: its number of groups or images, None if
    not published. `pulled`: how many groups of the region are pulled."""

    name: str
    region: str
    x: Estimate
    y: Estimate
    n: int | None
    pulled: int | None = None
    link: str = ""


@dataclass(frozen=True)
class PublishedPoints:
    """Points printed in a paper, drawn as outlines next to those of a study. `name` is a short name of the
    paper; `notes` are shown below the title and contain the citation."""

    points: Sequence[PullPoint]
    name: str
    notes: tuple[str, ...]


def pull_chart(
    points: Sequence[PullPoint],
    *,
    by: str,
    study: str,
    notes: tuple[str, ...] = (),
    published: PublishedPoints | None = None,
) -> Figure:
    """Plot x = S(d,s) − S(d,ns) against y = S(s,ns) (PROTOCOL §9; ViSAGe, figure 5) for at least one point.

    Right of the line at 0, default images are more like the stereotypical ones. `by` is 'region' or 'group':
    what a point shows. Colour and shape depend on the region; the tooltip names the point. Published points
    are outlined and linked to the study's point of the same name.
    """
    # imported here because altair takes most of a second
    from metrics.core.charts.drawing import alt

    published_points = published.points if published else ()
    all_points = [*points, *published_points]
    if published:
        notes += published.notes
    regions = sorted({point.region or _NO_REGION for point in all_points})
    data = [_datum(point, by) for point in points]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(regions))]
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(regions))]
    colour = alt.Color(
        "region:N",
        title="Region",
        scale=alt.Scale(domain=regions, range=colours),
        legend=alt.Legend(
            symbolType="circle", symbolSize=90, symbolStrokeWidth=0, symbolOpacity=1, labelLimit=180
        ),
    )
    shape = alt.Shape("region:N", title="Region", scale=alt.Scale(domain=regions, range=shapes))
    tooltip = [
        *([alt.Tooltip("source:N", title="Source")] if published else []),
        alt.Tooltip("name:N", title="Region" if by == "region" else "Group"),
        *([] if by == "region" else [alt.Tooltip("region:N", title="Region")]),
        alt.Tooltip("x_shown:N", title="x = S(d, s) − S(d, ns)"),
        alt.Tooltip("y_shown:N", title="y = S(s, ns)"),
        alt.Tooltip("n_shown:N", title="n"),
    ]
    base = alt.Chart(alt.Data(values=tuple(data))).encode(
        x=alt.X(
            "x:Q",
            title="x = S(d, s) − S(d, ns)   (right of 0: default images pulled to the stereotypical)",
            scale=alt.Scale(
                domain=_domain([point.x for point in all_points], zero=True), nice=False, zero=False
            ),
            axis=alt.Axis(tickCount=7),
        ),
        y=alt.Y(
            "y:Q",
            title="y = S(s, ns)",
            scale=alt.Scale(domain=_domain([point.y for point in all_points]), nice=False, zero=False),
            axis=alt.Axis(tickCount=7),
        ),
        color=colour,
    )
    faint = 0.75 if by == "region" else 0.35
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=INK_SOFT, strokeDash=[4, 3])
    size = 110 if by == "region" else 55
    below, above = [], []
    if published:
        links = base.properties(data=alt.Data(values=tuple(_links_to_own(points, published_points))))
        below.append(links.mark_rule(opacity=0.8, strokeDash=[1, 3]).encode(x2="x_own", y2="y_own"))
        outlined = base.properties(
            data=alt.Data(values=tuple(_datum(point, by, published.name) for point in published_points))
        ).mark_point(filled=False, opacity=1, size=size, strokeWidth=1.6)
        above.append(outlined.encode(shape=shape, tooltip=tooltip))
    chart = alt.layer(
        zero.encode(x=alt.X("zero:Q")),
        *below,
        base.mark_rule(opacity=faint).encode(x=alt.X("x_low:Q"), x2="x_high:Q"),
        base.mark_rule(opacity=faint).encode(y=alt.Y("y_low:Q"), y2="y_high:Q"),
        *above,
        base.mark_point(filled=True, opacity=1, size=size, stroke="white", strokeWidth=0.6).encode(
            shape=shape, tooltip=tooltip
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)
    spec = apply_style(chart, "Stereotypical pull", [f"{study}; {_count_label(points, by)}", *notes])
    spec["config"]["axis"] |= {"grid": True, "gridColor": LINE_FAINT, "gridOpacity": 0.5}
    right = sum(point.x.value > 0 for point in points)
    columns: tuple[str, ...] = _COLUMNS[by]
    rows = [_row(point, by) for point in points]
    descriptions = [_describe_points(points)]
    if published:
        columns = (*columns, "source")
        rows = [
            *((*row, _OWN) for row in rows),
            *((*_row(point, by), published.name) for point in published_points),
        ]
        descriptions.append(f"{published.name}: {_describe_points(published_points)}")
    return Figure(
        name="pull",
        title="Stereotypical pull",
        alt=(
            f"Scatter plot of {_count_label(points, by)}: {right} of {len(points)} points lie right of 0, "
            "where default images are more like the stereotypical than the other described ones. "
            f"{'. '.join(descriptions)}."
        ),
        columns=columns,
        rows=tuple(rows),
        spec=spec,
        notes=notes,
    )


def _describe_points(points: Sequence[PullPoint]) -> str:
    return "; ".join(f"{point.name}: x {point.x}, y {point.y}" for point in points)


def _links_to_own(points: Sequence[PullPoint], published: Sequence[PullPoint]) -> list[dict[str, Any]]:
    """Lines from each published point to the study's point of the same name."""
    links = []
    for point in published:
        for own in points:
            if (own.name, own.region) == (point.name, point.region):
                line = {"x": point.x.value, "y": point.y.value, "x_own": own.x.value, "y_own": own.y.value}
                links.append({"region": point.region or _NO_REGION, **line})
    return links


_NUMBERS = ("x", "x_low", "x_high", "y", "y_low", "y_high")
_COLUMNS = {
    "region": ("region", "groups", "groups_pulled", *_NUMBERS),
    "group": ("identity", "region", "images", *_NUMBERS),
}


def _datum(point: PullPoint, by: str, source: str = _OWN) -> dict[str, Any]:
    count = "not published" if point.n is None else f"{point.n} images"
    if by == "region":
        count = f"{point.n} group{'s' if point.n != 1 else ''}, {point.pulled} pulled"
    datum: dict[str, Any] = {
        "name": point.name or _NO_REGION,
        "region": point.region or _NO_REGION,
        **dict(zip(_NUMBERS, _numbers(point), strict=True)),
        "x_shown": str(point.x),
        "y_shown": str(point.y),
        "n_shown": count,
        "source": source,
    }
    return datum | ({"link": point.link} if point.link else {})


def _row(point: PullPoint, by: str) -> tuple[Any, ...]:
    if by == "region":
        return (point.name, point.n, point.pulled, *_numbers(point))
    return (point.name, point.region, point.n, *_numbers(point))


def _numbers(point: PullPoint) -> tuple[float | None, ...]:
    return tuple(each for one in (point.x, point.y) for each in (one.value, one.low, one.high))


def _count_label(points: Sequence[PullPoint], by: str) -> str:
    of = "regions" if by == "region" else "groups"
    groups = f" of {sum(point.n or 0 for point in points)} groups" if by == "region" else ""
    return f"{len(points)} {of if len(points) != 1 else of[:-1]}{groups}"


def _domain(ranges: Sequence[Estimate], *, zero: bool = False) -> list[float]:
    """The range of all values and intervals with a margin; `zero`: include 0."""
    ends = [each for one in ranges for each in (one.value, one.low, one.high) if each is not None]
    low, high = min([*ends, 0.0] if zero else ends), max([*ends, 0.0] if zero else ends)
    margin = _MARGIN * (high - low) or 0.01
    return [low - margin, high + margin]


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
