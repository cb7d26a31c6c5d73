"""Queries for the pages about image sets. The number of queries does not grow with the rows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import Count, Min, Q, QuerySet, Subquery

from annotation import policies
from annotation.models import IdentityGroup, Image, ImageSet, Study, Task, TaskKind
from generation.models import Provenance, Run

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SETS_PER_PAGE = 48
IMAGES_PER_PAGE = 60


@dataclass
class SetRow:
    """An image set with its number of images and groups, a sample image, and the user's studies that show
    it."""

    image_set: ImageSet
    images: int = 0
    groups: int = 0
    sample: int | None = None
    studies: list[Study] = field(default_factory=list)


@dataclass(frozen=True)
class Gallery:
    """One page of a set's images. `groups`: (group, number of its images in the set)."""

    page: Page[Image]
    groups: list[tuple[IdentityGroup, int]]
    prompt_sets: list[tuple[str, int]]
    runs: list[Run]


def image_set_page(
    sets: QuerySet[ImageSet], *, user: User, page: str | int | None
) -> tuple[Page[ImageSet], list[SetRow]]:
    """A page of `sets`, by title."""
    found = Paginator(sets.order_by("title", "pk"), SETS_PER_PAGE).get_page(page)
    return found, image_set_rows(list(found), user=user)


def image_set_rows(sets: Sequence[ImageSet], *, user: User) -> list[SetRow]:
    """Image sets with their images counted, in the same order. Two queries."""
    led = policies.studies_led_by(user)
    rows = {image_set.pk: SetRow(image_set) for image_set in sets}
    images = Image.objects.filter(image_set__in=rows).order_by().values_list("image_set")
    counted = images.annotate(
        number=Count("pk"), of=Count("group", distinct=True), sample=Min("pk", filter=~Q(file=""))
    )
    for pk, number, groups, sample in counted:
        rows[pk].images, rows[pk].groups, rows[pk].sample = number, groups, sample
    shown = Task.objects.filter(image_set__in=rows, study__in=led).select_related("study").order_by("study")
    for task in shown:
        studies = rows[task.image_set_id or 0].studies
        if task.study not in studies:
            studies.append(task.study)
    return list(rows.values())


def gallery(
    image_set: ImageSet, *, group: str = "", prompt_set: str = "", page: str | int | None = None
) -> Gallery:
    """A page of a set's images, by group and number. `group`: a group's id, "" for all."""
    images = image_set.images.select_related("group").order_by("group__name", "group", "index")
    counted = images.order_by().values_list("group").annotate(Count("pk"))
    numbers = dict(counted)
    groups = [(each, numbers[each.pk]) for each in IdentityGroup.objects.filter(pk__in=numbers)]
    selected = {str(each.pk): each for each, _ in groups}.get(group)
    if selected is not None:
        images = images.filter(group=selected)
    prompt_sets = list(
        Provenance.objects.filter(image__image_set=image_set)
        .exclude(prompt_set="")
        .order_by("prompt_set")
        .values_list("prompt_set")
        .annotate(Count("pk"))
    )
    if prompt_set in dict(prompt_sets):
        images = images.filter(provenance__prompt_set=prompt_set)
    return Gallery(
        page=Paginator(images, IMAGES_PER_PAGE).get_page(page),
        groups=groups,
        prompt_sets=prompt_sets,
        runs=list(image_set.runs.order_by("kind", "-pk")),
    )


def neighbours(image: Image) -> tuple[Image | None, Image | None]:
    """The previous and next image in the same set and group."""
    same = Image.objects.filter(image_set=image.image_set_id, group=image.group_id)
    beside = same.filter(
        Q(pk__in=Subquery(same.filter(index__lt=image.index).order_by("-index").values("pk")[:1]))
        | Q(pk__in=Subquery(same.filter(index__gt=image.index).order_by("index").values("pk")[:1]))
    )
    found = list(beside.order_by("index"))
    before = [each for each in found if each.index < image.index]
    after = [each for each in found if each.index > image.index]
    return (before[0] if before else None), (after[0] if after else None)


def studies_showing(image_set: ImageSet, *, user: User) -> QuerySet[Study]:
    """The studies led by `user` in which people judge images of the set."""
    tasks = Task.objects.filter(image_set=image_set, kind=TaskKind.DEPICTION).values("study")
    return policies.studies_led_by(user).filter(pk__in=tasks).order_by("title")
