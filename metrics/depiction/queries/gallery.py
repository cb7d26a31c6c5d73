"""The images of a study with the boxes of all annotators.

One page of images is read at a time, always of one identity group or one attribute, so that the cost does
not grow with the study. Annotators are shown as letters that are valid within one image only: boxes and
profile answers must not reveal who is behind a pseudonym.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Q, QuerySet

from annotation.models import (
    Attribute,
    IdentityGroup,
    Image,
    Judgement,
    OptionRole,
    Study,
    TaskKind,
)
from metrics.core.annotator_groups import annotator_profiles, selectable_groups
from metrics.core.answers import counted_judgements
from metrics.depiction.queries.pictures import Rect, boxes_by_judgement, judged_groups, judged_images

PER_PAGE = 12
STYLES = 8
DISAGREEMENT_CHOICES = (0, 25, 40)
"""Choices of the disagreement filter: per cent of annotators who differ from the majority."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Filters:
    """`attribute`: its text. `people`: a stratum of annotators. `differ`: least disagreement in per cent."""

    group: IdentityGroup | None = None
    attribute: str = ""
    people: str = ""
    differ: int = 0


@dataclass(frozen=True)
class ImageAnnotator:
    """An annotator within one image; `style` is the number of their colour and dash, from 1."""

    letter: str
    style: int


@dataclass
class GalleryAttribute:
    """An attribute of an image: `k` of the `n` chosen annotators selected it. Its boxes have its `number`."""

    text: str
    number: int = 0
    k: int = 0
    n: int = 0
    selected_by: list[ImageAnnotator] = field(default_factory=list)

    @property
    def disagreement(self) -> float:
        """Per cent of annotators who differ from the majority."""
        return 100 * min(self.k, self.n - self.k) / self.n if self.n else 0.0


@dataclass(frozen=True)
class LabelledBox:
    """A box of one annotator. Its label is placed beside the labels of other annotators."""

    rect: Rect
    annotator: ImageAnnotator
    attribute: GalleryAttribute

    @property
    def label(self) -> str:
        return f"{self.attribute.number}{self.annotator.letter}"

    @property
    def label_x(self) -> float:
        place = self.attribute.selected_by.index(self.annotator)
        return self.rect.label_x + 1.5 * self.rect.label_size * place


@dataclass
class GalleryImage:
    image: Image
    annotators: list[ImageAnnotator] = field(default_factory=list)
    attributes: list[GalleryAttribute] = field(default_factory=list)
    boxes: list[LabelledBox] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.image.reference or f"{self.image.group} {self.image.index}"


@dataclass(frozen=True)
class Gallery:
    """One page. `unknown`: there is no attribute with the requested text."""

    filters: Filters
    pictures: tuple[GalleryImage, ...]
    groups: tuple[IdentityGroup, ...]
    people: tuple[str, ...]
    total: int
    number: int
    pages: int
    unknown: bool = False


@dataclass(frozen=True)
class ImageSearch:
    """The images that match the filters, and their judgements by the chosen annotators. `images` is None if
    there is no attribute with the requested text."""

    filters: Filters
    groups: tuple[IdentityGroup, ...]
    people: tuple[str, ...]
    images: QuerySet[Image] | None
    judgements: QuerySet[Judgement]

    def pictures(self, images: Iterable[Image]) -> tuple[GalleryImage, ...]:
        """The given images with their judgements. Two queries."""
        pictures = {image.pk: GalleryImage(image) for image in images}
        fill(pictures, self.judgements.filter(response__unit__image__in=list(pictures)))
        return tuple(pictures.values())


def gallery_page(study: Study, filters: Filters, *, page: str = "1", per_page: int = PER_PAGE) -> Gallery:
    """Page `page` of the images that match `filters`.

    Raises ValueError for a group of annotators that is not offered.
    """
    search = search_images(study, filters)
    images = search.images if search.images is not None else Image.objects.none()
    images_of_page = Paginator(images, per_page).get_page(page)
    return Gallery(
        filters=search.filters,
        pictures=search.pictures(images_of_page),
        groups=search.groups,
        people=search.people,
        total=images_of_page.paginator.count,
        number=images_of_page.number,
        pages=images_of_page.paginator.num_pages,
        unknown=search.images is None,
    )


