"""Counterpart of ViSAGe's figure 7: an image with its annotators' boxes and the attributes they mark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.charts.figure import INK, INK_SOFT, Figure, answered_by, apply_style, marked_title

_SIDE = 460  # longer side of the image
_LEGEND_WIDTH, _LEGEND_ROW = 270, 20
_MAX_READABLE_BOXES = 15
_HALO = "#ffffff"
# colour and dashes of the boxes of stereotypes and of other attributes, as on the page of a group
_LINES: dict[str, tuple[str, list[int]]] = {"stereotypical": ("#0b4a8f", []), "other": ("#1c2733", [5, 4])}


@dataclass(frozen=True)
class AnnotatedAttribute:
    """An attribute of the image, selected `k` of `n` times; `boxes`: (annotator, x0, y0, x1, y1) in pixels of
    the image."""

    text: str
    stereotypical: bool
    k: int
    n: int
    boxes: tuple[tuple[str, float, float, float, float], ...] = ()

    @property
    def kind(self) -> str:
        return "stereotypical" if self.stereotypical else "other"


def annotated_image_chart(
    attributes: Sequence[AnnotatedAttribute],
    *,
    name: str,
    picture: str,
    size: tuple[int, int],
    study: str,
    simulated: bool,
    link: str = "",
) -> Figure:
    """The image `name` with all boxes of the selected attributes. `picture` is a data URL, so that the file
    contains the image. Boxes are numbered as in the list beside the image; stereotypes have solid lines."""
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    width, height = size
    scale = _SIDE / max(size)
    # with many boxes, lines are thin and only one box of an attribute has a number
    crowded = sum(len(attribute.boxes) for attribute in attributes) > _MAX_READABLE_BOXES
    boxes = [
        {
            "number": number if place == 0 or not crowded else "",
            "attribute": attribute.text,
            "who": who,
            "selected": f"{attribute.k} of {attribute.n}",
            "kind": attribute.kind,
            **dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True)),
            **({"link": link} if link else {}),
        }
        for number, attribute in enumerate(attributes, 1)
        for place, (who, *corners) in enumerate(attribute.boxes)
    ]

    place: dict[str, Any] = {
        "x": alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False)),
        "y": alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False)),
    }
    base = alt.Chart(alt.NamedData("boxes")).encode(**place)
    area = base.encode(x2="x1:Q", y2="y1:Q")
    tooltip = [
        alt.Tooltip("attribute:N", title="Attribute"),
        alt.Tooltip("kind:N", title="Kind"),
        alt.Tooltip("selected:N", title="Selected"),
        alt.Tooltip("who:N", title="Annotator"),
    ]
    line = 1 if crowded else 2
    number: dict[str, Any] = {
        "align": "left",
        "baseline": "top",
        "dx": 4,
        "dy": 3,
        "fontSize": 14,
        "fontWeight": "bold",
    }
    image_mark = alt.Chart(alt.Data(values=[{"x0": width / 2, "y0": height / 2}])).encode(**place)
    panel = alt.layer(
        image_mark.mark_image(
            url=picture, width=round(width * scale), height=round(height * scale), aspect=False
        ),
        area.mark_rect(fillOpacity=0, stroke=_HALO, strokeWidth=2 * line, strokeOpacity=0.85),
        *(
            area.mark_rect(fillOpacity=0, stroke=colour, strokeDash=dash, strokeWidth=line).transform_filter(
                f"datum.kind == '{kind}'"
            )
            for kind, (colour, dash) in _LINES.items()
        ),
        # the whole box shows the tooltip
        area.mark_rect(fill=_HALO, fillOpacity=0.001).encode(tooltip=tooltip),
        base.mark_text(**number, color=_HALO, stroke=_HALO, strokeWidth=4, strokeJoin="round").encode(
            text="number:N"
        ),
        base.mark_text(**number, color=INK).encode(text="number:N"),
    ).properties(width=round(width * scale), height=round(height * scale))
    shown = marked_title(study, simulated=simulated)
    title = f"{name}: what annotators saw, and where"
    subtitle = [shown, "Solid lines: stereotypes of the group; dashed: other attributes"]
    chart = alt.hconcat(panel, _legend(alt, attributes), spacing=22)
    selected = "; ".join(
        f"{attribute.text} ({attribute.kind}) {attribute.k} of {attribute.n}" for attribute in attributes
    )
    return Figure(
        name="annotated-image",
        title=title,
        alt=f"{name} with {len(boxes)} boxes of all annotators. Selected: {selected}.",
        columns=("attribute", "kind", "selected", "shown", "annotator", "x0", "y0", "x1", "y1", "answers"),
        rows=tuple(
            (
                attribute.text,
                attribute.kind,
                attribute.k,
                attribute.n,
                *box,
                answered_by(simulated=simulated),
            )
            for attribute in attributes
            for box in attribute.boxes or ((None,) * 5,)
        ),
        spec=apply_style(chart, title, subtitle) | {"datasets": {"boxes": boxes}},
    )


def _legend(alt: Any, attributes: Sequence[AnnotatedAttribute]) -> Any:
    """The list beside the image: number, attribute and line style of the boxes."""
    rows = [
        {
            "row": row,
            "text": f"{row}  {attribute.text}",
            "selected": f"{attribute.k} of {attribute.n}" + ("" if attribute.boxes else ", no box"),
            "kind": attribute.kind,
        }
        for row, attribute in enumerate(attributes, 1)
    ]
    base = alt.Chart(alt.Data(values=tuple(rows))).encode(
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
        x=alt.value(_LEGEND_WIDTH), text="selected:N"
    )
    return alt.layer(*lines, words, counts).properties(width=_LEGEND_WIDTH, height=alt.Step(_LEGEND_ROW))
