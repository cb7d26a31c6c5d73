"""What a machine judge is asked: its design, and the keys of its askings (PROTOCOL §16). Pure: no Django."""

import itertools
import random
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from metrics.core.purposes import MACHINE_JUDGE

BASE, ORDER, WORDING = "base", "order", "wording"
"""Variants: the item as annotators see it; its options in another order; another wording."""
SAMPLES = "samples"
"""The same asking again, in the scores of how stable a judge is."""
LANGUAGE = "language"
"""Another language: the variant `language-es`."""
PROMPT_VERSION = 1
"""Of the texts in prompts.py: a new version makes new runs."""
_NAMESPACE = uuid.UUID("6f1d9a9e-6a86-4c0e-9f0a-0c4d3b1b7d52")


class Boxes(StrEnum):
    """How a model gives the corners of boxes: not at all, in pixels of the image, or in thousandths of its
    width and height."""

    NONE = "none"
    PIXELS = "pixels"
    THOUSANDTHS = "thousandths"


@dataclass(frozen=True, kw_only=True)
class Design:
    """One judge of one task. `task`: its kind. `boxes`: one of Boxes.

    Every data unit is asked about as annotators see it (BASE). `again`: how many units, drawn by `seed`, are
    asked about once more in each other variant: with the options in another order, with the other `wording`
    if there is one, and in each of `languages`.
    """

    study: str
    task: str
    task_version: int
    prompt_version: int = PROMPT_VERSION
    boxes: str = Boxes.NONE.value
    again: int = 0
    wording: str = ""
    languages: tuple[str, ...] = ()
    seed: int = 0

    @property
    def is_rating(self) -> bool:
        """Whether items are rated; else options of an image are selected."""
        return self.task != "depiction"

    @property
    def variants(self) -> tuple[str, ...]:
        """BASE, and those of the units that are asked about again."""
        if not self.again:
            return (BASE,)
        other = (WORDING,) if self.wording else ()
        return (BASE, ORDER, *other, *(f"{LANGUAGE}-{code}" for code in self.languages))

    def as_json(self) -> dict[str, Any]:
        """As `design` of a recipe."""
        return {"purpose": MACHINE_JUDGE, **asdict(self), "languages": list(self.languages)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Design":
        """Inverse of `as_json`."""
        fields = {name: value for name, value in stored.items() if name != "purpose"}
        return cls(**{**fields, "languages": tuple(fields["languages"])})


def language_of(variant: str) -> str:
    """The language of a variant; "" if it has none of its own.

    Examples
    --------
    >>> language_of("language-pt-br"), language_of("order")
    ('pt-br', '')
    """
    return variant.removeprefix(f"{LANGUAGE}-") if variant.startswith(f"{LANGUAGE}-") else ""


def asking_key(position: int, variant: str) -> str:
    """The key of the asking about the unit at this position of the task in a variant: the same in every
    database."""
    return f"{position}.{variant}"


def read_key(key: str) -> tuple[int, str]:
    """Inverse of `asking_key`. Raises ValueError for another key.

    Examples
    --------
    >>> read_key(asking_key(17, "language-es"))
    (17, 'language-es')
    """
    position, _, variant = key.partition(".")
    return int(position), variant


def order_key(design: Design, position: int, variant: str, *, attributes: int) -> uuid.UUID:
    """The key that shuffles the `attributes` of the unit at a position (`annotate.queries.shown_order`). Only
    the variant ORDER has another order than BASE, so that nothing else differs in it; with one attribute
    there is no other.

    Examples
    --------
    >>> design = Design(study="s", task="depiction", task_version=1)
    >>> orders = [_shuffled(2, order_key(design, 7, each, attributes=2)) for each in (BASE, ORDER)]
    >>> orders[0] == orders[1]
    False
    """
    base = uuid.uuid5(_NAMESPACE, f"{design.seed}/{position}")
    if variant != ORDER or attributes < 2:
        return base
    shown = _shuffled(attributes, base)
    keys = (uuid.uuid5(base, str(number)) for number in itertools.count())
    return next(key for key in keys if _shuffled(attributes, key) != shown)


def _shuffled(number: int, key: uuid.UUID) -> list[int]:
    """So many places in the order in which a key shuffles them."""
    places = list(range(number))
    random.Random(key.int).shuffle(places)  # noqa: S311 - an order, not a secret
    return places


def drawn_again(units: int, design: Design) -> list[int]:
    """The places, among so many units in the order of the task, that are asked about again, rising."""
    number = min(design.again, units)
    chosen = random.Random(f"{design.seed}/again")  # noqa: S311 - a draw to be repeated, not a secret
    return sorted(chosen.sample(range(units), number))


def label_order(number: int, variant: str) -> tuple[int, ...]:
    """The places of the labels of a scale in the order in which they are shown: as annotators see them, or
    the other way round.

    Examples
    --------
    >>> label_order(3, ORDER)
    (2, 1, 0)
    """
    places = tuple(range(number))
    return places[::-1] if variant == ORDER else places
