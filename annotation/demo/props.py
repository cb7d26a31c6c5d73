"""Objects beside the figure of a drawn sample, each about 130 by 170 pixels.

A prop is drawn around its centre (x, y) and returns its extent.
"""

from collections.abc import Callable

from annotation.demo.canvas import Canvas, Extent


def _baguette(c: Canvas, x: float, y: float) -> Extent:
    c.line([(x - 38, y + 62), (x + 38, y - 62)], "#c98f4e", width=30)
    for step in (-2, -1, 0, 1, 2):
        cx, cy = x + step * 14, y - step * 23
        c.line([(cx - 9, cy - 3), (cx + 9, cy + 3)], "#f0d9ae", width=4)
    return x - 54, y - 78, x + 54, y + 78


def _wine(c: Canvas, x: float, y: float) -> Extent:
    c.rectangle((x - 50, y - 20, x - 10, y + 76), "#3f5a4a", radius=10)
    c.rectangle((x - 37, y - 70, x - 23, y + 4), "#3f5a4a", radius=4)
    c.rectangle((x - 38, y - 76, x - 22, y - 54), "#7d3440", radius=4)
    c.rectangle((x - 50, y + 10, x - 10, y + 48), "#efe6d2")
    c.slice((x + 4, y - 52, x + 54, y + 28), 0, 180, "#e9eef0")
    c.slice((x + 8, y - 34, x + 50, y + 22), 0, 180, "#8e3b4a")
    c.line([(x + 29, y + 26), (x + 29, y + 70)], "#e9eef0", width=5)
    c.rectangle((x + 9, y + 68, x + 49, y + 76), "#e9eef0", radius=4)
    return x - 50, y - 76, x + 54, y + 76


def _tea(c: Canvas, x: float, y: float) -> Extent:
    for shift in (-16, 4):
        c.arc((x + shift - 8, y - 52, x + shift + 8, y - 28), 90, 270, "#ffffff", 4)
        c.arc((x + shift - 8, y - 30, x + shift + 8, y - 6), 270, 90, "#ffffff", 4)
    c.arc((x + 24, y + 6, x + 60, y + 44), 0, 360, "#5f7f8c", 8)
    c.slice((x - 44, y - 58, x + 40, y + 66), 0, 180, "#5f7f8c")
    c.ellipse((x - 44, y - 8, x + 40, y + 18), "#4d6974")
    c.ellipse((x - 37, y - 3, x + 33, y + 15), "#a8693b")
    c.ellipse((x - 56, y + 58, x + 56, y + 78), "#7d9aa5")
    return x - 56, y - 54, x + 60, y + 78


def _rice(c: Canvas, x: float, y: float) -> Extent:
    c.bar((x - 2, y - 10), (x + 52, y - 72), 5, "#8a5a3c")
    c.bar((x + 10, y - 10), (x + 60, y - 60), 5, "#8a5a3c")
    c.ellipse((x - 46, y - 32, x + 46, y + 48), "#faf8f2")
    for dx, dy in ((-22, -8), (-4, -20), (14, -10), (-10, -2), (26, 0), (4, -6)):
        c.ellipse((x + dx - 4, y + dy - 2, x + dx + 4, y + dy + 2), "#e3ded0")
    c.slice((x - 58, y - 58, x + 58, y + 66), 0, 180, "#39597a")
    c.line([(x - 48, y + 20), (x + 48, y + 20)], "#dfe6ea", width=4)
    c.rectangle((x - 24, y + 60, x + 24, y + 74), "#39597a", radius=4)
    return x - 58, y - 74, x + 62, y + 74


def _fan(c: Canvas, x: float, y: float) -> Extent:
    base = y + 66
    c.slice((x - 64, base - 118, x + 64, base + 118), 200, 340, "#b4656a")
    c.slice((x - 26, base - 48, x + 26, base + 48), 200, 340, "#e9d9c0")
    for dx, dy in ((-58, -42), (-36, -92), (0, -114), (36, -92), (58, -42)):
        c.line([(x, base), (x + dx, base + dy)], "#6e3d3f", width=3)
    c.ellipse((x - 6, base - 6, x + 6, base + 6), "#6e3d3f")
    return x - 62, y - 52, x + 62, y + 72


