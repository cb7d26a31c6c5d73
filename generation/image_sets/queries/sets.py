"""What the pages about image sets read. No count of queries grows with the rows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.core.paginator import Page
from django.db.models import Count, Min, Q, QuerySet, Subquery

from annotation import policies
from annotation.models import IdentityGroup, Image, ImageSet, Study, Task, TaskKind
from generation.core.paging import page_of
from generation.models import Provenance, Run

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SETS_A_PAGE = 48
IMAGES_A_PAGE = 60


@dataclass
class SetRow:
    """An image set: how many images it has, of how many groups, one to show, and the studies of one's own
    that show it."""

    image_set: ImageSet
    images: int = 0
    groups: int = 0
    sample: int | None = None
    studies: list[Study] = field(default_factory=list)


@dataclass(frozen=True)
class Gallery:
    """One page of a set's images. `groups`: (group, how many images it has here)."""

    page: Page[Image]
    groups: list[tuple[IdentityGroup, int]]
    prompt_sets: list[tuple[str, int]]
    runs: list[Run]


def set_rows(*, user: User, page: str | int | None) -> tuple[Page[ImageSet], list[SetRow]]:
    """A page of the image sets that `user` may see, by title: all for who makes images, else those that
    their studies show."""
    sets = ImageSet.objects.order_by("title", "pk")
    if not policies.may_make_images(user):
        led = policies.studies_led_by(user)
        sets = sets.filter(pk__in=Task.objects.filter(study__in=led).values("image_set"))
    found = page_of(sets, page, each=SETS_A_PAGE)
    return found, image_set_rows(list(found), user=user)


def image_set_rows(found: Sequence[ImageSet], *, user: User) -> list[SetRow]:
    """Image sets with their images counted, in the same order. Two queries."""
    led = policies.studies_led_by(user)
    rows = {each.pk: SetRow(each) for each in found}
    images = Image.objects.filter(image_set__in=rows).order_by().values_list("image_set")
    counted = images.annotate(
        number=Count("pk"), of=Count("group", distinct=True), sample=Min("pk", filter=~Q(file=""))
    )
    for pk, number, groups, sample in counted:
        rows[pk].images, rows[pk].groups, rows[pk].sample = number, groups, sample
    shown = Task.objects.filter(image_set__in=rows, study__in=led).select_related("study").order_by("study")
    for task in shown:
        of = rows[task.image_set_id or 0].studies
        if task.study not in of:
            of.append(task.study)
    return list(rows.values())


def gallery(
    image_set: ImageSet, *, group: str = "", prompt_set: str = "", page: str | int | None = None
) -> Gallery:
    """A page of the images of a set, by group and number. `group`: a group's id, "" all."""
    images = image_set.images.select_related("group").order_by("group__name", "group", "index")
    counted = images.order_by().values_list("group").annotate(Count("pk"))
    numbers = dict(counted)
    groups = [(each, numbers[each.pk]) for each in IdentityGroup.objects.filter(pk__in=numbers)]
    asked = {str(each.pk): each for each, _ in groups}.get(group)
    if asked is not None:
        images = images.filter(group=asked)
    of_sets = (
        Provenance.objects.filter(image__image_set=image_set)
        .exclude(prompt_set="")
        .order_by("prompt_set")
        .values_list("prompt_set")
        .annotate(Count("pk"))
    )
    prompt_sets = list(of_sets)
    if prompt_set in dict(prompt_sets):
        images = images.filter(provenance__prompt_set=prompt_set)
    return Gallery(
        page=page_of(images, page, each=IMAGES_A_PAGE),
        groups=groups,
        prompt_sets=prompt_sets,
        runs=list(image_set.runs.order_by("kind", "-pk")),
    )


def neighbours(image: Image) -> tuple[Image | None, Image | None]:
    """The images before and after it in its set and group."""
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
    """The studies led by `user` whose people judge images of the set."""
    judged = Task.objects.filter(image_set=image_set, kind=TaskKind.DEPICTION).values("study")
    return policies.studies_led_by(user).filter(pk__in=judged).order_by("title")


__all__ = [
    "Gallery",
    "SetRow",
    "image_set_rows",
    "gallery",
    "neighbours",
    "set_rows",
    "studies_showing",
]
