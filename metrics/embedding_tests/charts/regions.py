"""Shares of groups by region beside a reference: points, and maps of the USA and of the world."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import (
    COLOURS,
    INK,
    INK_SOFT,
    LINE_FAINT,
    NOTHING,
    SEQUENCE,
    Figure,
    apply_style,
)
from metrics.depiction.charts.geography import country_of, shapes
from metrics.embedding_tests.charts.us_states import state_shapes
from metrics.embedding_tests.reference import US_STATES

_COLUMNS = ("region", "group", "share", "reference")
_AREAS, _DOTS = "areas", "dots"
"""Data of a map."""
_PANEL = (470, 240)
_SEA = "#f3f5f8"
_PANELS = (("share", "Share of the images found"), ("reference", "Reference"))


@dataclass(frozen=True)
class RegionPoint:
    """A group's share of the images found for a region, and of the reference there; both 0 to 1."""

    region: str
    group: str
    share: float
    reference: float


@dataclass(frozen=True)
class RegionTexts:
    """`subtitle`: what was ranked, by whom."""

    name: str
    title: str
    subtitle: tuple[str, ...]
    notes: tuple[str, ...]


def points_chart(points: Sequence[RegionPoint], texts: RegionTexts) -> Figure:
    """A panel for each group: a point for each region, and the line on which both shares are equal."""
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    groups = list(dict.fromkeys(point.group for point in points))
    top = min(1.0, 1.05 * max([0.05, *(end for point in points for end in (point.share, point.reference))]))
    scale = alt.Scale(domain=[0, top], nice=False)
    axis: dict[str, Any] = {"format": ".0%", "tickCount": 5, "grid": True, "gridColor": LINE_FAINT}
    axis["gridOpacity"] = 0.6
    ends = [{"group": group, "a": 0, "b": top} for group in groups]
    panels = []
    for place, group in enumerate(groups):
        line = (
            alt.Chart(alt.Data(values=tuple(each for each in ends if each["group"] == group)))
            .mark_rule(color=INK_SOFT, strokeDash=[4, 3])
            .encode(x=alt.X("a:Q"), y=alt.Y("a:Q"), x2="b:Q", y2="b:Q")
        )
        dots = (
            alt.Chart(alt.Data(values=tuple(_datum(each) for each in points if each.group == group)))
            .mark_point(filled=True, size=45, opacity=0.75, color=COLOURS[place % len(COLOURS)])
            .encode(
                x=alt.X("reference:Q", title="reference", scale=scale, axis=alt.Axis(**axis)),
                y=alt.Y("share:Q", title="share of the images found", scale=scale, axis=alt.Axis(**axis)),
                tooltip=_tooltip(alt),
            )
        )
        titled = alt.layer(line, dots).properties(
            width=230, height=230, title=alt.TitleParams(group, fontSize=13, subtitleFontSize=12)
        )
        panels.append(titled)
    chart = alt.concat(*panels, columns=2, spacing=24)
    means = "; ".join(f"{group}: {_mean(points, group)}" for group in groups)
    return Figure(
        name=texts.name,
        title=texts.title,
        alt=f"{texts.title}: a point for each region, of {len(groups)} groups. {means}.",
        columns=_COLUMNS,
        rows=_rows(points),
        spec=apply_style(chart, texts.title, list(texts.subtitle)),
        notes=texts.notes,
    )


def map_chart(points: Sequence[RegionPoint], texts: RegionTexts) -> Figure | None:
    """Two maps of one group, shares and reference, in the same colours: of the USA if all regions are its
    states, else of the world. None if no region is on the map."""
    # a table has states only or countries only; Georgia is both
    of_states = all(point.region in US_STATES for point in points)
    shown = [point for point in points if of_states or country_of("", point.region) is not None]
    if not shown:
        return None
    from metrics.core.charts.drawing import alt

    high = max([0.01, *(end for point in shown for end in (point.share, point.reference))])
    colours = alt.Scale(range=list(SEQUENCE), domain=[0, high], interpolate="lab")
    notes = [*texts.notes, "Both maps have the same scale."]
    if absent := [point.region for point in points if point not in shown]:
        notes.append(f"Not on the map: {', '.join(absent)}.")
    projection = "albersUsa" if of_states else "equalEarth"
    drawn = [_map(alt, panel, colours, projection) for panel in _PANELS]
    lines = [line for note in notes for line in textwrap.wrap(note, 130)]
    text = (
        alt.Chart(alt.Data(values=[{"lines": lines}]))
        .mark_text(align="left", baseline="top", fontSize=12, lineHeight=16, color=INK_SOFT)
        .encode(x=alt.value(0), y=alt.value(0), text="lines:N")
        .properties(width=860, height=16 * len(lines))
    )
    spec = apply_style([drawn, text], texts.title, texts.subtitle, spacing=(6, 26))
    places = _states(shown) if of_states else _countries(shown)
    spec["datasets"] = {**spec.get("datasets", {}), **places}
    ordered = sorted(shown, key=lambda point: -point.share)
    return Figure(
        name=texts.name,
        title=texts.title,
        alt=f"Two maps. {texts.title}. Highest: "
        + "; ".join(f"{each.region} {each.share:.1%}, reference {each.reference:.1%}" for each in ordered[:5])
        + ".",
        columns=_COLUMNS,
        rows=_rows(points),
        spec=spec,
        notes=tuple(notes),
    )