def search_images(study: Study, filters: Filters) -> ImageSearch:
    """The images that match `filters`; those of the first group if neither group nor attribute is given.

    Raises ValueError for a group of annotators that is not offered.
    """
    groups = tuple(judged_groups(study))
    attribute = Attribute.objects.filter(text=filters.attribute.strip().lower()).first()
    group = filters.group or (None if filters.attribute or not groups else groups[0])
    filters = Filters(group, filters.attribute, filters.people, filters.differ)
    profiles = annotator_profiles(study)
    offered = selectable_groups(profiles, region=group.region if group else "")
    if filters.people and filters.people not in offered:
        raise ValueError(f"'{filters.people}' is not a group of annotators to filter by.")
    judgements = counted_judgements(study, TaskKind.DEPICTION)
    if filters.people:
        judgements = judgements.filter(response__annotator__in=offered[filters.people])
    if group is not None:
        judgements = judgements.filter(response__unit__image__group=group)
    if attribute is not None:
        judgements = judgements.filter(option__attribute=attribute)
    images = _images(study, filters, judgements, attribute) if attribute or not filters.attribute else None
    return ImageSearch(filters, groups, tuple(offered), images, judgements)


def _images(
    study: Study, filters: Filters, judgements: QuerySet[Judgement], attribute: Attribute | None
) -> QuerySet[Image]:
    images = judged_images(study)
    if filters.group is not None:
        images = images.filter(group=filters.group)
    if attribute is not None:
        images = images.filter(pk__in=judgements.order_by().filter(value=1).values("response__unit__image"))
    if filters.differ:
        images = images.filter(pk__in=_with_disagreement(judgements, filters.differ))
    return images.order_by("group__name", "image_set", "index", "pk")


def _with_disagreement(judgements: QuerySet[Judgement], per_cent: int) -> QuerySet[Any, Any]:
    """The images with an attribute on which at least `per_cent` of annotators differ from the majority.
    `per_cent` is above 0."""
    real = judgements.order_by().exclude(option__role=OptionRole.NONE_OF_ABOVE)
    counted = real.values("response__unit__image", "option__attribute").annotate(
        seen=Count("pk", filter=Q(value=1)), asked=Count("pk")
    )
    least = per_cent * F("asked")
    return counted.filter(seen__gte=least / 100.0, asked__gte=F("seen") + least / 100.0).values(
        "response__unit__image"
    )


def fill(
    pictures: Mapping[int, GalleryImage],
    judgements: QuerySet[Judgement],
    *,
    by: str = "response__unit__image",
) -> None:
    """Add annotators, attributes and boxes to the pictures. `by`: the column that says to which of them a
    judgement belongs. Two queries."""
    rects = boxes_by_judgement(judgements)
    rows = judgements.order_by("response__slot__index", "response", "position").values_list(
        "pk",
        by,
        "response__annotator",
        "response__slot__index",
        "option__attribute__text",
        "value",
    )
    annotators_of: dict[int, dict[tuple[str, int], ImageAnnotator]] = defaultdict(dict)
    attributes: dict[int, dict[str, GalleryAttribute]] = defaultdict(dict)
    for pk, image, annotator, slot, text, value in rows:
        # if annotators are not identified, each slot index counts as one annotator
        key = ("annotator", annotator) if annotator is not None else ("slot", slot)
        annotators = annotators_of[image]
        if key not in annotators:
            number = len(annotators)
            annotators[key] = ImageAnnotator(_LETTERS[number % len(_LETTERS)], number % STYLES + 1)
        if text is None:
            continue
        attribute = attributes[image].setdefault(text, GalleryAttribute(text))
        attribute.n += 1
        if value:
            attribute.k += 1
            attribute.selected_by.append(annotators[key])
            boxes = [LabelledBox(rect, annotators[key], attribute) for rect in rects.get(pk, [])]
            pictures[image].boxes += boxes
    for image, picture in pictures.items():
        picture.annotators = list(annotators_of[image].values())
        picture.attributes = sorted(attributes[image].values(), key=lambda one: (-one.k, one.text))
        for number, attribute in enumerate(picture.attributes, 1):
            attribute.number = number
