"""The demonstration's drawn images: files named by hash, rows marked as drawn."""

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
"""(group, index of the image) -> the image and its true boxes."""


def draw_all(*, plans: Sequence[GroupPlan]) -> Truth:
    """Draw every image of the plan, without writing to the database or to files."""
    return {
        (plan.group, picture.index): draw(attributes=picture.drawn, seed=picture.seed)
        for plan in plans
        for picture in plan.pictures
    }


def store(*, drawn: Truth, prompts_of: Callable[[str], Sequence[str]]) -> int:
    """Store missing files and rows; return the number of new rows.

    `prompts_of` returns the prompts that a model would get for a group (PROTOCOL §5). Lost files, for example
    after MEDIA_ROOT was emptied, are written again.
    """
    files = {key: image_files.store(sample.png) for key, sample in drawn.items()}
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
