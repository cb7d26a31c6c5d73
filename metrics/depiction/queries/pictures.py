"""The judged images and groups of a study; one image with the attributes selected, by whom and where."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Box, IdentityGroup, Image, Judgement, Study, TaskKind, Unit

MAX_READABLE_BOXES = 15


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

    text: str
    stereotypical: bool
    number: int = 0
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
    # ids of the images before and after it on its page
    previous: int | None = None
    next: int | None = None

    @property
    def name(self) -> str:
        return self.image.reference or f"{self.image.group} {self.image.index}"

    @property
    def boxes(self) -> int:
        return sum(len(one.rects) for one in self.selected)

    @property
    def crowded(self) -> bool:
        """Whether there are so many boxes that only highlighted ones are readable."""
        return self.boxes > MAX_READABLE_BOXES

    @property
    def shown(self) -> int:
        """How many attributes were shown with the image."""
        return len(self.selected) + len(self.unselected)


def judged_images(study: Study) -> QuerySet[Image]:
    """The images with a unit in the study; each is looked up in the index of task and image."""
    tasks = [task.pk for task in study.tasks.all() if task.kind == TaskKind.DEPICTION]
    units = Unit.objects.filter(task__in=tasks, image=OuterRef("pk")).order_by()
    return Image.objects.filter(Exists(units)).select_related("group")


def judged_groups(study: Study) -> QuerySet[IdentityGroup]:
    """The groups with such an image, by name. The query stops at the first such image of each group."""
    images = judged_images(study).filter(group=OuterRef("pk")).order_by().select_related(None)
    return IdentityGroup.objects.filter(Exists(images)).order_by("name", "pk")


def boxes_by_judgement(judgements: QuerySet[Judgement]) -> dict[int, list[Rect]]:
    """The boxes of the judgements that selected an attribute, by judgement. One query."""
    rects: dict[int, list[Rect]] = defaultdict(list)
    boxes = Box.objects.filter(judgement__in=judgements.filter(value=1).order_by()).order_by("pk")
    for judgement, x0, y0, x1, y1, width, height in boxes.values_list(
        "judgement", "x0", "y0", "x1", "y1", "image_width", "image_height"
    ):
        rects[judgement].append(rect((x0, y0, x1, y1), width=width, height=height))
    return rects


def rect(corners: Sequence[float], *, width: int, height: int) -> Rect:
    """The box with these corners in an image of that size."""
    x0, y0, x1, y1 = corners
    size = max(width, height) / 28  # the same visible height in large and small images
    return Rect(x0, y0, x1 - x0, y1 - y0, x0 + 0.25 * size, min(y0 + size, height), size)
