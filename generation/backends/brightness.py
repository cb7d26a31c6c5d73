"""How bright a crop of an image is, and how light the skin in it (PROTOCOL §12, Brightness). Pure: numpy.

Two kinds of numbers, on purpose. *RGB brightness* is the mean of (R + G + B) / 3 over a crop, 0 to 255: the
measure of Wolfe and Caliskan (2022). Light, background and make-up decide it as much as skin does. *L\\** and
the *individual typology angle* (Chardon et al. 1991) describe skin, if it is skin that they are measured on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
"""RGB, shape (height, width, 3)."""
Colours = npt.NDArray[np.uint8]
"""RGB, shape (..., 3)."""
Box = tuple[int, int, int, int]
"""Left, top, width and height, in pixels."""

PUBLISHED = "published"
CROPS: dict[str, tuple[float, float, float, float]] = {
    PUBLISHED: (251 / 592, 176 / 592, 300 / 592, 225 / 592),
    "centre": (1 / 4, 1 / 4, 3 / 4, 3 / 4),
    "whole": (0.0, 0.0, 1.0, 1.0),
}
"""Named crops: left, top, right and bottom, as shares of the image's width and height.

*published*: the 50 x 50 pixels at (250, 175) of 592 x 592, without their first row and column, which the
published program leaves out: the columns 251 to 299 and the rows 176 to 224, counted from 0, 49 x 49 pixels.
"""
LEAST_B = 0.01
"""The smallest b* with an angle. Grey has b* = 0 and bluish pixels less; the formula has no value at 0, and
below it calls light pixels dark."""
LEAST_SKIN = 0.2
"""The smallest share of skin in the ellipse of a face: with less, the face is none, or is covered."""
_ELLIPSE = 0.8
"""The axes of the ellipse in which skin is looked for, as shares of the face's box."""
_CB, _CR = (77, 127), (133, 173)
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""Linear sRGB to CIE XYZ, D65, 2 degrees (IEC 61966-2-1)."""
_WHITE = _TO_XYZ.sum(axis=1)
"""XYZ of sRGB's white. Exactly that of the matrix, so that every grey has a* = b* = 0."""
_DELTA = 6 / 29
_AT_ONCE = 1_000_000
"""Colours converted at a time: 24 MB for each step."""


class CropRefused(ValueError):
    """A crop that is no crop. The message names it and the cure."""


@dataclass(frozen=True)
class Crop:
    """`name`: of CROPS, or the four shares as they are written in one way."""

    name: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Skin:
    """Means over some pixels: L* (0 to 100), b*, and the angle in degrees, None if b* is below LEAST_B."""

    lightness: float
    b: float
    ita: float | None


def parse_crop(text: str) -> Crop:
    """The crop of a name, or of four shares: left, top, right and bottom, 0 to 1, between commas.

    Raises CropRefused.

    Examples
    --------
    >>> parse_crop("0.25, .25,0.750,0.75").name
    '0.25,0.25,0.75,0.75'
    """
    name = text.strip()
    if name in CROPS:
        return Crop(name, *CROPS[name])
    cure = f"Name one of {', '.join(CROPS)}, or write left, top, right and bottom as shares: 0.4,0.3,0.6,0.4"
    try:
        left, top, right, bottom = map(float, name.split(","))
    except ValueError as error:
        raise CropRefused(f"'{name[:60]}' is no crop. {cure}.") from error
    # written so that NaN fails too
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise CropRefused(f"The crop '{name[:60]}' is empty or lies outside the image. {cure}.")
    return Crop(",".join(f"{each:.6g}" for each in (left, top, right, bottom)), left, top, right, bottom)


def cropped(pixels: Pixels, crop: Crop) -> Pixels:
    """The part of an image: its edges are rounded to whole pixels, and at least one pixel is in it.

    Crops scale with the image, so that the published one is as in the paper for 592 x 592 only.
    """
    height, width = pixels.shape[:2]
    rows = _span(crop.top, crop.bottom, height)
    columns = _span(crop.left, crop.right, width)
    return pixels[rows, columns]


def rgb_brightness(pixels: Pixels) -> float:
    """The mean of (R + G + B) / 3, 0 to 255."""
    return float(pixels.mean(dtype=np.float64))


def lab(colours: Colours) -> npt.NDArray[np.float64]:
    """CIE L*a*b* (D65, 2 degrees) of sRGB colours 0 to 255, shape (..., 3)."""
    share = np.asarray(colours, dtype=np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    ratio = linear @ _TO_XYZ.T / _WHITE
    root = np.where(ratio > _DELTA**3, np.cbrt(ratio), ratio / (3 * _DELTA**2) + 4 / 29)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def skin_of(colours: Colours) -> Skin:
    """L*, b* and ITA of at least one colour, shape (..., 3).

    ITA = atan((L* - 50) / b*) in degrees (Chardon, Cretois and Hourseau 1991, doi:10.1111/j.1467-2494.1991.
    tb00561.x), of the mean L* and the mean b*.
    """
    flat = colours.reshape(-1, 3)
    sums = sum(lab(flat[start : start + _AT_ONCE]).sum(axis=0) for start in range(0, len(flat), _AT_ONCE))
    lightness, _, b = (float(each) / len(flat) for each in np.asarray(sums))
    angle = math.degrees(math.atan((lightness - 50) / b)) if b >= LEAST_B else None
    return Skin(lightness, b, angle)


def skin_in(pixels: Pixels, face: Box) -> tuple[Colours, float]:
    """The colours of the skin in a face, shape (n, 3): pixels in the inner ellipse of its box whose chroma is
    that of skin, 77 <= Cb <= 127 and 133 <= Cr <= 173 (Chai and Ngan 1999, doi:10.1109/76.767122; full-range
    BT.601). Also their share of the ellipse, of whose pixels those outside the image do not count.
    """
    left, top, wide, high = face
    rows, columns = slice(max(0, top), max(0, top + high)), slice(max(0, left), max(0, left + wide))
    box = pixels[rows, columns]
    down, across = np.ogrid[: box.shape[0], : box.shape[1]]
    x = (across + 0.5 + max(0, left) - left - wide / 2) / (_ELLIPSE * wide / 2)
    y = (down + 0.5 + max(0, top) - top - high / 2) / (_ELLIPSE * high / 2)
    inside = box[x**2 + y**2 <= 1]
    red, green, blue = inside.astype(np.float64).T
    cb = 128 - 0.168736 * red - 0.331264 * green + 0.5 * blue
    cr = 128 + 0.5 * red - 0.418688 * green - 0.081312 * blue
    found = inside[(_CB[0] <= cb) & (cb <= _CB[1]) & (_CR[0] <= cr) & (cr <= _CR[1])]
    return found, len(found) / max(1, len(inside))


def _span(first: float, last: float, size: int) -> slice:
    start = min(round(first * size), size - 1)
    return slice(start, max(start + 1, round(last * size)))
