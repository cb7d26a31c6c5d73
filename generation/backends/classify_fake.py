"""Fake classifications: probabilities of entailment, neutral and contradiction by a hash, on any machine.

Three numbers u, v, w from 0 to 1 are the hashes of the texts and of "entailment", "neutral" and
"contradiction" (`uniform`). Option `bias` b, from 0 to 1 (default 0.5):

    P(entailment) = b * u + (1 - b) * u / (u + v + w)
    P(neutral), P(contradiction): the rest, in the proportion v : w

With b = 0 the three are alike, and with b = 1 P(entailment) is u itself: every second pair is entailed.
"""

from collections.abc import Sequence

from generation.backends.base import About, BackendError, Classifier, TextPair
from generation.backends.fake_answers import FakeOptions, fake_options, hashed
from generation.recipes.askings import ClassificationRecipe

LABELS = ("entailment", "neutral", "contradiction")


class FakeClassifier:
    """A Classifier without a model."""

    about = About("fake", "1", "cpu", {})
    batch = 64
    labels: tuple[str, ...] = LABELS

    def __init__(self, bias: float) -> None:
        self._bias = bias

    def classify(self, texts: Sequence[TextPair]) -> list[tuple[float, ...]]:
        return [self._probabilities(pair) for pair in texts]

    def _probabilities(self, pair: TextPair) -> tuple[float, ...]:
        u, v, w = (uniform(pair, label) for label in LABELS)
        entailment = self._bias * u + (1 - self._bias) * u / (u + v + w)
        neutral = (1 - entailment) * v / (v + w)
        return entailment, neutral, 1 - entailment - neutral


def uniform(pair: TextPair, label: str) -> float:
    """A number from 0 to 1, both excluded: 53 bits of the hash of both texts and the label."""
    return ((hashed("classify", pair.text, pair.pair, label) >> 11) + 0.5) / 2**53


def check(recipe: ClassificationRecipe) -> FakeOptions:
    """The recipe's options. Raises BackendError."""
    if recipe.labels:
        raise BackendError("recipe: labels: the fake's labels have names; leave labels empty.")
    return fake_options(recipe.options, FakeOptions)


def load(recipe: ClassificationRecipe, *, device: str = "") -> Classifier:
    """Needs no weights; ignores `device` and `recipe.model`. Raises BackendError as `check`."""
    return FakeClassifier(check(recipe).bias)
