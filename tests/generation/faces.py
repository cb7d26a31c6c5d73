"""A set of initial images, each of one colour, and plans of images that begin with them."""

from __future__ import annotations

from io import BytesIO

from PIL import Image as PillowImage

from annotation.images import files as image_files
from annotation.models import Image, ImageSet
from generation.jobs.services import work
from generation.models import Run
from generation.plans.from_images import plan_images_from
from generation.plans.plan import Plan
from generation.recipes.recipes import ImageRecipe
from generation.runs import services as runs
from tests import factories

COLOURS = {
    ("Indian", 1): (120, 80, 60),
    ("Mexican", 1): (200, 160, 140),
    ("Mexican", 3): (90, 90, 90),
}
"""Group and index -> colour. Mexican 2 has no file."""
STRENGTHS = (0.25, 0.5, 1.0)


def faces(name: str = "faces", *, size: tuple[int, int] = (40, 40), licence: str = "CFD") -> ImageSet:
    image_set = factories.image_set(name)
    ImageSet.objects.filter(pk=image_set.pk).update(licence=licence)
    for (group, index), colour in COLOURS.items():
        out = BytesIO()
        PillowImage.new("RGB", size, colour).save(out, "PNG")
        stored, sha256 = image_files.store(out.getvalue())
        width, height = size
        factories.image(
            image_set=image_set,
            group_name=group,
            index=index,
            file=stored,
            sha256=sha256,
            width=width,
            height=height,
        )
    factories.image(image_set=image_set, group_name="Mexican", index=2, width=0, height=0)
    return ImageSet.objects.get(pk=image_set.pk)


def recipe(**changed) -> ImageRecipe:
    given = {"backend": "fake", "model": "fake", "width": 16, "height": 16, "images_per_prompt": 1}
    series = {"prompt_sets": ("from_images",), "initial": "faces", "strengths": STRENGTHS, "safety": "off"}
    return ImageRecipe(**{**given, **series, **changed})


def plan(image_set: ImageSet, *prompts: str, into: str = "made", **changed) -> Plan:
    return plan_images_from(
        recipe=recipe(**changed),
        initial_set=image_set,
        prompts=prompts or ("an American person",),
        image_set=into,
    )


def started(of: Plan) -> Run:
    run = runs.ensure(plan=of, by=None).run
    runs.start(run=run, by=None)
    run.refresh_from_db()
    return run


def made(of: Plan) -> Run:
    """The run of a plan, carried out."""
    run = started(of)
    work.work(run_id=run.pk)
    run.refresh_from_db()
    return run


def place(image: Image) -> tuple[str, int]:
    return image.group.name, image.index
