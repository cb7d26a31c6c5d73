"""Small copies of stored images, made when they are first asked for and kept beside the images."""

import logging

from django.core.files.storage import default_storage

from annotation.images import files
from annotation.images.shrinking import shrink
from annotation.models import Image

log = logging.getLogger(__name__)

SIDES = (320, 640)
"""Pixels: for walls, and for pages with boxes."""
_FOLDER = "thumbnails"


def thumbnail(image: Image, *, side: int) -> bytes:
    """The image as WebP, at most `side` pixels wide and high; made and kept if it is not there yet.

    Its name holds the hash of the image, so it never shows another one. A copy that cannot be kept is made
    again next time. Raises FileNotFoundError if the image itself is gone, even if its copy is not: an image
    that was taken out is shown nowhere. Raises CannotShrink for a damaged file, OSError if the storage does
    not answer.
    """
    name = f"{_FOLDER}/{image.sha256}-{side}.webp"
    if not default_storage.exists(image.file.name or ""):
        raise FileNotFoundError(image.file.name)
    try:
        with default_storage.open(name) as kept:
            return bytes(kept.read())
    except FileNotFoundError:
        pass
    with image.file.open("rb") as whole:
        data = shrink(whole.read(), side=side)
    try:
        files.write(name, data)
    except OSError:
        log.exception("thumbnail of image %s cannot be kept", image.pk)
    return data
