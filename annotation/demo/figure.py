"""The person in a drawn sample and their clothes: a plain figure in the style of paper cut-outs.

Its paper tones are deliberately not skin colours, so that no tone is a default. The figure has a human tone
only if the attribute 'dark skin' is drawn. Hair, clothes and tones depend on the image's seed and never on
the identity, so that only the attributes distinguish groups.
"""

from collections.abc import Callable
from dataclasses import dataclass

from annotation.demo.canvas import Canvas, Extent

PAPER_TONES = ("#a9b7bd", "#b7afc2", "#a8b8a9", "#c2b6a3", "#b3b9cc")
CLOTH_TONES = ("#5d7f8e", "#8c6d86", "#6f8a6a", "#a6735a", "#5f6e96", "#8a7d55")
HAIR_TONES = ("#3a3431", "#5a463b", "#6d6a6e", "#453c52")
DARK_SKIN = "#6a452f"


@dataclass(frozen=True)
class Look:
    """The parts that vary with the seed of the image only."""

    paper: str
    cloth: str
    hair: str
    cut: str  # short, bob, bun


def draw_person(c: Canvas, look: Look, worn: frozenset[str]) -> dict[str, Extent]:
    """Draw the figure with the attributes in `worn` it can wear; return the extent of each."""
    thin = "thin" in worn
    body = (176, 286, 336, 580) if thin else (128, 286, 384, 580)
    skin = DARK_SKIN if "dark skin" in worn else look.paper
    head = (210, 132, 302, 262) if thin else (202, 132, 310, 262)
    covered = bool(worn & HATS.keys())
    extents: dict[str, Extent] = {}
    if look.cut == "bob":
        c.rectangle((head[0] - 14, 126, head[2] + 14, 284), look.hair, radius=52)
    if look.cut == "bun" and not covered:
        c.ellipse((232, 92, 280, 140), look.hair)
    c.rectangle(body, look.cloth, radius=72)
    for garment, draw in GARMENTS.items():
        if garment in worn:
            before = c.snapshot()
            extents[garment] = draw(c, body)
            if garment != "poncho":
                c.keep_inside(before, body, radius=72)
    c.rectangle((232, 236, 280, 306), skin, radius=20)
    c.ellipse((226, 276, 286, 318), skin)
    c.ellipse(head, skin)
    c.slice((head[0] - 8, 120, head[2] + 8, 262), 180, 360, look.hair)
    c.ellipse((head[0] + 2, 166, head[2] - 2, 222), skin)
    ink = "#2b2f33" if skin != DARK_SKIN else "#1f130c"
    for x in (236, 276):
        c.ellipse((x - 4, 200, x + 4, 208), ink)
    c.arc((240, 216, 272, 238), 25, 155, ink, 3)
    if thin:
        extents["thin"] = (body[0], 132, body[2], 512)
    if skin == DARK_SKIN:
        extents["dark skin"] = (head[0] - 3, 164, head[2] + 3, 320)
    for name, draw_on in {**FACE_AND_NECK, **HATS}.items():
        if name in worn:
            extents[name] = draw_on(c)
    return extents


def _moustache(c: Canvas) -> Extent:
    c.slice((226, 212, 260, 242), 180, 380, "#332a25")
    c.slice((252, 212, 286, 242), 160, 360, "#332a25")
    return 226, 210, 286, 236


def _scarf(c: Canvas) -> Extent:
    c.rectangle((208, 262, 304, 302), "#a8545c", radius=18)
    c.polygon([(268, 290), (304, 288), (312, 388), (276, 392)], "#a8545c")
    for y in (326, 352):
        c.bar((272, y + 2), (309, y), 8, "#e6cfc0")
    for x in (280, 290, 300, 308):
        c.line([(x, 388), (x + 1, 400)], "#a8545c", width=3)
    return 208, 262, 314, 402


def _sombrero(c: Canvas) -> Extent:
    c.ellipse((132, 112, 380, 172), "#a97a3f")
    c.ellipse((132, 106, 380, 162), "#c7964f")
    c.polygon([(206, 136), (232, 62), (280, 62), (306, 136)], "#c7964f")
    c.ellipse((230, 50, 282, 78), "#c7964f")
    c.slice((206, 116, 306, 154), 0, 180, "#c7964f")
    c.polygon([(209, 128), (216, 110), (296, 110), (303, 128)], "#8a4f45")
    c.slice((209, 112, 303, 142), 0, 180, "#8a4f45")
    for x in range(152, 372, 18):
        if not 204 < x < 308:
            c.ellipse((x - 3, 129, x + 3, 135), "#f1dfb8")
    return 132, 50, 380, 172


def _straw_hat(c: Canvas) -> Extent:
    c.ellipse((166, 122, 346, 166), "#d4b873")
    c.ellipse((166, 118, 346, 158), "#ead292")
    c.rectangle((208, 76, 304, 146), "#ead292", radius=26)
    c.rectangle((208, 120, 304, 140), "#55707d", radius=3)
    return 166, 76, 346, 166


