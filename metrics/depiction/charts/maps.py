"""World maps of one number for each group: counterparts of ViSAGe's figures 2 and 8."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import (
    INK,
    INK_SOFT,
    LINE_FAINT,
    NOTHING,
    SEQUENCE,
    UNKNOWN,
    Figure,
    apply_style,
)
from metrics.depiction.charts.geography import Country, country_of, shapes

_WIDTH, _HEIGHT = 860, 420
_SEA = "#f3f5f8"
_NO_SCORE = "judged, no score"


@dataclass(frozen=True)
class MapGroup:
    """One group with its number; `value` None means no score, which is not zero. `shown`: the number as text
    with n and interval. `cells`: the group's row in the figure's table."""

    group: str
    country: str
    value: float | None
    shown: str
    cells: tuple[Any, ...]
    detail: str = ""
    link: str = ""


@dataclass(frozen=True)
class MapTexts:
    """The texts of a map. `measure`: title of the colour scale. `short`, `detail`: labels in the tooltip."""

    name: str
    title: str
    measure: str
    short: str
    detail: str
    columns: tuple[str, ...]
    number: str = "~g"


def world_map(groups: Sequence[MapGroup], texts: MapTexts, *, subtitle: str, alt_text: str) -> Figure:
    """A map in an equal-area projection, each country coloured by the number of its group.

    If several groups have the same country, the colour is the mean of their numbers and the tooltip lists
    each. Groups that a map of countries cannot show are listed below; the table has all groups.
    """
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    areas, dots, not_on_map = _split_by_place(groups)
    values = [group["value"] for group in (*areas, *dots) if group["value"] is not None]
    # from zero, or the lowest value if negative, to the highest
    domain = [min([0.0, *values]), max([*values, 0.0]) or 1.0]
    colour = alt.Color(
        "value:Q",
        title=texts.measure,
        scale=alt.Scale(range=list(SEQUENCE), domain=domain, interpolate="lab"),
        legend=alt.Legend(
            orient="bottom",
            gradientLength=260,
            gradientThickness=11,
            titleLimit=500,
            format=texts.number,
            tickCount=5,
        ),
    )
    tooltip = [
        alt.Tooltip("country:N", title="Country"),
        alt.Tooltip("shown:N", title=texts.short),
        alt.Tooltip("detail:N", title=texts.detail),
    ]
    drawn = alt.Chart(alt.NamedData("areas")).project("equalEarth")
    small = alt.Chart(alt.NamedData("dots")).project("equalEarth").encode(longitude="x:Q", latitude="y:Q")
    known, unknown = "isValid(datum.value)", "datum.state != '' && !isValid(datum.value)"
    no_score = alt.Stroke(
        "state:N",
        title=None,
        scale=alt.Scale(domain=[_NO_SCORE], range=[INK_SOFT]),
        legend=alt.Legend(orient="bottom", symbolType="square", symbolDash=[2, 2], symbolStrokeWidth=1.2)
        if any(group["state"] == _NO_SCORE for group in (*areas, *dots))
        else None,
    )
    layers = [
        alt.Chart(alt.sphere()).mark_geoshape(fill=_SEA).project("equalEarth"),
        drawn.mark_geoshape(fill=NOTHING, stroke=LINE_FAINT, strokeWidth=0.5),
        drawn.mark_geoshape(stroke="white", strokeWidth=0.5)
        .transform_filter(known)
        .encode(color=colour, tooltip=tooltip),
        drawn.mark_geoshape(fill=UNKNOWN, strokeDash=[2, 2], strokeWidth=0.9)
        .transform_filter(unknown)
        .encode(stroke=no_score, tooltip=tooltip),
        small.mark_circle(size=46, stroke=INK, strokeWidth=0.7, opacity=1)
        .transform_filter(known)
        .encode(color=colour, tooltip=tooltip),
        small.mark_circle(size=46, fill=UNKNOWN, strokeDash=[2, 2], strokeWidth=0.9, opacity=1)
        .transform_filter(unknown)
        .encode(stroke=no_score, tooltip=tooltip),
    ]
    notes = _notes(groups, not_on_map, dots)
    drawn_map = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    chart = [drawn_map, _notes_chart(alt, notes)]
    return Figure(
        name=texts.name,
        title=texts.title,
        alt=f"World map. {alt_text} {' '.join(notes)}".strip(),
        columns=("identity", "country", "iso3", *texts.columns),
        rows=tuple((group.group, group.country, _code(group), *group.cells) for group in groups),
        spec=apply_style(chart, texts.title, subtitle, spacing=(4, 0))
        | {"datasets": {"areas": areas, "dots": dots}},
        notes=notes,
    )


def _split_by_place(
    groups: Sequence[MapGroup],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[MapGroup]]:
    """The areas and dots of the map, and the groups that are on neither."""
    groups_of: dict[Country, list[MapGroup]] = {}
    not_on_map = []
    for group in groups:
        country = country_of(group.group, group.country)
        if country is None:
            not_on_map.append(group)
        else:
            groups_of.setdefault(country, []).append(group)
    by_code = {country.code: found for country, found in groups_of.items()}
    areas = [
        {"type": "Feature", "geometry": shape["geometry"], **_mark(by_code.get(code, []), shape["name"])}
        for code, shape in shapes().items()
    ]
    dots = [
        {"x": country.point[0], "y": country.point[1], **_mark(found, found[0].country)}
        for country, found in groups_of.items()
        if country.point is not None
    ]
    return areas, dots, not_on_map


def _mark(groups: Sequence[MapGroup], country: str) -> dict[str, Any]:
    """The data of a country's mark; without groups it has no text and no colour."""
    if not groups:
        return {"country": country, "state": "", "value": None}
    values = [group.value for group in groups if group.value is not None]
    several = len(groups) > 1
    names = ", ".join(group.group for group in groups)
    mark: dict[str, Any] = {
        "country": f"{groups[0].country} ({names})",
        "state": "scored" if values else _NO_SCORE,
        "value": sum(values) / len(values) if values else None,
        "shown": "; ".join(f"{each.group}: {each.shown}" if several else each.shown for each in groups),
        "detail": "; ".join(
            f"{each.group}: {each.detail}" if several else each.detail for each in groups if each.detail
        )
        or "–",
    }
    links = [group.link for group in groups if group.link]
    return mark | ({"link": links[0]} if links else {})


def _code(group: MapGroup) -> str:
    country = country_of(group.group, group.country)
    return country.code if country else ""


def _notes(
    groups: Sequence[MapGroup], not_on_map: Sequence[MapGroup], dots: Sequence[dict[str, Any]]
) -> tuple[str, ...]:
    notes = []
    if len(groups) > len(not_on_map):
        notes.append(
            "White: not in this study."
            + (" Dots: countries too small for their shape to be seen." if dots else "")
        )
    if not_on_map:
        listed = ", ".join(f"{group.group} ({group.shown})" for group in not_on_map)
        notes.append(f"Not on the map: {listed}.")
    return tuple(notes)


def _notes_chart(alt: Any, notes: Sequence[str]) -> Any:
    """The notes as text in the chart, because an image file is used without its page."""
    lines = [line for note in notes for line in textwrap.wrap(note, 140)]
    return (
        alt.Chart(alt.Data(values=[{"lines": lines}]))
        .mark_text(align="left", baseline="top", fontSize=12, lineHeight=16, color=INK_SOFT)
        .encode(x=alt.value(0), y=alt.value(0), text="lines:N")
        .properties(width=_WIDTH, height=16 * len(lines))
    )