def _guitar(c: Canvas, x: float, y: float) -> Extent:
    c.bar((x, y + 10), (x, y - 84), 14, "#5d4030")
    c.rectangle((x - 12, y - 92, x + 12, y - 66), "#5d4030", radius=4)
    c.ellipse((x - 34, y - 26, x + 34, y + 36), "#c08a52")
    c.ellipse((x - 48, y + 4, x + 48, y + 84), "#c08a52")
    c.ellipse((x - 15, y + 6, x + 15, y + 36), "#4a3327")
    for dx in (-4, 0, 4):
        c.line([(x + dx, y - 80), (x + dx, y + 60)], "#efe3cc", width=1)
    c.rectangle((x - 18, y + 56, x + 18, y + 64), "#4a3327", radius=2)
    return x - 48, y - 92, x + 48, y + 84


def _drum(c: Canvas, x: float, y: float) -> Extent:
    c.polygon([(x - 54, y - 44), (x + 54, y - 44), (x + 34, y + 72), (x - 34, y + 72)], "#a3643f")
    c.ellipse((x - 34, y + 60, x + 34, y + 82), "#a3643f")
    zigzag = [(x - 50, y - 30), (x - 32, y + 66), (x - 16, y - 26), (x, y + 70), (x + 16, y - 26)]
    c.line([*zigzag, (x + 32, y + 66), (x + 50, y - 30)], "#ecd9b4", width=3)
    c.ellipse((x - 56, y - 64, x + 56, y - 24), "#5d3a28")
    c.ellipse((x - 49, y - 60, x + 49, y - 30), "#f0e4cb")
    return x - 56, y - 64, x + 56, y + 82


def _basket(c: Canvas, x: float, y: float) -> Extent:
    c.arc((x - 46, y - 72, x + 46, y + 76), 180, 360, "#94703f", 9)
    c.polygon([(x - 58, y), (x + 58, y), (x + 42, y + 76), (x - 42, y + 76)], "#c59a5d")
    for row in range(4):
        inset = row * 4
        c.line([(x - 52 + inset, y + 15 + row * 17), (x + 52 - inset, y + 15 + row * 17)], "#94703f", 3)
    for column in (-3, -2, -1, 0, 1, 2, 3):
        c.line([(x + column * 16, y + 8), (x + column * 12, y + 72)], "#a98048", 3)
    c.rectangle((x - 62, y - 8, x + 62, y + 10), "#94703f", radius=8)
    return x - 62, y - 76, x + 62, y + 78


def _cricket_bat(c: Canvas, x: float, y: float) -> Extent:
    c.bar((x - 30, y - 82), (x - 14, y - 34), 12, "#4e6b86")
    c.polygon(
        [(x - 32, y - 30), (x - 4, y - 40), (x + 38, y + 68), (x + 26, y + 78), (x + 8, y + 78)], "#dcbf8a"
    )
    c.line([(x - 14, y - 26), (x + 22, y + 68)], "#c4a268", width=4)
    c.ellipse((x - 52, y + 44, x - 18, y + 78), "#9c3f3c")
    c.arc((x - 44, y + 40, x - 8, y + 82), 130, 230, "#f0e4d8", 2)
    return x - 52, y - 84, x + 38, y + 80


def _hockey_stick(c: Canvas, x: float, y: float) -> Extent:
    c.line([(x + 40, y - 80), (x - 8, y + 62), (x - 50, y + 68)], "#a8743f", width=12)
    c.line([(x - 16, y + 64), (x - 50, y + 68)], "#3c4247", width=13)
    c.bar((x + 41, y - 84), (x + 30, y - 50), 14, "#3c4247")
    c.ellipse((x + 8, y + 58, x + 54, y + 80), "#3c4247")
    c.ellipse((x + 8, y + 54, x + 54, y + 72), "#575f66")
    return x - 57, y - 87, x + 54, y + 80


