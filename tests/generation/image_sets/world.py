"""A run of drawn pictures, made as a worker makes them, shown in a study that somebody judged."""

from __future__ import annotations

from annotation.models import Image, TaskKind
from generation.jobs.services import work
from generation.models import Run
from generation.plans import services as plans
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe
from generation.runs import services as runs
from tests import factories

FAKE = ImageRecipe(backend="fake", model="fake", width=64, height=64, images_per_prompt=2)


def pictures(*groups: str, recipe: ImageRecipe = FAKE, image_set: str = "drawn", by=None) -> Run:
    """A planned run of pictures."""
    of = [factories.group(name) for name in groups or ("Mexican",)]
    plan = plans.plan_images(recipe=recipe, groups=of, image_set=image_set)
    return runs.ensure(plan=plan, by=by).run


def read(run: Run, recipe: CaptionRecipe | EmbeddingRecipe) -> Run:
    """A planned run over the images of another."""
    return runs.ensure(
        plan=plans.plan_captions_or_embeddings(recipe=recipe, image_set=run.image_set), by=None
    ).run


def made(run: Run) -> Run:
    """The run, carried out."""
    runs.start(run=run, by=None)
    work.work(run_id=run.pk)
    run.refresh_from_db()
    return run


def judged(image: Image, *, lead, name: str = "judged", values=(1, 0, 1, 0, 0), times: int = 2):
    """A study that shows the image's set, with `times` answers to one page of the image."""
    study = factories.study(name, leads=[lead])
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=image.image_set)
    unit = factories.page_unit(task, picture=image)
    people = [factories.annotator(pseudonym=f"secret-{name}-{number}") for number in range(times)]
    factories.responses((unit, list(values), who) for who in people)
    return study
