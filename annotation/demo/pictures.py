"""The demonstration's drawn pictures: files under their hash, rows that say they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction

from annotation.demo.canvas import SIZE
from annotation.demo.picture import DrawnSample, draw
from annotation.demo.plan import GroupPlan
from annotation.images import files as image_files
from annotation.models import Axis, IdentityGroup, Image, ImageSet

IMAGE_SET = "demo-drawings"
Truth = dict[tuple[str, int], DrawnSample]
"""(group, index of the picture) -> the picture and where its attributes are."""


def draw_all(*, plans: Sequence[GroupPlan]) -> Truth:
    """Draw every picture of the plan. Touches neither the database nor a file."""
    return {
        (plan.group, picture.index): draw(attributes=picture.drawn, seed=picture.seed)
        for plan in plans
        for picture in plan.pictures
    }


def store(*, drawn: Truth, prompts_of: Callable[[str], Sequence[str]]) -> int:
    """Keep the pictures' files and rows that are not there yet; returns the number of rows made.

    `prompts_of` names the prompts that a model would have been given for a group (PROTOCOL §5). A file
    lost since, for example because MEDIA_ROOT was emptied, is written again.
    """
    files = {key: image_files.keep(sample.png) for key, sample in drawn.items()}
    with transaction.atomic():
        image_set, _ = ImageSet.objects.get_or_create(
            name=IMAGE_SET,
            defaults={"title": "Demonstration drawings", "licence": "Apache-2.0", "drawn": True},
        )
        names = {group for group, _ in drawn}
        groups = {
            row.name: row for row in IdentityGroup.objects.filter(axis=Axis.NATIONALITY, name__in=names)
        }
        present = set(Image.objects.filter(image_set=image_set).values_list("group__name", "index"))
        missing = []
        for (group, index), (name, sha256) in files.items():
            if (group, index) in present:
                continue
            prompts = prompts_of(groups[group].demonym)
            missing.append(
                Image(
                    image_set=image_set,
                    group=groups[group],
                    index=index,
                    prompt=prompts[(index - 1) % len(prompts)],
                    width=SIZE,
                    height=SIZE,
                    file=name,
                    sha256=sha256,
                )
            )
        Image.objects.bulk_create(missing)
    return len(missing)
