"""One picture from outside: looked at whole, measured, and freed of what nobody should carry on.

A file is kept byte for byte if it holds pixels and nothing else. Otherwise (EXIF with a place and a camera,
XMP, comments, a generator's settings, bytes after the end) its pixels are stored anew as PNG, which loses
none of them, upright as the EXIF asked. Pure: no Django.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageOps

LARGEST_BYTES = 50_000_000
MOST_PIXELS = 40_000_000
"""A square of 6 324 pixels: more than any text-to-image model makes, and little enough to decode."""
_FORMATS = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}
_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
_CURE = "Save it again as an 8-bit PNG, JPEG or WebP."

# What describes the pixels themselves. Everything else says something about a person, place or program.
_PNG_KEPT = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP sBIT bKGD pHYs".split(),
)
_WEBP_KEPT = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ICCP"})
_DECODING = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)


class PictureRefused(ValueError):
    """A file that is no picture this program can show; says why and what to do."""


@dataclass(frozen=True)
class Clean:
    """A picture as it is stored. `changed`: it is not the file that was brought, but its pixels as PNG."""

    data: bytes
    suffix: str
    width: int
    height: int
    changed: bool


@dataclass(frozen=True)
class _Seen:
    """What the file's own structure says, before anything is decoded."""

    width: int
    height: int
    only_pixels: bool


def clean(data: bytes) -> Clean:
    """The picture in `data`, every pixel of it decoded once. Raises PictureRefused."""
    if len(data) > LARGEST_BYTES:
        raise PictureRefused(f"the file has more than {LARGEST_BYTES / 1e6:.0f} MB. Save it smaller.")
    name, walk = _format(data)
    try:
        seen = walk(data)
    except (struct.error, IndexError) as error:
        raise PictureRefused(f"the {name} file is cut short or damaged. Fetch it again.") from error
    # Before decoding: a file of a few bytes can claim a picture of gigabytes.
    if not 0 < seen.width * seen.height <= MOST_PIXELS:
        raise PictureRefused(
            f"it claims {seen.width} × {seen.height} pixels; {MOST_PIXELS / 1e6:.0f} million is the most. "
            "Make it smaller."
        )
    try:
        with Image.open(io.BytesIO(data), formats=[name]) as image:
            if image.size != (seen.width, seen.height):
                raise PictureRefused("it names two different sizes. Fetch it again.")
            if getattr(image, "n_frames", 1) > 1:
                raise PictureRefused(f"it is an animation. {_CURE}")
            image.load()
            if seen.only_pixels and image.mode in _MODES:
                return Clean(data, _FORMATS[name], seen.width, seen.height, changed=False)
            return _anew(image)
    except _DECODING as error:
        raise PictureRefused(f"the {name} file is cut short or damaged ({error}). Fetch it again.") from error


def _anew(image: Image.Image) -> Clean:
    """The pixels alone, upright, as PNG; its colour profile stays, since it says what the pixels mean."""
    upright = ImageOps.exif_transpose(image)
    if image.mode not in _MODES:
        if image.mode not in ("CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "La"):
            raise PictureRefused(f"its pixels are of the kind '{image.mode}'. {_CURE}")
        upright = upright.convert("RGBA" if image.mode in ("RGBa", "La") else "RGB")
    profile = image.info.get("icc_profile") if upright.mode == image.mode else None
    upright.info = {key: value for key, value in image.info.items() if key == "transparency"}
    stored = io.BytesIO()
    upright.save(stored, format="PNG", icc_profile=profile)
    return Clean(stored.getvalue(), ".png", upright.width, upright.height, changed=True)


def _format(data: bytes) -> tuple[str, Callable[[bytes], _Seen]]:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG", _png
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG", _jpeg
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP", _webp
    raise PictureRefused(f"it is no PNG, JPEG or WebP picture, whatever its name says. {_CURE}")


def _png(data: bytes) -> _Seen:
    width, height = struct.unpack_from(">II", data, 16)
    place, only_pixels = 8, True
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        if kind == b"acTL":
            raise PictureRefused(f"it is an animation. {_CURE}")
        only_pixels &= kind in _PNG_KEPT
        place += 12 + length
        if kind == b"IEND":
            return _Seen(width, height, only_pixels and place == len(data))
    raise PictureRefused("the PNG file is cut short. Fetch it again.")


def _jpeg(data: bytes) -> _Seen:
    """Walks the segments, those between scans too, over fill bytes and stuffed zeros."""
    width = height = 0
    place, only_pixels = 2, True
    while True:
        while data[place] == 0xFF and data[place + 1] == 0xFF:
            place += 1
        marker = data[place + 1]
        if data[place] != 0xFF:
            raise PictureRefused("the JPEG file is damaged. Fetch it again.")
        place += 2
        if marker == 0xD9:
            return _Seen(width, height, only_pixels and place == len(data))
        (length,) = struct.unpack_from(">H", data, place)
        body = data[place + 2 : place + 16]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, place + 3)
        elif marker == 0xFE or 0xE0 <= marker <= 0xEF:
            only_pixels &= (
                (marker == 0xE0 and body.startswith(b"JFIF\0"))
                or (marker == 0xE2 and body.startswith(b"ICC_PROFILE\0"))
                or (marker == 0xEE and body.startswith(b"Adobe"))
            )
        place += length
        if marker == 0xDA:
            while not (data[place] == 0xFF and data[place + 1] not in (0x00, *range(0xD0, 0xD8))):
                following = data.find(b"\xff", place + 1)
                if following < 0:
                    raise PictureRefused("the JPEG file is cut short. Fetch it again.")
                place = following


def _webp(data: bytes) -> _Seen:
    (size,) = struct.unpack_from("<I", data, 4)
    end = size + 8
    if end > len(data):
        raise PictureRefused("the WebP file is cut short. Fetch it again.")
    place, only_pixels, found = 12, end == len(data), (0, 0)
    while place + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, place)
        only_pixels &= kind in _WEBP_KEPT
        body = data[place + 8 : place + 18]
        if kind == b"VP8X":
            if body[0] & 0x02:
                raise PictureRefused(f"it is an animation. {_CURE}")
            found = (int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1)
        elif kind == b"VP8 " and found == (0, 0):
            found = tuple(each & 0x3FFF for each in struct.unpack_from("<HH", body, 6))
        elif kind == b"VP8L" and found == (0, 0):
            bits = int.from_bytes(body[1:5], "little")
            found = ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        place += 8 + length + (length & 1)
    return _Seen(*found, only_pixels)


__all__ = ["LARGEST_BYTES", "MOST_PIXELS", "Clean", "PictureRefused", "clean"]
