"""Brightness of a crop, and lightness of the skin in a face: measured in the pixels, by no model.

Its answers are JSON, one object for each image, whatever the prompt is:

- `crop`, `rgb`, `pixels`: the mean of (R + G + B) / 3 over the crop, 0 to 255, and its number of pixels;
- `region`: "face" if `lightness` (L*), `b` (b*) and `ita` (degrees, or null) are of the skin in the largest
  face, "crop" if they are of the crop; `note`: why there is no face; `skin_pixels`: 0 without one.

Option `crop` (default published): a name, or four shares (brightness.py). Option `faces` (default true): look
for faces, with OpenCV's cascade for frontal faces, if OpenCV is installed (the extra `faces`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import PIL

from generation.backends import brightness, options
from generation.backends.base import About, Answerer, BackendError, Question, Reply
from generation.backends.brightness import Box, Colours, Crop, CropRefused, Pixels
from generation.recipes.askings import DescriptionRecipe

NO_OPENCV, NO_FACE, NO_SKIN, NOT_ASKED = (
    "OpenCV is not installed",
    "no face found",
    "too little skin in the face",
    "faces were not looked for",
)
"""Why L* and ITA are of the crop."""
_CASCADE = "haarcascade_frontalface_default.xml"
_LONGEST_SIDE = 1024
"""Faces are looked for in an image of at most this size: the time grows with the pixels."""
_DIGITS = 4

Finder = Callable[[Pixels], Sequence[Box]]
"""The boxes of the faces in an image."""


@dataclass(frozen=True, kw_only=True)
class BrightnessOptions:
    """The options as people write them."""

    crop: str = brightness.PUBLISHED
    faces: bool = True


class BrightnessMeter:
    """An Answerer without a model. `find` None: no faces; `without`: why."""

    batch = 16

    def __init__(self, crop: Crop, find: Finder | None, *, without: str = "", opencv: str = "") -> None:
        self._crop, self._find, self._without = crop, find, without
        libraries = {"pillow": PIL.__version__, "numpy": np.__version__}
        # no part of the version: an image measured again elsewhere may have its face found
        self.about = About("brightness", "1", "cpu", libraries | ({"opencv": opencv} if opencv else {}))

    def answer(self, questions: Sequence[Question]) -> list[Reply]:
        """Raises BackendError for a question without an image."""
        return [Reply(json.dumps(self._measure(one)), "stop", 0, 0) for one in questions]

    def _measure(self, question: Question) -> dict[str, Any]:
        if question.image is None:
            raise BackendError("Brightness needs an image: measure an image set.")
        pixels: Pixels = np.asarray(question.image.convert("RGB"))
        part = brightness.cropped(pixels, self._crop)
        colours, note = self._skin(pixels)
        found = brightness.skin_of(part if colours is None else colours)
        return {
            "crop": self._crop.name,
            "rgb": round(brightness.rgb_brightness(part), _DIGITS),
            "pixels": part.shape[0] * part.shape[1],
            "region": "crop" if colours is None else "face",
            "note": note,
            "lightness": round(found.lightness, _DIGITS),
            "b": round(found.b, _DIGITS),
            "ita": None if found.ita is None else round(found.ita, _DIGITS),
            "skin_pixels": 0 if colours is None else len(colours),
        }

    def _skin(self, pixels: Pixels) -> tuple[Colours | None, str]:
        """The colours of the skin in the largest face, shape (n, 3); None without one, and why."""
        if self._find is None:
            return None, self._without
        faces = self._find(pixels)
        if not len(faces):
            return None, NO_FACE
        skin, share = brightness.skin_in(pixels, max(faces, key=lambda box: box[2] * box[3]))
        return (skin, "") if share >= brightness.LEAST_SKIN else (None, NO_SKIN)


def opencv_finder(cv2: Any) -> Finder:
    """Frontal faces by OpenCV's Haar cascade (Viola and Jones 2001; Lienhart and Maydt 2002).

    Raises BackendError if its file cannot be read.
    """
    cascade = cv2.CascadeClassifier(cv2.data.haarcascades + _CASCADE)
    if cascade.empty():
        raise BackendError(
            f"OpenCV lacks the file {_CASCADE}. Install the extra 'faces' again, or set faces=false."
        )

    def find(pixels: Pixels) -> list[Box]:
        scale = min(1.0, _LONGEST_SIDE / max(pixels.shape[:2]))
        grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
        if scale < 1:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        least = max(24, min(grey.shape) // 10)
        boxes = cascade.detectMultiScale(grey, scaleFactor=1.1, minNeighbors=5, minSize=(least, least))
        return [tuple(round(int(each) / scale) for each in box) for box in boxes]

    return find


def check(recipe: DescriptionRecipe) -> tuple[Crop, bool]:
    """The recipe's crop, and whether faces are looked for. Raises BackendError."""
    unused: Mapping[str, str] = {
        "model": "brightness is measured without a model; leave model empty",
        "revision": "brightness is measured without a model; leave revision empty",
        "server": "brightness is measured by the worker; leave server empty",
        "system": "brightness is measured without a prompt; leave system empty",
        "times": "a measurement gives the same each time; choose 1",
    }
    options.refuse_changed(recipe, unused)
    chosen = options.parse(recipe.options, BrightnessOptions)
    try:
        return brightness.parse_crop(chosen.crop), chosen.faces
    except CropRefused as error:
        raise BackendError(f"recipe: options.crop: {error}") from error


def load(recipe: DescriptionRecipe, *, device: str = "") -> Answerer:
    """Needs no weights; ignores `device`. Raises BackendError as `check`."""
    crop, faces = check(recipe)
    if not faces:
        return BrightnessMeter(crop, None, without=NOT_ASKED)
    try:
        import cv2
    except ImportError:
        return BrightnessMeter(crop, None, without=NO_OPENCV)
    return BrightnessMeter(crop, opencv_finder(cv2), opencv=str(cv2.__version__))
