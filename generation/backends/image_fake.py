"""Fake pictures: small drawings made from the prompt and the seed, on any machine, in milliseconds.

A drawing shows no group and no attribute; a hash decides its colours and shapes. With an initial image, the
picture is (1 - strength) of that and strength of the drawing, which is the same at every strength: so its
brightness changes from the initial image's to the drawing's in a straight line.
"""

import hashlib
from collections.abc import Sequence
from random import Random

import PIL
from PIL import Image, ImageDraw

from generation.backends.base import About, GeneratedImage, ImageRequest, TextToImage
from generation.recipes.recipes import ImageRecipe

_SHAPES = 7
_FLAGGED_OF_256 = 5  # about one drawing in fifty, so that verdicts can be seen and tested


class FakeTextToImage:
    """A TextToImage without a model. The same hash decides `flagged`; safety "block" makes flagged images
    black."""

    batch = 64

    def __init__(self, recipe: ImageRecipe) -> None:
        self._recipe = recipe
        self.about = About("fake", "1", "cpu", {"pillow": PIL.__version__})

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [self._draw(request) for request in requests]

    def _draw(self, request: ImageRequest) -> GeneratedImage:
        recipe = self._recipe
        inputs = (
            request.prompt,
            recipe.negative_prompt,
            str(request.seed),
            str(recipe.steps),
            str(recipe.guidance),
        )
        hashed = hashlib.sha256("\x1f".join(inputs).encode()).digest()
        flagged = hashed[-1] < _FLAGGED_OF_256 if recipe.safety != "off" else None
        size = recipe.width, recipe.height
        if flagged and recipe.safety == "block":
            return GeneratedImage(Image.new("RGB", size), flagged)
        drawing = _drawing(Random(hashed), size)  # noqa: S311 - a drawing, not a secret
        if request.initial is not None:
            drawing = Image.blend(request.initial, drawing, request.strength)
        return GeneratedImage(drawing, flagged)


def _drawing(random: Random, size: tuple[int, int]) -> Image.Image:
    width, height = size
    picture = Image.new("RGB", size, _colour(random, 170, 255))
    draw = ImageDraw.Draw(picture)
    for _ in range(_SHAPES):
        left, top = random.uniform(-0.1, 0.8) * width, random.uniform(-0.1, 0.8) * height
        right = left + random.uniform(0.1, 0.4) * width
        bottom = top + random.uniform(0.1, 0.4) * height
        shape = draw.ellipse if random.random() < 0.5 else draw.rectangle
        shape((left, top, right, bottom), fill=_colour(random, 30, 220))
    return picture


def _colour(random: Random, low: int, high: int) -> tuple[int, int, int]:
    return random.randint(low, high), random.randint(low, high), random.randint(low, high)


def load(recipe: ImageRecipe, *, device: str = "") -> TextToImage:
    """Needs no weights; ignores `device` and `recipe.model`: the recorded model is 'fake'."""
    return FakeTextToImage(recipe)
