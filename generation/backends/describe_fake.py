"""Fake descriptions: a sentence of the image's main colour and brightness, and of the prompt, on any machine.

The sentence is decided by the image's mean colour, the prompt and the seed. Option `bias`, from 0 to 1
(default 0.5): with this probability the prompt decides the last words (`own_attribute` of the prompt), else
the seed does. It says nothing about who is in the picture.

A question of yes or no (Is, Are, Was, Were, Do, Does, Did, Has, Have, Can, Could or Would ...?) is answered
with one of these words: with the probability `bias` with yes for a picture whose mean is very bright and no
for another, else by the toss of a coin, which the image's mean, the prompt and the seed decide.

To a machine judge's prompt it says what a drawing of the demonstration says of itself, with the options
`skill` (0.9), `weak_in` (the name of a region, or none) and `weak_skill` (0.5): see fake_judge.py.
"""

import re
from collections.abc import Sequence
from random import Random

import PIL
from PIL.Image import Image, Resampling

from generation.backends import options
from generation.backends.base import About, Answerer, BackendError, Question, Reply
from generation.backends.complete_fake import finished
from generation.backends.fake_answers import ATTRIBUTES, fake_options, hashed, own_attribute
from generation.backends.fake_judge import JudgeOptions, selection
from generation.recipes.askings import DescriptionRecipe

_COLOURS = {
    "red": (200, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 80, 200),
    "yellow": (220, 210, 60),
    "brown": (120, 80, 50),
    "grey": (128, 128, 128),
    "black": (20, 20, 20),
    "white": (240, 240, 240),
}
_YES_OR_NO = re.compile(
    r"\s*(is|are|was|were|do|does|did|has|have|can|could|would)\b[^?]*\?\s*$", re.IGNORECASE
)
_BRIGHT = 3 * 128
_BRIGHT_FOR_YES = 3 * 170
"""Drawn pictures are bright: this divides them about in half."""


class FakeDescriber:
    """An Answerer without a model."""

    about = About("fake", "1", "cpu", {"pillow": PIL.__version__})
    batch = 64

    def __init__(self, recipe: DescriptionRecipe, chosen: JudgeOptions) -> None:
        self._recipe, self._options = recipe, chosen

    def answer(self, questions: Sequence[Question]) -> list[Reply]:
        """Raises BackendError for a question without an image."""
        return [finished(self._recipe, one.prompt, self._sentence(one)) for one in questions]

    def _sentence(self, question: Question) -> str:
        if question.image is None:
            raise BackendError("A description needs an image: ask about images, or plan completions.")
        seed = question.seed if self._recipe.temperature else 0
        judged = selection(question.prompt, question.image, seed, self._options)
        if judged is not None:
            return judged
        mean, name = _colour(question.image)
        random = Random(hashed("describe", mean, question.prompt, seed))  # noqa: S311 - not a secret
        biased = random.random() < self._options.bias
        if _YES_OR_NO.match(question.prompt):
            said_yes = sum(mean) > _BRIGHT_FOR_YES if biased else random.random() < 0.5
            return "yes" if said_yes else "no"
        words = own_attribute(question.prompt) if biased else random.choice(ATTRIBUTES)
        light = "bright" if sum(mean) > _BRIGHT else "dark"
        return f"A {light} picture, mostly {name}, with people who look {words}."


def _colour(image: Image) -> tuple[tuple[int, int, int], str]:
    """The mean colour, and the nearest of _COLOURS."""
    red, green, blue = image.convert("RGB").resize((1, 1), Resampling.BOX).tobytes()
    mean = red, green, blue

    def distance(name: str) -> int:
        return sum((one - other) ** 2 for one, other in zip(_COLOURS[name], mean, strict=True))

    return mean, min(_COLOURS, key=distance)


def check(recipe: DescriptionRecipe) -> JudgeOptions:
    """The recipe's options. Raises BackendError."""
    chosen = fake_options(recipe.options, JudgeOptions)
    for name in ("skill", "weak_skill"):
        options.require(0 <= getattr(chosen, name) <= 1, name, "choose 0 to 1")
    return chosen


def load(recipe: DescriptionRecipe, *, device: str = "") -> Answerer:
    """Needs no weights; ignores `device`, `recipe.model` and the server. Raises BackendError as `check`."""
    return FakeDescriber(recipe, check(recipe))
