"""The images of a study with the boxes of all annotators over each other.

A page of images is read at a time, always of one identity group or of one attribute, so that nothing here
grows with the study. Annotators are letters that mean something within one image only: who is behind a
pseudonym must not be told from their boxes and from what people said of themselves.
"""

from __future__ import annotations

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
from metrics.depiction.queries.judged_images import judged_groups, judged_images
from metrics.depiction.queries.pictures import Rect, boxes_of

PER_PAGE = 12
STYLES = 8
DIFFER = (0, 25, 40)
"""What the filter of disagreement offers: per cent of annotators who differ from the majority."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Filters:
    """What is looked for. `attribute` is its text, `people` a stratum, `differ` per cent."""

    group: IdentityGroup | None = None
    attribute: str = ""
    people: str = ""
    differ: int = 0


@dataclass(frozen=True)
class By:
    """An annotator within one image; `style` is the number of their colour and dash, from 1."""

    letter: str
    style: int


@dataclass
class Found:
    """An attribute as judged in an image by those who are looked at: `k` of `n` selected it. `number` ties
    its boxes to it."""

    text: str
    number: int = 0
    k: int = 0
    n: int = 0
    by: list[By] = field(default_factory=list)

    @property
    def differ(self) -> float:
        """Per cent of annotators who said something else than the majority."""
        return 100 * min(self.k, self.n - self.k) / self.n if self.n else 0.0


@dataclass(frozen=True)
class Shape:
    """A box with whose it is. Its label stands beside those of other annotators, not on them."""

    rect: Rect
    by: By
    found: Found

    @property
    def label(self) -> str:
        return f"{self.found.number}{self.by.letter}"

    @property
    def label_x(self) -> float:
        return self.rect.label_x + 1.5 * self.rect.label_size * self.found.by.index(self.by)


@dataclass
class Picture:
    image: Image
    people: list[By] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.image.reference or f"{self.image.group} {self.image.index}"


@dataclass(frozen=True)
class Gallery:
    """One page. `unknown`: no attribute is called what was asked for."""

    filters: Filters
    pictures: tuple[Picture, ...]
    groups: tuple[IdentityGroup, ...]
    people: tuple[str, ...]
    total: int
    number: int
    pages: int
    unknown: bool = False


@dataclass(frozen=True)
class Sought:
    """The images that are looked for, and what was said of them by those who are looked at. `images` is None
    where no attribute is called what was asked for."""

    filters: Filters
    groups: tuple[IdentityGroup, ...]
    people: tuple[str, ...]
    images: QuerySet[Image] | None
    said: QuerySet[Judgement]

    def pictures(self, images: Iterable[Image]) -> tuple[Picture, ...]:
        """Some of the images, as they were judged. Two queries."""
        pictures = {image.pk: Picture(image) for image in images}
        _fill(pictures, self.said.filter(response__unit__image__in=list(pictures)))
        return tuple(pictures.values())


def gallery_page(study: Study, chosen: Filters, *, page: str = "1", per_page: int = PER_PAGE) -> Gallery:
    """Page `page` of what `chosen` asks for.

    Raises ValueError for a group of annotators that is not offered.
    """
    sought = seek(study, chosen)
    images = sought.images if sought.images is not None else Image.objects.none()
    found = Paginator(images, per_page).get_page(page)
    return Gallery(
        filters=sought.filters,
        pictures=sought.pictures(found),
        groups=sought.groups,
        people=sought.people,
        total=found.paginator.count,
        number=found.number,
        pages=found.paginator.num_pages,
        unknown=sought.images is None,
    )


def seek(study: Study, chosen: Filters) -> Sought:
    """What `chosen` asks for: the first group where neither group nor attribute is chosen.

    Raises ValueError for a group of annotators that is not offered.
    """
    groups = tuple(judged_groups(study))
    attribute = Attribute.objects.filter(text=chosen.attribute.strip().lower()).first()
    group = chosen.group or (None if chosen.attribute or not groups else groups[0])
    filters = Filters(group, chosen.attribute, chosen.people, chosen.differ)
    profiles = annotator_profiles(study)
    offered = selectable_groups(profiles, region=group.region if group else "")
    if chosen.people and chosen.people not in offered:
        raise ValueError(f"'{chosen.people}' is not a group of annotators that is offered here.")
    said = counted_judgements(study, TaskKind.DEPICTION)
    if chosen.people:
        said = said.filter(response__annotator__in=offered[chosen.people])
    if group is not None:
        said = said.filter(response__unit__image__group=group)
    if attribute is not None:
        said = said.filter(option__attribute=attribute)
    images = _images(study, filters, said, attribute) if attribute or not chosen.attribute else None
    return Sought(filters=filters, groups=groups, people=tuple(offered), images=images, said=said)


def _images(
    study: Study, filters: Filters, said: QuerySet[Judgement], attribute: Attribute | None
) -> QuerySet[Image]:
    images = judged_images(study)
    if filters.group is not None:
        images = images.filter(group=filters.group)
    if attribute is not None:
        images = images.filter(pk__in=said.order_by().filter(value=1).values("response__unit__image"))
    if filters.differ:
        images = images.filter(pk__in=_disputed(said, filters.differ))
    return images.order_by("group__name", "image_set", "index", "pk")


def _disputed(said: QuerySet[Judgement], per_cent: int) -> QuerySet[Any, Any]:
    """The images with an attribute on which at least so many per cent of annotators left the majority."""
    real = said.order_by().exclude(option__role=OptionRole.NONE_OF_ABOVE)
    counted = real.values("response__unit__image", "option__attribute").annotate(
        seen=Count("pk", filter=Q(value=1)), asked=Count("pk")
    )
    least = per_cent * F("asked")
    return counted.filter(
        Q(seen__gt=0) & Q(seen__lt=F("asked")),
        seen__gte=least / 100.0,
        asked__gte=F("seen") + least / 100.0,
    ).values("response__unit__image")


def _fill(pictures: Mapping[int, Picture], said: QuerySet[Judgement]) -> None:
    """Who selected what in the images of the page, and where. Two queries."""
    rects = boxes_of(said)
    rows = said.order_by("response__slot__index", "response", "position").values_list(
        "pk",
        "response__unit__image",
        "response__annotator",
        "response__slot__index",
        "option__attribute__text",
        "value",
    )
    who: dict[int, dict[tuple[str, int], By]] = defaultdict(dict)
    found: dict[int, dict[str, Found]] = defaultdict(dict)
    for pk, image, annotator, slot, text, value in rows:
        # Where nobody is identified, the answer of a page's first place stands for one annotator.
        key = ("annotator", annotator) if annotator is not None else ("slot", slot)
        people = who[image]
        if key not in people:
            number = len(people)
            people[key] = By(_LETTERS[number % len(_LETTERS)], number % STYLES + 1)
        if text is None:
            continue
        one = found[image].setdefault(text, Found(text))
        one.n += 1
        if value:
            one.k += 1
            one.by.append(people[key])
            pictures[image].shapes += [Shape(rect, people[key], one) for rect in rects.get(pk, [])]
    for image, picture in pictures.items():
        picture.people = list(who[image].values())
        picture.found = sorted(found[image].values(), key=lambda one: (-one.k, one.text))
        for number, one in enumerate(picture.found, 1):
            one.number = number
