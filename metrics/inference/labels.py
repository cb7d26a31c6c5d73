"""Which of a model's labels is entailment (PROTOCOL §15). Pure: no Django.

Labels are recognised by their names, never by their places: models order them differently.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_WITHOUT_NAME = re.compile(r"label[_ -]?\d+", re.I)


class LabelsRefused(ValueError):
    """Labels without an entailment. The message says what there is, and the cure."""


@dataclass(frozen=True)
class LabelNames:
    """The model's own names of the three labels; "" for one that it does not have."""

    entailment: str
    neutral: str = ""
    contradiction: str = ""


def recognise(labels: Iterable[str]) -> LabelNames:
    """The names of the labels that a model answers with. Only entailment must be among them: some models know
    nothing else but *not_entailment*.

    Raises LabelsRefused if there is no entailment, or two labels with the same name.

    Examples
    --------
    >>> recognise(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"])
    LabelNames(entailment='ENTAILMENT', neutral='NEUTRAL', contradiction='CONTRADICTION')
    """
    known = list(labels)
    shown = ", ".join(known) or "none"
    found: dict[str, str] = {}
    for label in known:
        name = label.strip().lower()
        if name in found:
            raise LabelsRefused(f"The model has two labels '{name}' ({shown}). Name its labels differently.")
        if name in LABELS:
            found[name] = label
    if ENTAILMENT not in found:
        raise LabelsRefused(
            f"None of the model's labels is entailment: {shown}. "
            + (
                "Its configuration numbers them and does not name them. Look up their order in the model's "
                "description, and name them in that order (--label, or the field of that name)."
                if all(_WITHOUT_NAME.fullmatch(label.strip()) for label in known)
                else "Choose a model that was trained for natural language inference (entailment, neutral, "
                "contradiction)."
            )
        )
    return LabelNames(**found)
