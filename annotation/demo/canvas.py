"""A small canvas: flat, antialiased shapes in image pixels. Pillow only, no Django."""

import math
from collections.abc import Mapping, Sequence
from io import BytesIO

from PIL import Image as PillowImage
from PIL import ImageChops, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

SIZE = 512
"""Width and height of a drawn sample in pixels, as in images of Stable Diffusion 1.4."""
_OVERSAMPLING = 2

Point = tuple[float, float]
Extent = tuple[float, float, float, float]
"""x0, y0, x1, y1 in image pixels, x0 < x1 and y0 < y1."""


class Canvas:
    """Draws at twice the size and halves it at the end, which antialiases every edge."""

    def __init__(self, background: str) -> None:
        side = SIZE * _OVERSAMPLING
        self._image = PillowImage.new("RGB", (side, side), background)
        self._pen = ImageDraw.Draw(self._image)

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        self._pen.polygon([_scaled(point) for point in points], fill=fill)

    def ellipse(self, extent: Extent, fill: str) -> None:
        self._pen.ellipse(_scaled(extent), fill=fill)

    def rectangle(self, extent: Extent, fill: str, radius: float = 0) -> None:
        self._pen.rounded_rectangle(_scaled(extent), radius * _OVERSAMPLING, fill=fill)

    def slice(self, extent: Extent, start: float, end: float, fill: str) -> None:
        """A pie slice; angles in degrees clockwise from three o'clock."""
        self._pen.pieslice(_scaled(extent), start, end, fill=fill)

    def arc(self, extent: Extent, start: float, end: float, fill: str, width: float = 3) -> None:
        self._pen.arc(_scaled(extent), start, end, fill=fill, width=round(width * _OVERSAMPLING))

    def line(self, points: Sequence[Point], fill: str, width: float = 3) -> None:
        """A line with round ends and corners."""
        self._pen.line(
            [_scaled(point) for point in points], fill=fill, width=round(width * _OVERSAMPLING), joint="curve"
        )
        for x, y in (points[0], points[-1]):
            self.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill)

    def bar(self, start: Point, end: Point, width: float, fill: str) -> None:
        """A straight bar with square ends, at any angle."""
        (x0, y0), (x1, y1) = start, end
        length = math.dist(start, end)
        dx, dy = (y0 - y1) / length * width / 2, (x1 - x0) / length * width / 2
        corners = [(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)]
        self.polygon(corners, fill)

    def snapshot(self) -> PillowImage.Image:
        return self._image.copy()

    def keep_inside(self, before: PillowImage.Image, extent: Extent, radius: float) -> None:
        """Undo everything drawn since `before` outside a rounded rectangle, so that clothes end at the
        body."""
        mask = PillowImage.new("L", self._image.size, 0)
        ImageDraw.Draw(mask).rounded_rectangle(_scaled(extent), radius * _OVERSAMPLING, fill=255)
        self._image.paste(before, mask=ImageChops.invert(mask))

    def mark(self, text: str) -> None:
        """A small label in the upper left corner."""
        font = ImageFont.load_default(12 * _OVERSAMPLING)
        width = self._pen.textlength(text, font=font) / _OVERSAMPLING
        self.rectangle((10, 10, 26 + width, 32), "#ffffff", radius=11)
        self._pen.text((18 * _OVERSAMPLING, 21 * _OVERSAMPLING), text, fill="#4a4f54", font=font, anchor="lm")

    def png(self, texts: Mapping[str, str]) -> bytes:
        """The finished image as PNG, SIZE by SIZE pixels. `texts`: what the file says of itself, by key."""
        out, about = BytesIO(), PngInfo()
        for key, text in texts.items():
            about.add_text(key, text)
        self._image.resize((SIZE, SIZE), PillowImage.Resampling.LANCZOS).save(out, "PNG", pnginfo=about)
        return out.getvalue()


def _scaled(edges: Sequence[float]) -> tuple[float, ...]:
    return tuple(edge * _OVERSAMPLING for edge in edges)
