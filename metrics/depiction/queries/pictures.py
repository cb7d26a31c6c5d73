"""One image with its judgements: which attributes were selected, by whom and where."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import QuerySet

from annotation.models import Box, Image, Judgement

_MAX_READABLE_BOXES = 15


@dataclass(frozen=True)
class Rect:
    """A box for SVG, in pixels of the image, with the place of its number."""

    x: float
    y: float
    width: float
    height: float
    label_x: float
    label_y: float
    label_size: float


@dataclass(frozen=True)
class AnnotatorName:
    """An annotator who selected an attribute. `name` is a pseudonym, or the number of the response on the
    page if the source does not identify annotators."""

    name: str
    simulated: bool


@dataclass
class ImageAttribute:
    """An attribute of one image, selected `k` of the `n` times it was shown.

    `number` links its boxes to its row. `annotators`: who selected it, by page; the release shows some
    attributes on several pages of an image.
    """

    number: int
    text: str
    stereotypical: bool
    n: int = 0
    k: int = 0
    annotators: dict[int, list[AnnotatorName]] = field(default_factory=dict)
    rects: list[Rect] = field(default_factory=list)


@dataclass
class JudgedImage:
    image: Image
    selected: list[ImageAttribute] = field(default_factory=list)
    # shown but not selected
    unselected: list[str] = field(default_factory=list)
    none_k: int = 0
    none_n: int = 0

    @property
    def name(self) -> str:
        return self.image.reference or f"{self.image.group} {self.image.index}"

    @property
    def boxes(self) -> int:
        return sum(len(one.rects) for one in self.selected)

    @property
    def crowded(self) -> bool:
        """Whether there are so many boxes that only highlighted ones are readable."""
        return self.boxes > _MAX_READABLE_BOXES

    @property
    def shown(self) -> int:
        """How many attributes were shown with the image."""
        return len(self.selected) + len(self.unselected)


def boxes_by_judgement(judgements: QuerySet[Judgement]) -> dict[int, list[Rect]]:
    """The boxes of the judgements that selected an attribute, by judgement. One query."""
    rects: dict[int, list[Rect]] = defaultdict(list)
    boxes = Box.objects.filter(judgement__in=judgements.filter(value=1).order_by()).order_by("pk")
    for judgement, x0, y0, x1, y1, width, height in boxes.values_list(
        "judgement", "x0", "y0", "x1", "y1", "image_width", "image_height"
    ):
        # the same visible height in large and small images
        size = max(width, height) / 28
        rects[judgement].append(
            Rect(
                x=x0,
                y=y0,
                width=x1 - x0,
                height=y1 - y0,
                label_x=x0 + 0.25 * size,
                label_y=min(y0 + size, height),
                label_size=size,
            )
        )
    return rects
