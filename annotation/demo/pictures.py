"""The demonstration's drawn images: files named by hash, rows marked as drawn."""

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
        (plan.group, picture.index): draw(
            attributes=picture.drawn, seed=picture.seed, group=plan.group, region=plan.region
        )
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
        rows = IdentityGroup.objects.filter(axis=Axis.NATIONALITY, name__in={group for group, _ in drawn})
        groups = {row.name: (row, prompts_of(row.demonym)) for row in rows}
        before = image_set.images.count()
        images = []
        for (name, index), (file, sha256) in files.items():
            group, prompts = groups[name]
            images.append(
                Image(
                    image_set=image_set,
                    group=group,
                    index=index,
                    prompt=prompts[(index - 1) % len(prompts)],
                    width=SIZE,
                    height=SIZE,
                    file=file,
                    sha256=sha256,
                )
            )
        Image.objects.bulk_create(images, ignore_conflicts=True)
        return image_set.images.count() - before