def _rugby_ball(c: Canvas, x: float, y: float) -> Extent:
    c.ellipse((x - 58, y + 8, x + 58, y + 80), "#efe3d0")
    c.ellipse((x - 42, y + 10, x + 42, y + 78), "#a8603c")
    c.rectangle((x - 32, y + 10, x + 32, y + 78), "#a8603c", radius=24)
    c.arc((x - 48, y + 22, x + 48, y + 100), 220, 320, "#8a4c2e", 2)
    c.line([(x - 22, y + 38), (x + 22, y + 38)], "#f3e8d6", width=3)
    for dx in (-15, -5, 5, 15):
        c.line([(x + dx, y + 32), (x + dx, y + 44)], "#f3e8d6", width=3)
    return x - 58, y + 8, x + 58, y + 80


def _umbrella(c: Canvas, x: float, y: float) -> Extent:
    c.line([(x, y - 80), (x, y + 60)], "#4a4f54", width=5)
    c.arc((x, y + 44, x + 28, y + 76), 0, 180, "#4a4f54", 5)
    c.slice((x - 64, y - 72, x + 64, y + 56), 180, 360, "#56789a")
    c.slice((x - 22, y - 72, x + 22, y + 56), 180, 360, "#7394b3")
    for left, right in ((-64, -22), (-22, 22), (22, 64)):
        c.slice((x + left, y - 18, x + right, y + 2), 180, 360, "#4f6f90")
    return x - 64, y - 83, x + 64, y + 78


def _surfboard(c: Canvas, x: float, y: float) -> Extent:
    c.ellipse((x - 32, y - 110, x + 32, y + 82), "#e8b65a")
    c.ellipse((x - 24, y - 100, x + 24, y + 72), "#f2cf86")
    c.bar((x, y - 98), (x, y + 70), 5, "#4f7d84")
    c.bar((x - 26, y - 30), (x + 26, y - 30), 10, "#4f7d84")
    return x - 32, y - 110, x + 32, y + 82


def _camel(c: Canvas, x: float, y: float) -> Extent:
    coat = "#b98d57"
    for dx in (-36, -22, 12, 26):
        c.line([(x + dx, y + 20), (x + dx, y + 76)], "#a87d4a", width=8)
    c.ellipse((x - 50, y - 20, x + 40, y + 44), coat)
    c.ellipse((x - 34, y - 46, x + 12, y + 22), coat)
    c.line([(x + 32, y + 12), (x + 50, y - 8), (x + 50, y - 48)], coat, width=15)
    c.ellipse((x + 38, y - 64, x + 70, y - 38), coat)
    c.ellipse((x + 52, y - 56, x + 56, y - 52), "#3b2c1d")
    c.line([(x - 48, y + 4), (x - 58, y + 32)], "#a87d4a", width=4)
    return x - 60, y - 64, x + 70, y + 80


def _sheep(c: Canvas, x: float, y: float) -> Extent:
    for dx in (-28, -12, 14, 28):
        c.line([(x + dx, y + 44), (x + dx, y + 76)], "#3c4247", width=7)
    for dx, dy, r in ((-34, 22, 24), (-14, 6, 26), (12, 6, 26), (32, 22, 24), (0, 32, 30), (-22, 36, 22)):
        c.ellipse((x + dx - r, y + dy - r, x + dx + r, y + dy + r), "#f6f3ea")
    c.ellipse((x + 28, y - 12, x + 62, y + 34), "#3c4247")
    c.ellipse((x + 20, y - 4, x + 36, y + 8), "#3c4247")
    c.ellipse((x + 30, y - 22, x + 54, y - 2), "#f6f3ea")
    c.ellipse((x + 46, y + 6, x + 51, y + 11), "#f6f3ea")
    return x - 58, y - 22, x + 62, y + 80


PROPS: dict[str, Callable[[Canvas, float, float], Extent]] = {
    "baguette": _baguette,
    "basket": _basket,
    "camel": _camel,
    "cricket bat": _cricket_bat,
    "drum": _drum,
    "fan": _fan,
    "guitar": _guitar,
    "hockey stick": _hockey_stick,
    "rice": _rice,
    "rugby ball": _rugby_ball,
    "sheep": _sheep,
    "surfboard": _surfboard,
    "tea": _tea,
    "umbrella": _umbrella,
    "wine": _wine,
}
