"""Images from images: from which image, at which strength and as which sample each was made."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Image
from generation.image_sets.queries import MadeFrom, initial_images, made_from, series_of
from generation.models import Job, Run
from generation.recipes.series import SeriesPlace, series_number, series_place
from generation.runs import services as runs
from tests import factories
from tests.generation import faces

pytestmark = pytest.mark.django_db
PROMPTS = ("a neighbour", "a person")


def filled(image_set, *, into: str) -> Run:
    """A run with two prompts and two samples, with images as a worker would have made them."""
    plan = faces.plan(image_set, *PROMPTS, into=into, images_per_prompt=2)
    run = runs.ensure(plan=plan, by=None).run
    jobs = list(run.jobs.order_by("pk"))
    made = Image.objects.bulk_create(
        Image(
            image_set=run.image_set,
            group_id=job.group_id,
            index=job.index,
            width=0,
            height=0,
            reference=f"{job.pk}.png",
        )
        for job in jobs
    )
    for job, image in zip(jobs, made, strict=True):
        job.image, job.state, job.finished_at = image, JobState.DONE, timezone.now()
    Job.objects.bulk_update(jobs, ["image", "state", "finished_at"])
    return run


def of_place(run: Run, initial: int, *, sample: int, strength: float, prompt: str = PROMPTS[1]) -> Job:
    """The job of a group with two initial images, 1 and 3. The other has one, 1."""
    number = series_number(run.recipe, SeriesPlace(initial, sample, strength))
    return run.jobs.get(group__name="Mexican", prompt=prompt, number=number)


@pytest.fixture
def image_set():
    return faces.faces()


def test_a_series_is_of_one_image_one_prompt_and_one_sample(image_set):
    run = filled(image_set, into="made")
    filled(image_set, into="another")
    jobs = [of_place(run, 1, sample=2, strength=strength) for strength in faces.STRENGTHS]
    series = [(strength, job.image_id) for strength, job in zip(faces.STRENGTHS, jobs, strict=True)]
    for job in jobs:
        assert series_of(job, run.recipe) == series
    Job.objects.filter(pk=jobs[1].pk).update(image=None, state=JobState.PENDING, finished_at=None)
    assert series_of(jobs[0], run.recipe) == [series[0], series[2]]


def test_every_image_knows_what_it_was_made_from(image_set):
    run, another = filled(image_set, into="made"), filled(image_set, into="another")
    image = of_place(run, 3, sample=2, strength=0.5).image
    # what a model says of an image is no job that made it
    other = {"backend": "fake", "recipe": {}, "image_set": run.image_set}
    captions = Run.objects.create(kind="captions", recipe_hash="a" * 64, **other)
    Job.objects.create(run=captions, image=image)
    said = Run.objects.create(kind="descriptions", name="said", recipe_hash="b" * 64, **other)
    Job.objects.create(run=said, image=image, group=image.group, key="k", number=1, prompt="who?")
    # others have the same group and number
    beside = factories.image(image_set=factories.image_set("beside"), index=3)
    initials = {(each.group_id, each.index): each for each in image_set.images.all()}

    found = initial_images(run.image_set)
    assert set(found) == set(run.image_set.images.values_list("pk", flat=True))
    for job in run.jobs.all():
        place = series_place(run.recipe, job.number)
        initial = initials[job.group_id, place.initial_index]
        assert found[job.image_id] == (initial.pk, place.strength, place.sample)
    initial = initials[image.group_id, 3]
    assert found[image.pk] == (initial.pk, 0.5, 2)
    assert made_from([image, beside]) == {image.pk: MadeFrom("faces", 3, initial, 0.5, 2)}
    assert not set(initial_images(another.image_set)) & set(found)
    again = run.jobs.exclude(image=image).earliest("pk")
    Job.objects.filter(pk=again.pk).update(image=None, state=JobState.PENDING, finished_at=None)
    assert set(initial_images(run.image_set)) == set(found) - {again.image_id}, "it is being made again"
    initial.delete()
    assert image.pk not in initial_images(run.image_set)
    assert made_from([image]) == {image.pk: MadeFrom("faces", 3, None, 0.5, 2)}
    assert initial_images(beside.image_set) == {}
