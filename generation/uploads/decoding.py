"""Validate an uploaded image, measure it and remove its metadata.

A file that holds only pixels is kept byte for byte. Otherwise (EXIF with location and camera, XMP, comments,
a generator's settings, trailing bytes) its pixels are stored as PNG, rotated as the EXIF says. No Django.
"""

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageOps

from annotation.images.shrinking import BROKEN, MAX_PIXELS

MAX_BYTES = 50_000_000
_FORMATS = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}
_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
_CURE = "Save it again as an 8-bit PNG, JPEG or WebP."

# Chunks that describe the pixels. All others may say something about a person, place or program.
_PNG_KEPT = frozenset(b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP sBIT bKGD pHYs".split())
_WEBP_KEPT = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ICCP"})


class PictureRefused(ValueError):
    """A file that is not a supported image. The message says why and what to do."""


@dataclass(frozen=True)
class CleanImage:
    """An image as it is stored. `reencoded`: not the uploaded file, but its pixels as PNG."""

    data: bytes
    suffix: str
    width: int
    height: int
    reencoded: bool


@dataclass(frozen=True)
class _Structure:
    """What the file's structure says, before anything is decoded."""

    width: int
    height: int
    only_pixels: bool


def clean_image(data: bytes) -> CleanImage:
    """Decode and check the image in `data`. Raises PictureRefused."""
    if len(data) > MAX_BYTES:
        raise PictureRefused(f"the file is larger than {MAX_BYTES / 1e6:.0f} MB. Save it smaller.")
    name, read_structure = _format(data)
    try:
        structure = read_structure(data)
    except (struct.error, IndexError) as error:
        raise PictureRefused(f"the {name} file is cut short or damaged. Download it again.") from error
    # Before decoding: a file of a few bytes can claim gigabytes of pixels.
    if not 0 < structure.width * structure.height <= MAX_PIXELS:
        raise PictureRefused(
            f"it claims {structure.width} × {structure.height} pixels; the limit is {MAX_PIXELS / 1e6:.0f} "
            "million. Make it smaller."
        )
    try:
        with Image.open(io.BytesIO(data), formats=[name]) as image:
            if image.size != (structure.width, structure.height):
                raise PictureRefused("it names two different sizes. Download it again.")
            if getattr(image, "n_frames", 1) > 1:
                raise PictureRefused(f"it is an animation. {_CURE}")
            image.load()
            if structure.only_pixels and image.mode in _MODES:
                return CleanImage(data, _FORMATS[name], structure.width, structure.height, reencoded=False)
            return _reencode(image)
    except BROKEN as error:
        raise PictureRefused(
            f"the {name} file is cut short or damaged ({error}). Download it again."
        ) from error


def _reencode(image: Image.Image) -> CleanImage:
    """The pixels as PNG, upright; the colour profile stays, because it defines the pixels' colours."""
    upright = ImageOps.exif_transpose(image)
    if image.mode not in _MODES:
        if image.mode != "CMYK":
            raise PictureRefused(f"its pixel format is '{image.mode}'. {_CURE}")
        upright = upright.convert("RGB")
    profile = image.info.get("icc_profile") if upright.mode == image.mode else None
    upright.info = {key: value for key, value in image.info.items() if key == "transparency"}
    stored = io.BytesIO()
    upright.save(stored, format="PNG", icc_profile=profile)
    return CleanImage(stored.getvalue(), ".png", upright.width, upright.height, reencoded=True)


def _format(data: bytes) -> tuple[str, Callable[[bytes], _Structure]]:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG", _png
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG", _jpeg
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP", _webp
    raise PictureRefused(f"it is not a PNG, JPEG or WebP image, whatever its name says. {_CURE}")


def _png(data: bytes) -> _Structure:
    width, height = struct.unpack_from(">II", data, 16)
    offset, only_pixels = 8, True
    while offset < len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        if kind == b"acTL":
            raise PictureRefused(f"it is an animation. {_CURE}")
        only_pixels &= kind in _PNG_KEPT
        offset += 12 + length
        if kind == b"IEND":
            return _Structure(width, height, only_pixels and offset == len(data))
    raise PictureRefused("the PNG file is cut short. Download it again.")


def _jpeg(data: bytes) -> _Structure:
    """Reads all segments, also between scans, and skips fill bytes and stuffed zeros."""
    width = height = 0
    offset, only_pixels = 2, True
    while True:
        while data[offset] == 0xFF and data[offset + 1] == 0xFF:
            offset += 1
        marker = data[offset + 1]
        if data[offset] != 0xFF:
            raise PictureRefused("the JPEG file is damaged. Download it again.")
        offset += 2
        if marker == 0xD9:
            return _Structure(width, height, only_pixels and offset == len(data))
        (length,) = struct.unpack_from(">H", data, offset)
        body = data[offset + 2 : offset + 16]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, offset + 3)
        elif marker == 0xFE or 0xE0 <= marker <= 0xEF:
            only_pixels &= (
                (marker == 0xE0 and body.startswith(b"JFIF\0"))
                or (marker == 0xE2 and body.startswith(b"ICC_PROFILE\0"))
                or (marker == 0xEE and body.startswith(b"Adobe"))
            )
        offset += length
        if marker == 0xDA:
            while not (data[offset] == 0xFF and data[offset + 1] not in (0x00, *range(0xD0, 0xD8))):
                following = data.find(b"\xff", offset + 1)
                if following < 0:
                    raise PictureRefused("the JPEG file is cut short. Download it again.")
                offset = following


def _webp(data: bytes) -> _Structure:
    (size,) = struct.unpack_from("<I", data, 4)
    end = size + 8
    if end > len(data):
        raise PictureRefused("the WebP file is cut short. Download it again.")
    offset, only_pixels, found = 12, end == len(data), (0, 0)
    while offset + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, offset)
        only_pixels &= kind in _WEBP_KEPT
        body = data[offset + 8 : offset + 18]
        if kind == b"VP8X":
            if body[0] & 0x02:
                raise PictureRefused(f"it is an animation. {_CURE}")
            found = (int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1)
        elif kind == b"VP8 " and found == (0, 0):
            found = tuple(each & 0x3FFF for each in struct.unpack_from("<HH", body, 6))
        elif kind == b"VP8L" and found == (0, 0):
            bits = int.from_bytes(body[1:5], "little")
            found = ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        offset += 8 + length + (length & 1)
    return _Structure(*found, only_pixels)