def _states(points: Sequence[RegionPoint]) -> dict[str, list[dict[str, Any]]]:
    """The data of a map of the USA."""
    by_name = {point.region: point for point in points}
    areas = [_area(geometry, by_name.get(name), name) for name, geometry in state_shapes().items()]
    return {_AREAS: areas, _DOTS: []}


def _countries(points: Sequence[RegionPoint]) -> dict[str, list[dict[str, Any]]]:
    """The data of a world map: all countries by their shapes, and those too small for one as dots."""
    places = [(point, place) for point in points if (place := country_of("", point.region)) is not None]
    by_code = {place.code: point for point, place in places}
    areas = [_area(shape["geometry"], by_code.get(code), shape["name"]) for code, shape in shapes().items()]
    dots = [
        {"x": place.point[0], "y": place.point[1], **_datum(point)}
        for point, place in places
        if place.point is not None
    ]
    return {_AREAS: areas, _DOTS: dots}


def _area(geometry: Any, point: RegionPoint | None, name: str) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": geometry,
        **({"region": name} if point is None else _datum(point)),
    }


def _map(alt: Any, panel: tuple[str, str], colours: Any, projection: str) -> Any:
    field, title = panel
    # by name: altair checks each point of a shape that stands in the chart, which takes seconds
    base = alt.Chart(alt.NamedData(_AREAS)).project(projection)
    dots = (
        alt.Chart(alt.NamedData(_DOTS))
        .project(projection)
        .mark_circle(size=46, stroke=INK, strokeWidth=0.7, opacity=1)
    )
    colour, tooltip = _colour(alt, field, colours), _tooltip(alt)
    sea = alt.Chart(alt.sphere()).mark_geoshape(fill=_SEA).project(projection)
    layers = [
        *([sea] if projection == "equalEarth" else []),
        base.mark_geoshape(fill=NOTHING, stroke=LINE_FAINT, strokeWidth=0.5),
        base.mark_geoshape(stroke="white", strokeWidth=0.5)
        .transform_filter(f"isValid(datum.{field})")
        .encode(color=colour, tooltip=tooltip),
        dots.encode(longitude="x:Q", latitude="y:Q", color=colour, tooltip=tooltip),
    ]
    width, height = _PANEL
    return alt.layer(*layers).properties(width=width, height=height, title=_heading(alt, title))


def _colour(alt: Any, field: str, colours: Any) -> Any:
    legend = alt.Legend(orient="bottom", title=None, format=".0%", gradientLength=220, gradientThickness=11)
    return alt.Color(f"{field}:Q", scale=colours, legend=legend)


def _heading(alt: Any, text: str) -> Any:
    return alt.TitleParams(text, fontSize=13, offset=8)


def _tooltip(alt: Any) -> list[Any]:
    return [
        alt.Tooltip("region:N", title="Region"),
        alt.Tooltip("share:Q", title="Share of the images found", format=".1%"),
        alt.Tooltip("reference:Q", title="Reference", format=".1%"),
    ]


def _datum(point: RegionPoint) -> dict[str, Any]:
    return {"region": point.region, "share": point.share, "reference": point.reference}


def _rows(points: Sequence[RegionPoint]) -> tuple[tuple[Any, ...], ...]:
    return tuple((point.region, point.group, point.share, point.reference) for point in points)


def _mean(points: Sequence[RegionPoint], group: str) -> str:
    of_group = [point for point in points if point.group == group]
    share, reference = (
        sum(getattr(point, name) for point in of_group) / len(of_group) for name in ("share", "reference")
    )
    return f"on average {share:.1%} of the images found, {reference:.1%} of the reference"