def _turban(c: Canvas) -> Extent:
    c.ellipse((188, 76, 324, 188), "#c98b3d")
    for drop in (0, 20, 40):
        c.arc((176, 92 + drop, 300, 220 + drop), 215, 305, "#b0762f", 4)
        c.arc((212, 92 + drop, 336, 220 + drop), 235, 325, "#dda556", 4)
    c.polygon([(256, 108), (208, 170), (304, 170)], "#c98b3d")
    c.slice((196, 128, 316, 196), 180, 360, "#b0762f")
    c.polygon([(256, 100), (238, 164), (274, 164)], "#dda556")
    return 188, 76, 324, 188


def _beret(c: Canvas) -> Extent:
    c.line([(270, 104), (274, 90)], "#33415e", width=6)
    c.ellipse((178, 98, 322, 160), "#3f5075")
    c.polygon([(204, 146), (308, 140), (308, 158), (204, 162)], "#33415e")
    return 178, 86, 322, 164


def _poor(c: Canvas, body: Extent) -> Extent:
    """Clothes with several patches."""
    middle = (body[0] + body[2]) / 2
    patches = ((middle - 62, 372, middle - 12, 420), (middle + 16, 430, middle + 66, 478))
    for (x0, y0, x1, y1), tone in zip(patches, ("#b9a98c", "#8f8a7c"), strict=True):
        c.rectangle((x0, y0, x1, y1), tone, radius=4)
        for step in range(5):
            x = x0 + 6 + step * (x1 - x0 - 12) / 4
            c.line([(x, y0 - 4), (x, y0 + 4)], "#f3eee2", width=2)
            c.line([(x, y1 - 4), (x, y1 + 4)], "#f3eee2", width=2)
    return middle - 66, 366, middle + 70, 484


def _kimono(c: Canvas, body: Extent) -> Extent:
    c.rectangle((body[0], body[1], body[2], 512), "#4d6a8a")
    for x in range(int(body[0]), int(body[2]), 44):
        for y in (330, 392):
            c.ellipse((x + 14, y, x + 24, y + 10), "#dfe5ea")
    c.polygon([(214, 286), (240, 286), (300, 420), (270, 430)], "#f1ece0")
    c.polygon([(298, 286), (272, 286), (212, 420), (242, 430)], "#f1ece0")
    c.polygon([(290, 300), (272, 286), (212, 420), (228, 426)], "#fbf8f0")
    c.rectangle((body[0], 420, body[2], 486), "#9d5a55")
    c.rectangle((body[0], 446, body[2], 456), "#e4cda0")
    return body[0], body[1], body[2], 512


def _poncho(c: Canvas, body: Extent) -> Extent:
    left, right = body[0] - 16, body[2] + 16
    c.polygon([(206, 276), (left, 430), (256, 506), (right, 430), (306, 276)], "#9c5b4a")
    for top, tone in ((318, "#d7b06a"), (346, "#4f7470"), (374, "#d7b06a")):
        rows = (top, top + 16)
        (upper, lower) = ((206 - (206 - left) * (y - 276) / 154, y) for y in rows)
        chevron = [upper, (256, top + 70), (512 - upper[0], upper[1])]
        c.polygon([*chevron, (512 - lower[0], lower[1]), (256, top + 86), lower], tone)
    return left, 274, right, 506


def _checked_shirt(c: Canvas, body: Extent) -> Extent:
    c.rectangle((body[0], body[1], body[2], 512), "#a04d48")
    for x in range(int(body[0]) + 12, int(body[2]), 34):
        c.bar((x, 280), (x, 512), 10, "#6d3431")
    for y in range(300, 512, 34):
        c.bar((body[0], y), (body[2], y), 10, "#6d3431")
    for x in range(int(body[0]) + 12, int(body[2]), 34):
        for y in range(300, 512, 34):
            c.rectangle((x - 5, y - 5, x + 5, y + 5), "#472321")
    c.line([(256, 310), (256, 512)], "#e8dccb", width=3)
    c.polygon([(214, 284), (256, 330), (222, 340)], "#b5625c")
    c.polygon([(298, 284), (256, 330), (290, 340)], "#b5625c")
    return body[0], body[1], body[2], 512


GARMENTS: dict[str, Callable[[Canvas, Extent], Extent]] = {
    "kimono": _kimono,
    "checked shirt": _checked_shirt,
    "poncho": _poncho,
    "poor": _poor,
}
FACE_AND_NECK: dict[str, Callable[[Canvas], Extent]] = {"moustache": _moustache, "scarf": _scarf}
HATS: dict[str, Callable[[Canvas], Extent]] = {
    "beret": _beret,
    "sombrero": _sombrero,
    "straw hat": _straw_hat,
    "turban": _turban,
}
