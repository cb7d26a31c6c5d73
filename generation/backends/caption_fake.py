"""Fake captions: sentences drawn from a short vocabulary by a hash of the picture, on any machine.

The sentences say nothing about what the picture shows.
"""

import hashlib
from collections.abc import Sequence
from random import Random

from PIL.Image import Image

from generation.backends.base import About, Captioner, ScoredCaption
from generation.recipes.recipes import CaptionRecipe

_WHO = ("a person", "a man", "a woman", "somebody", "an adult")
_HOW = ("smiling", "tall", "old", "young", "serious", "cheerful", "tired", "elegant", "rural", "strong")
_WEARING = ("a hat", "a coat", "glasses", "a scarf", "a shirt", "a dress", "a suit", "jewellery")
_WHERE = ("in a street", "in a field", "at a desk", "near a wall", "in a room", "by the sea", "in a market")
_SENTENCES = len(_WHO) * len(_HOW) * len(_WEARING) * len(_WHERE)  # 2,800, more than a recipe can ask for


class FakeCaptioner:
    """A Captioner without a model."""

    about = About("fake", "1", "cpu", {})
    batch = 64

    def caption(self, images: Sequence[Image], *, count: int, seed: int) -> list[list[ScoredCaption]]:
        return [_captions(image, count, seed) for image in images]


def _captions(image: Image, count: int, seed: int) -> list[ScoredCaption]:
    hashed = hashlib.sha256(f"{seed} {image.size} ".encode() + image.convert("RGB").tobytes()).digest()
    random = Random(hashed)  # noqa: S311 - a sentence, not a secret
    chosen = random.sample(range(_SENTENCES), count)
    scores = sorted((random.random() for _ in chosen), reverse=True)
    return [ScoredCaption(_sentence(number), score) for number, score in zip(chosen, scores, strict=True)]


def _sentence(number: int) -> str:
    number, who = divmod(number, len(_WHO))
    number, how = divmod(number, len(_HOW))
    where, wearing = divmod(number, len(_WEARING))
    return f"{_WHO[who]}, {_HOW[how]}, wearing {_WEARING[wearing]} {_WHERE[where]}"


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Needs no weights; ignores `device`."""
    return FakeCaptioner()
