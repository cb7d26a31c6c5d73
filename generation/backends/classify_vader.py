"""VADER (Hutto and Gilbert 2014): a lexicon with rules for the sentiment of a text, not a trained classifier.

A text is negative if its `compound` is at most -0.05, positive if it is at least 0.05, else neutral: the
thresholds of its authors. The label has the probability 1, since a lexicon gives none. Runs on any machine,
in microseconds; it knows English words only.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata

from generation.backends import options
from generation.backends.base import About, BackendError, Classifier, TextPair
from generation.recipes.askings import ClassificationRecipe

LABELS = ("negative", "neutral", "positive")
THRESHOLD = 0.05
_PACKAGE = "vaderSentiment"


class VaderClassifier:
    """A Classifier without a model."""

    batch = 256
    labels: tuple[str, ...] = LABELS

    def __init__(self, scores: Callable[[str], Mapping[str, float]]) -> None:
        self._scores = scores
        version = metadata.version(_PACKAGE)
        self.about = About("vader", version, "cpu", {_PACKAGE: version})

    def classify(self, texts: Sequence[TextPair]) -> list[tuple[float, ...]]:
        found = [
            label_of(self._scores(" ".join(filter(None, (one.text, one.pair))))["compound"]) for one in texts
        ]
        return [tuple(float(label == name) for name in LABELS) for label in found]


def label_of(compound: float) -> str:
    """The label of a text by its compound score, -1 to 1."""
    if compound <= -THRESHOLD:
        return "negative"
    return "positive" if compound >= THRESHOLD else "neutral"


def check(recipe: ClassificationRecipe) -> None:
    """Raises BackendError for labels or options: it has its own labels, and no options."""
    if recipe.labels:
        raise BackendError("recipe: labels: the lexicon's labels have names; leave labels empty.")
    options.parse(recipe.options, options.NoOptions)


def load(recipe: ClassificationRecipe, *, device: str = "") -> Classifier:
    """Needs no weights; ignores `device` and `recipe.model`. Raises BackendError as `check`."""
    check(recipe)
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return VaderClassifier(SentimentIntensityAnalyzer().polarity_scores)
