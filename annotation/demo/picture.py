"""A drawn sample: the image with its true boxes, and which attributes fit into one image."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotation.demo.canvas import SIZE, Canvas, Extent
from annotation.demo.figure import (
    CLOTH_TONES,
    FACE_AND_NECK,
    GARMENTS,
    HAIR_TONES,
    HATS,
    PAPER_TONES,
    Look,
    draw_person,
)
from annotation.demo.props import PROPS

DRAWN_TEXT = "visage-demo-drawing"
"""Key of the text in the file that says what was drawn where, for the fake that judges images
(generation/backends/fake_judge.py)."""
_SKIES = ("#dbe4e8", "#e6e0d6", "#dfe3d8", "#e2dde6", "#dde3ea")
_GROUNDS = ("#c3cbc6", "#cdc6ba", "#c2c8b9", "#c8c2cd", "#bfc8d0")


def _mountain(c: Canvas) -> Extent:
    far = [(0, 300), (46, 226), (82, 262), (128, 168), (176, 246), (214, 214), (268, 300), (330, 220)]
    c.polygon(
        [*far, (366, 250), (424, 140), (462, 204), (492, 178), (512, 214), (512, 372), (0, 372)], "#a5b1b7"
    )
    near = [(0, 332), (60, 286), (112, 330), (170, 274), (240, 340), (318, 292), (372, 330), (446, 262)]
    c.polygon([*near, (512, 322), (512, 372), (0, 372)], "#8896a0")
    return 0, 140, SIZE, 372


def _pyramid(c: Canvas) -> Extent:
    c.polygon([(322, 372), (422, 206), (522, 372)], "#d3b67e")
    c.polygon([(422, 206), (522, 372), (448, 372)], "#b99a62")
    c.polygon([(6, 372), (82, 252), (158, 372)], "#d8be8b")
    c.polygon([(82, 252), (158, 372), (102, 372)], "#c0a36d")
    return 6, 206, SIZE, 372


def _desert(c: Canvas) -> Extent:
    c.rectangle((0, 360, SIZE, SIZE), "#e0c290")
    c.slice((-120, 330, 300, 470), 180, 360, "#e0c290")
    c.slice((220, 342, 660, 480), 180, 360, "#d9b980")
    for x0, y in ((-60, 410), (300, 424), (90, 470)):
        c.arc((x0, y, x0 + 260, y + 70), 200, 330, "#c9a56b", 3)
    return 0, 330, SIZE, SIZE


def _beach(c: Canvas) -> Extent:
    c.rectangle((0, 316, SIZE, 400), "#7fa9b5")
    for y, shift in ((332, 0), (352, 30), (372, 10)):
        for x in range(-20, SIZE, 74):
            c.arc((x + shift, y, x + shift + 44, y + 14), 200, 340, "#d4e5e8", 3)
    c.rectangle((0, 392, SIZE, SIZE), "#ecd9ae")
    c.slice((-200, 378, 720, 460), 180, 360, "#ecd9ae")
    return 0, 316, SIZE, SIZE


def _snow(c: Canvas) -> Extent:
    flakes = random.Random(7)  # noqa: S311 - a pattern, not a secret
    for column in range(14):
        for row in range(14):
            x, y = column * 38 + flakes.uniform(4, 34), row * 38 + flakes.uniform(4, 34)
            r = flakes.uniform(2.5, 5)
            c.ellipse((x - r, y - r, x + r, y + r), "#ffffff")
    return 0, 0, SIZE, SIZE


_HORIZON: dict[str, Callable[[Canvas], Extent]] = {"mountain": _mountain, "pyramid": _pyramid}
_GROUND: dict[str, Callable[[Canvas], Extent]] = {"desert": _desert, "beach": _beach, "snow": _snow}

# Attributes in the same zone would cover each other, so an image has one per zone (two props: left, right).
ZONES: dict[str, str] = {
    **dict.fromkeys(PROPS, "prop"),
    **dict.fromkeys(HATS, "hat"),
    **dict.fromkeys(GARMENTS, "garment"),
    **dict.fromkeys(_HORIZON, "horizon"),
    **dict.fromkeys(_GROUND, "ground"),
    **{name: name for name in (*FACE_AND_NECK, "thin", "dark skin", "snow")},
}


@dataclass(frozen=True)
class DrawnSample:
    """An image (SIZE by SIZE) and its ground truth: where each attribute was drawn."""

    png: bytes
    boxes: dict[str, Extent]


def fits(attributes: Iterable[str]) -> bool:
    """Whether one image can show all these attributes; raises KeyError if one cannot be drawn."""
    taken = Counter(ZONES[attribute] for attribute in attributes)
    return all(number <= (2 if zone == "prop" else 1) for zone, number in taken.items())


def draw(*, attributes: frozenset[str], seed: int, group: str = "", region: str = "") -> DrawnSample:
    """Draw one sample with exactly these attributes. The same arguments give the same image. `group`,
    `region`: whom the image is to be of; they are written into the file, and not drawn.

    Raises ValueError if one cannot be drawn, or if they do not fit together.
    """
    unknown = sorted(attributes - ZONES.keys())
    if unknown:
        raise ValueError(f"{unknown[0]!r} cannot be drawn. These can: {', '.join(sorted(ZONES))}.")
    if not fits(attributes):
        raise ValueError(f"{', '.join(sorted(attributes))} do not fit into one picture (see ZONES).")
    rng = random.Random(seed)  # noqa: S311 - a picture, not a secret
    scene = rng.randrange(len(_SKIES))
    look = Look(
        paper=rng.choice(PAPER_TONES),
        cloth=rng.choice(CLOTH_TONES),
        hair=rng.choice(HAIR_TONES),
        cut=rng.choice(("short", "bob", "bun")),
    )
    canvas = Canvas(_SKIES[scene])
    extents: dict[str, Extent] = {}
    for name in attributes & _HORIZON.keys():
        extents[name] = _HORIZON[name](canvas)
    canvas.rectangle((0, 372, SIZE, SIZE), _GROUNDS[scene])
    for name, draw_ground in _GROUND.items():
        if name in attributes:
            extents[name] = draw_ground(canvas)
    extents |= draw_person(canvas, look, attributes)
    places = [(76.0, 410.0), (434.0, 410.0)]
    rng.shuffle(places)
    for name, (x, y) in zip(sorted(attributes & PROPS.keys()), places, strict=False):
        extents[name] = PROPS[name](canvas, x, y)
    canvas.mark("drawn sample")
    boxes = {name: _clipped(extents[name]) for name in sorted(extents)}
    about = json.dumps({"group": group, "region": region, "boxes": boxes})
    return DrawnSample(png=canvas.png({DRAWN_TEXT: about}), boxes=boxes)


def _clipped(extent: Extent) -> Extent:
    x0, y0, x1, y1 = extent
    return max(0.0, x0), max(0.0, y0), min(float(SIZE), x1), min(float(SIZE), y1)
