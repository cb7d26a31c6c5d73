"""World maps of one number a group: counterparts of ViSAGe's figures 2 and 8."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
class Placed:
    """One group with its number; `value` None is none, which is not zero. `shown` is the number in words
    with its n and interval, `cells` what the table of the figure says of the group."""

    group: str
    country: str
    value: float | None
    shown: str
    cells: tuple[Any, ...]
    detail: str = ""
    link: str = ""


@dataclass(frozen=True)
class MapTexts:
    """What a map says: `measure` titles the scale of colours, `short` and `detail` the lines of a tooltip."""

    name: str
    title: str
    subtitle: str
    measure: str
    short: str
    detail: str
    alt: str
    columns: tuple[str, ...]
    number: str = "~g"

    def about(self, *, subtitle: str, alt: str) -> MapTexts:
        """The same map of a certain study."""
        return replace(self, subtitle=subtitle, alt=alt)


def world_map(groups: Sequence[Placed], words: MapTexts) -> Figure:
    """A map coloured by the number of each country's group; equal areas, so that size does not mislead.

    Where several groups name the same country, its colour is the mean of their numbers and its tooltip lists
    each. Groups that no map of countries shows stand beneath it; the table has them all.
    """
    # altair takes most of a second to import: too long for every command to pay
    import altair as alt

    areas, dots, absent = _on_the_map(groups)
    values = [one["value"] for one in (*areas, *dots) if one["value"] is not None]
    colour = alt.Color(
        "value:Q",
        title=words.measure,
        scale=alt.Scale(range=list(SEQUENCE), domain=_domain(values), interpolate="lab"),
        legend=alt.Legend(
            orient="bottom",
            gradientLength=260,
            gradientThickness=11,
            titleLimit=500,
            format=words.number,
            tickCount=5,
        ),
    )
    tooltip = [
        alt.Tooltip("country:N", title="Country"),
        alt.Tooltip("shown:N", title=words.short),
        alt.Tooltip("detail:N", title=words.detail),
    ]
    drawn = alt.Chart(alt.NamedData("areas")).project("equalEarth")
    small = alt.Chart(alt.NamedData("dots")).project("equalEarth").encode(longitude="x:Q", latitude="y:Q")
    known, unknown = "isValid(datum.value)", "datum.state != '' && !isValid(datum.value)"
    no_score = alt.Stroke(
        "state:N",
        title=None,
        scale=alt.Scale(domain=[_NO_SCORE], range=[INK_SOFT]),
        legend=alt.Legend(orient="bottom", symbolType="square", symbolDash=[2, 2], symbolStrokeWidth=1.2)
        if any(one["state"] == _NO_SCORE for one in (*areas, *dots))
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
    notes = _beneath(groups, absent, dots)
    drawn_map = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    chart = alt.vconcat(drawn_map, _text(alt, notes), spacing=4).properties(
        background="white", padding=14, title=alt.Title(words.title, subtitle=words.subtitle)
    )
    return Figure(
        name=words.name,
        title=words.title,
        alt=f"World map. {words.alt} {' '.join(notes)}".strip(),
        columns=("identity", "country", "iso3", *words.columns),
        rows=tuple((one.group, one.country, _code(one), *one.cells) for one in groups),
        spec=apply_style(chart) | {"datasets": {"areas": areas, "dots": dots}},
        notes=notes,
    )


def _on_the_map(
    groups: Sequence[Placed],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Placed]]:
    """The areas of the map, the dots of it, and the groups that are on neither."""
    here: dict[Country, list[Placed]] = {}
    absent = []
    for group in groups:
        where = country_of(group.group, group.country)
        if where is None:
            absent.append(group)
        else:
            here.setdefault(where, []).append(group)
    by_code = {where.code: found for where, found in here.items()}
    areas = [
        {"type": "Feature", "geometry": shape["geometry"], **_said(by_code.get(code, []), shape["name"])}
        for code, shape in shapes().items()
    ]
    dots = [
        {"x": where.point[0], "y": where.point[1], **_said(found, found[0].country)}
        for where, found in here.items()
        if where.point is not None
    ]
    return areas, dots, absent


def _said(groups: Sequence[Placed], country: str) -> dict[str, Any]:
    """What a mark of a country says; without groups it says nothing and is not coloured."""
    if not groups:
        return {"country": country, "state": "", "value": None}
    values = [group.value for group in groups if group.value is not None]
    several = len(groups) > 1
    names = ", ".join(group.group for group in groups)
    said: dict[str, Any] = {
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
    return said | ({"link": links[0]} if links else {})


def _code(group: Placed) -> str:
    where = country_of(group.group, group.country)
    return where.code if where else ""


def _domain(values: Sequence[float]) -> list[float]:
    """From zero, where the scale begins for all numbers of stereotypes, to the highest or a little more."""
    return [min([0.0, *values]), max([*values, 0.0]) or 1.0]


def _beneath(
    groups: Sequence[Placed], absent: Sequence[Placed], dots: Sequence[dict[str, Any]]
) -> tuple[str, ...]:
    notes = []
    if len(groups) > len(absent):
        notes.append(
            "White: not in this study."
            + (" Dots: countries too small for their shape to be seen." if dots else "")
        )
    if absent:
        listed = ", ".join(f"{group.group} ({group.shown})" for group in absent)
        notes.append(f"On no map of countries: {listed}.")
    return tuple(notes)


def _text(alt: Any, notes: Sequence[str]) -> Any:
    """The notes as a block of text, since a picture travels without its page."""
    lines = [line for note in notes for line in textwrap.wrap(note, 140)]
    return (
        alt.Chart(alt.Data(values=[{"lines": lines}]))
        .mark_text(align="left", baseline="top", fontSize=12, lineHeight=16, color=INK_SOFT)
        .encode(x=alt.value(0), y=alt.value(0), text="lines:N")
        .properties(width=_WIDTH, height=16 * len(lines))
    )


__all__ = ["MapTexts", "Placed", "world_map"]
