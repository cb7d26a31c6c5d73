"""Fake pictures: small drawings made from the prompt and the seed, on any machine, in milliseconds.

For laptops, the demo and tests: a run with this backend passes through everything that a real one does. A
drawing looks like no group and depicts no attribute; its colours and figures are drawn by a hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random

import PIL
from PIL import Image, ImageDraw

from generation.backends.base import About, Picture, TextToImage, Wanted
from generation.recipes.recipes import ImageRecipe

_FIGURES = 7
_FLAGGED_OF_256 = 5  # about one drawing in fifty, so that what follows a verdict can be seen and tested


class Drawings:
    """A TextToImage without a model. `flagged` is drawn by the same hash; asked to block, it draws black."""

    batch = 64

    def __init__(self, recipe: ImageRecipe) -> None:
        self._recipe = recipe
        self.about = About("fake", "1", "cpu", {"pillow": PIL.__version__})

    def generate(self, wanted: Sequence[Wanted]) -> list[Picture]:
        return [self._draw(one) for one in wanted]

    def _draw(self, one: Wanted) -> Picture:
        recipe = self._recipe
        told = (one.prompt, recipe.negative_prompt, str(one.seed), str(recipe.steps), str(recipe.guidance))
        drawn = hashlib.sha256("\x1f".join(told).encode()).digest()
        flagged = drawn[-1] < _FLAGGED_OF_256 if recipe.safety != "off" else None
        size = recipe.width, recipe.height
        if flagged and recipe.safety == "block":
            return Picture(Image.new("RGB", size), flagged)
        return Picture(_drawing(Random(drawn), size), flagged)  # noqa: S311 - a drawing, not a secret


def _drawing(random: Random, size: tuple[int, int]) -> Image.Image:
    width, height = size
    picture = Image.new("RGB", size, _colour(random, 170, 255))
    draw = ImageDraw.Draw(picture)
    for _ in range(_FIGURES):
        left, top = random.uniform(-0.1, 0.8) * width, random.uniform(-0.1, 0.8) * height
        right = left + random.uniform(0.1, 0.4) * width
        bottom = top + random.uniform(0.1, 0.4) * height
        figure = draw.ellipse if random.random() < 0.5 else draw.rectangle
        figure((left, top, right, bottom), fill=_colour(random, 30, 220))
    return picture


def _colour(random: Random, low: int, high: int) -> tuple[int, int, int]:
    return random.randint(low, high), random.randint(low, high), random.randint(low, high)


def load(recipe: ImageRecipe, *, device: str = "") -> TextToImage:
    """Needs no weights; `device` is not used, and `recipe.model` neither: what it makes is named 'fake'."""
    return Drawings(recipe)


__all__ = ["Drawings", "load"]
