"""Smaller copies of images, for a report."""

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image as Pillow

from annotation.images.shrinking import CannotShrink, shrink
from annotation.models import Image
from metrics.report.pages import ShownPicture, ShownSet
from metrics.report.queries.pictures import PictureSet

_SIDE = 480  # pixels: the longer side
_QUALITY = 82


def copy_images(sets: Sequence[PictureSet], folder: Path, *, copy: bool) -> list[ShownSet]:
    """The sets with copies of their images in the folder `images` of `folder`; with none unless `copy`.
    Images whose files cannot be read are left out, and counted. Nothing but the picture is copied:
    files of cameras and models may say who made them, and how."""
    shown = []
    number = 0
    for found in sets:
        pictures, broken = [], 0
        for picture in found.pictures if copy else ():
            try:
                data, width, height = _smaller(picture.image)
            except CannotShrink:
                broken += 1
                continue
            number += 1
            file = f"images/{number:03}.jpg"
            (folder / "images").mkdir(exist_ok=True)
            (folder / file).write_bytes(data)
            pictures.append(ShownPicture(picture, file, width, height))
        shown.append(ShownSet(found, tuple(pictures), broken))
    return shown


def _smaller(image: Image) -> tuple[bytes, int, int]:
    """A JPEG of at most _SIDE pixels, with its width and height. Raises CannotShrink if the file cannot be
    read, or is no image that is safe to decode."""
    try:
        with image.file.open("rb") as file:
            data = shrink(file.read(), side=_SIDE, form="JPEG", quality=_QUALITY)
    except OSError as error:
        raise CannotShrink(str(error)) from error
    with Pillow.open(io.BytesIO(data)) as small:
        return data, small.width, small.height
