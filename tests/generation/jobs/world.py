"""Runs with jobs, a model that fails as it is told to, and a look at what came of it all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from django.core.files.storage import default_storage
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.images import files as image_files
from annotation.models import Image
from generation.backends.base import GeneratedImage, ImageRequest, OutOfMemory
from generation.backends.image_fake import FakeTextToImage
from generation.jobs import png
from generation.jobs.services import work
from generation.models import Job, Provenance, Run, RunState
from generation.recipes.recipes import (
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
    as_json,
    digest,
    sample_seed,
)
from tests import factories

_numbers = count(1)
RECIPE = ImageRecipe(backend="fake", width=16, height=16)


def run_of_pictures(jobs: int, *, recipe: ImageRecipe = RECIPE, state: str = RunState.RUNNING) -> Run:
    """A run in a set of its own that wants so many pictures of one group."""
    run = _run(recipe, factories.image_set(f"set-{next(_numbers)}"), state)
    group = factories.group(f"Mexico {run.pk}")
    Job.objects.bulk_create(
        Job(
            run=run,
            group=group,
            prompt_set="detection",
            prompt="a photo of a Mexican person",
            number=number,
            index=number,
            seed=sample_seed(seed=recipe.seed, prompt="a photo of a Mexican person", number=number),
        )
        for number in range(1, jobs + 1)
    )
    return run


def run_over(images: Sequence[Image], recipe: CaptionRecipe | EmbeddingRecipe) -> Run:
    """A running run that captions or embeds these images of one set."""
    run = _run(recipe, images[0].image_set, RunState.RUNNING)
    Job.objects.bulk_create(Job(run=run, image=image) for image in images)
    return run


def _run(recipe, image_set, state) -> Run:
    return Run.objects.create(
        kind=recipe.kind,
        state=state,
        image_set=image_set,
        backend=recipe.backend,
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=image_set.name),
        started_at=None if state == RunState.PLANNED else timezone.now(),
    )


class Moody(FakeTextToImage):
    """Draws, but `holds` at most so many at once, and fails with `fails[seed]` if that is among them.

    `asked`: the sizes of the batches that it was asked for.
    """

    def __init__(self, *, batch: int = 8, holds: int = 1000) -> None:
        super().__init__(RECIPE)
        self.batch, self.holds = batch, holds
        self.fails: dict[int, BaseException] = {}
        self.asked: list[int] = []

    def generate(self, wanted: Sequence[ImageRequest]) -> list[GeneratedImage]:
        self.asked.append(len(wanted))
        if len(wanted) > self.holds:
            raise OutOfMemory(f"{len(wanted)} are too many")
        for one in wanted:
            if one.seed in self.fails:
                raise self.fails[one.seed]
        return super().generate(wanted)


def again(run) -> int:
    """Work until nothing comes of it."""
    done = 0
    while more := work.work(run_id=run.pk):
        done += more
    return done


def state(run) -> tuple[str, str]:
    run.refresh_from_db()
    return run.state, run.error


def counted(run) -> dict[str, int]:
    return {
        name: run.jobs.filter(state=name).count() for name in set(run.jobs.values_list("state", flat=True))
    }


def nobody_is_disturbed(run):
    """Every job that is done has one picture with a file of its hash, and none has another's."""
    for job in run.jobs.filter(state=JobState.DONE).select_related("image__provenance"):
        image = job.image
        assert (image.group_id, image.index, image.prompt) == (job.group_id, job.index, job.prompt)
        assert image.provenance.seed == job.seed
        assert image_files.is_stored(image.file.name, sha256=image.sha256)
        with default_storage.open(image.file.name) as file:
            assert png.read_origin(file.read()).seed == job.seed
    made = Image.objects.filter(image_set=run.image_set).count()
    assert made == run.jobs.filter(state=JobState.DONE).count()
    assert made == Provenance.objects.filter(run=run).count()
