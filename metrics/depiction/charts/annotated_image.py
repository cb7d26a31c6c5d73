"""Counterpart of ViSAGe's figure 7: an image with the boxes that annotators drew, and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import INK, INK_SOFT, Figure, apply_style
from metrics.core.charts.titles import answered_by, marked_title

_SIDE = 460  # the longer side of the picture
_LIST, _ROW = 270, 20  # its list: how wide, and how high a row of it
_CROWD = 15
_HALO = "#ffffff"
# colour and dashes of the boxes of stereotypes and of other attributes, as in the page of a group
_LINES: dict[str, tuple[str, list[int]]] = {"stereotypical": ("#0b4a8f", []), "other": ("#1c2733", [5, 4])}


@dataclass(frozen=True)
class Drawn:
    """An attribute as judged in the image: selected `k` of `n` times; `boxes` of (who, x0, y0, x1, y1) in
    pixels of the image."""

    text: str
    stereotypical: bool
    k: int
    n: int
    boxes: tuple[tuple[str, float, float, float, float], ...] = ()


def annotated_image_chart(
    attributes: Sequence[Drawn],
    *,
    name: str,
    picture: str,
    size: tuple[int, int],
    study: str,
    simulated: bool,
    link: str = "",
) -> Figure:
    """The image `name` (a data address, so that the file holds it) with all boxes of the attributes that
    somebody selected. Boxes are numbered as the list beside the image; stereotypes have solid lines."""
    # altair takes most of a second to import: too long for every command to pay
    import altair as alt

    width, height = size
    scale = _SIDE / max(size)
    boxes = [
        {
            "number": number if place == 0 or not _crowded(attributes) else "",
            "attribute": one.text,
            "who": who,
            "said": f"{one.k} of {one.n}",
            "kind": _kind(one),
            "x0": x0,
            "y0": y0,
            "x1": x1,
            "y1": y1,
            **({"link": link} if link else {}),
        }
        for number, one in enumerate(attributes, 1)
        for place, (who, x0, y0, x1, y1) in enumerate(one.boxes)
    ]

    def along(field: str, axis: Any, ends: list[int]) -> Any:
        return axis(f"{field}:Q", axis=None, scale=alt.Scale(domain=ends, nice=False))

    place = {"x": along("x0", alt.X, [0, width]), "y": along("y0", alt.Y, [height, 0])}
    base = alt.Chart(alt.NamedData("boxes")).encode(**place)
    area = base.encode(x2="x1:Q", y2="y1:Q")
    tooltip = [
        alt.Tooltip("attribute:N", title="Attribute"),
        alt.Tooltip("kind:N", title="Kind"),
        alt.Tooltip("said:N", title="Selected"),
        alt.Tooltip("who:N", title="Annotator"),
    ]
    line = 1 if _crowded(attributes) else 2
    number: dict[str, Any] = {
        "align": "left",
        "baseline": "top",
        "dx": 4,
        "dy": 3,
        "fontSize": 14,
        "fontWeight": "bold",
    }
    picture_there = alt.Chart(alt.Data(values=[{"x0": width / 2, "y0": height / 2}])).encode(**place)
    panel = alt.layer(
        picture_there.mark_image(
            url=picture, width=round(width * scale), height=round(height * scale), aspect=False
        ),
        area.mark_rect(fillOpacity=0, stroke=_HALO, strokeWidth=2 * line, strokeOpacity=0.85),
        *(
            area.mark_rect(fillOpacity=0, stroke=colour, strokeDash=dash, strokeWidth=line).transform_filter(
                f"datum.kind == '{kind}'"
            )
            for kind, (colour, dash) in _LINES.items()
        ),
        # what a pointer meets: the whole box
        area.mark_rect(fill=_HALO, fillOpacity=0.001).encode(tooltip=tooltip),
        base.mark_text(**number, color=_HALO, stroke=_HALO, strokeWidth=4, strokeJoin="round").encode(
            text="number:N"
        ),
        base.mark_text(**number, color=INK).encode(text="number:N"),
    ).properties(width=round(width * scale), height=round(height * scale))
    shown = marked_title(study, simulated=simulated)
    title = f"{name}: what annotators saw, and where"
    chart = alt.hconcat(panel, _listed(alt, attributes), spacing=22).properties(
        background="white",
        padding=14,
        title=alt.Title(
            title, subtitle=[shown, "Solid lines: stereotypes of the group; dashed: other attributes"]
        ),
    )
    said = "; ".join(f"{one.text} ({_kind(one)}) {one.k} of {one.n}" for one in attributes)
    return Figure(
        name="annotated-image",
        title=title,
        alt=f"{name} with {len(boxes)} boxes of all annotators. Selected: {said}.",
        columns=("attribute", "kind", "selected", "shown", "annotator", "x0", "y0", "x1", "y1", "answers"),
        rows=tuple(
            (one.text, _kind(one), one.k, one.n, *box, answered_by(simulated=simulated))
            for one in attributes
            for box in one.boxes or ((None,) * 5,)
        ),
        spec=apply_style(chart) | {"datasets": {"boxes": boxes}},
    )


def _listed(alt: Any, attributes: Sequence[Drawn]) -> Any:
    """The numbers of the boxes with their attributes and lines, as a column of text."""
    rows = [
        {
            "row": row,
            "text": f"{row}  {one.text}",
            "said": f"{one.k} of {one.n}" + ("" if one.boxes else ", no box"),
            "kind": _kind(one),
        }
        for row, one in enumerate(attributes, 1)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))
    )
    lines = [
        base.mark_rule(color=colour, strokeDash=dash, strokeWidth=2)
        .transform_filter(f"datum.kind == '{kind}'")
        .encode(x=alt.value(0), x2=alt.value(22))
        for kind, (colour, dash) in _LINES.items()
    ]
    words = base.mark_text(align="left", fontSize=13, color=INK, limit=170).encode(
        x=alt.value(30), text="text:N"
    )
    counts = base.mark_text(align="right", fontSize=12, color=INK_SOFT).encode(
        x=alt.value(_LIST), text="said:N"
    )
    return alt.layer(*lines, words, counts).properties(width=_LIST, height=alt.Step(_ROW))


def _crowded(attributes: Sequence[Drawn]) -> bool:
    """Whether so many boxes lie over each other that thin lines and one number an attribute must do."""
    return sum(len(one.boxes) for one in attributes) > _CROWD


def _kind(one: Drawn) -> str:
    return "stereotypical" if one.stereotypical else "other"
