"""Small copies of images, for walls of many. Pure functions, no Django."""

import io
import struct
import zlib
from typing import Literal

from PIL import Image, ImageOps

MAX_PIXELS = 40_000_000
"""A square of 6 324 pixels: more than any text-to-image model makes, and still safe to decode."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError)
"""What Pillow raises for a damaged file."""
_QUALITY = 80


class CannotShrink(ValueError):
    """The file is no image that can be decoded here."""


def shrink(
    data: bytes, *, side: int, form: Literal["WEBP", "JPEG"] = "WEBP", quality: int = _QUALITY
) -> bytes:
    """The first frame as WebP, or as JPEG without transparency: without metadata, upright, at most `side`
    pixels wide and high, never larger than it was. Raises CannotShrink for what is damaged, or claims more
    than MAX_PIXELS: a file of a few bytes can claim gigabytes."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise CannotShrink(f"It claims {image.width} × {image.height} pixels.")
            image.draft("RGB", (side, side))  # a JPEG is then decoded at a fraction of its size
            upright = ImageOps.exif_transpose(image)
            has_alpha = form == "WEBP" and ("A" in upright.mode or "transparency" in upright.info)
            small = upright.convert("RGBA" if has_alpha else "RGB")
    except BROKEN as error:
        raise CannotShrink(str(error)) from error
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    small.info = {}
    stored = io.BytesIO()
    # `method` is of WebP only: how long to look for a smaller file
    small.save(stored, format=form, quality=quality, **({"method": 4} if form == "WEBP" else {}))
    return stored.getvalue()
