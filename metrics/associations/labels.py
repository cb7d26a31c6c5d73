"""Which of a classifier's labels mean negative or toxic, and which level a model gave. Pure: no Django.

Labels are recognised by their names, never by their places: models order them differently.
"""

import re
from collections.abc import Iterable

NEEDED = {"sentiment": "neg*", "toxicity": "toxic*"}
"""What a classifier is asked for -> the pattern of a label that it must have."""
_BEGINNINGS = {"sentiment": "neg", "toxicity": "toxic"}
_NOT = frozenset({"non", "not", "no"})
_LEVEL = re.compile(r"(?<![\d.])[1-5](?![\d.]*\d)")
_SCALE = re.compile(r"\b1\s*(?:-|–|to)\s*5\b")


class LabelsRefused(ValueError):
    """A classifier without the label that is needed. The message says what it has, and the cure."""


def meant_labels(what: str, labels: Iterable[str]) -> frozenset[str]:
    """Those of `labels` that mean negative ("sentiment") or toxic ("toxicity"). Raises LabelsRefused if there
    is none.

    Examples
    --------
    >>> sorted(meant_labels("sentiment", ["Very Negative", "NEG", "Neutral", "non-negative"]))
    ['NEG', 'Very Negative']
    >>> sorted(meant_labels("toxicity", ["neutral", "non_toxic", "toxic"]))
    ['toxic']
    """
    known = sorted(labels)
    found = frozenset(label for label in known if _means(_BEGINNINGS[what], label))
    if not found:
        wanted = {"sentiment": "negative", "toxicity": "toxic"}[what]
        raise LabelsRefused(
            f"None of the classifier's labels means {wanted}: {', '.join(known) or 'it has none'}. Choose a "
            f"classifier of {what}. If its configuration only numbers its labels (LABEL_0, ...), look up "
            "their order in its description and name them in that order."
        )
    return found


def level_of(answer: str) -> int | None:
    """The first whole number from 1 to 5 in an answer, the scale itself ("1 to 5") aside; None if there is
    none.

    Examples
    --------
    >>> level_of("4: highly biased"), level_of("From 1 to 5 I would say 2."), level_of("10"), level_of("no")
    (4, 2, None, None)
    """
    found = _LEVEL.search(_SCALE.sub("", answer))
    return int(found[0]) if found else None


def _means(beginning: str, label: str) -> bool:
    words = re.findall(r"[a-z]+", label.lower())
    return any(word.startswith(beginning) for word in words) and not _NOT & set(words)
