"""A worker makes images from initial images, and makes a lost one again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image as PillowImage

from annotation.models import Image
from generation.backends.base import ImageRequest
from generation.backends.image_fake import FakeTextToImage
from generation.image_sets import services as verify
from generation.image_sets.queries import initial_images
from generation.jobs import png
from generation.jobs.services import work
from generation.models import Provenance, Run, RunState
from generation.recipes.series import series_place
from tests.generation import faces
from tests.generation.jobs.world import again, nobody_is_disturbed, state


@pytest.fixture
def face_set():
    return faces.faces()


def bytes_of(image: Image) -> bytes:
    with default_storage.open(image.file.name) as file:
        return file.read()


def brightness(image: Image) -> float:
    with default_storage.open(image.file.name) as file, PillowImage.open(file) as picture:
        return float(np.asarray(picture.convert("RGB"), float).mean())


def test_every_image_is_made_from_its_own_initial_image(face_set):
    run = faces.made(faces.plan(face_set))
    assert state(run) == (RunState.DONE, "")
    nobody_is_disturbed(run)
    fake = FakeTextToImage(faces.recipe())
    known = initial_images(run.image_set)
    assert len(known) == run.jobs.count() == 9
    for job in run.jobs.select_related("image", "group"):
        place = series_place(run.recipe, job.number)
        initial = Image.objects.get(image_set=face_set, group=job.group, index=place.initial_index)
        assert known[job.image_id] == (initial.pk, place.strength, place.sample)
        # the fake's drawing and the colour, mixed by the strength
        [drawn] = fake.generate([ImageRequest(job.prompt, job.seed)])
        mean = np.asarray(drawn.pixels, float).mean()
        colour = np.mean(faces.COLOURS[faces.place(initial)])
        expected = (1 - place.strength) * colour + place.strength * mean
        assert brightness(job.image) == pytest.approx(expected, abs=1)
        told = png.read_origin(bytes_of(job.image))
        assert (told.initial, told.strength) == (initial.sha256, place.strength)
        assert job.image.provenance.prompt_set == "from_images"


def test_the_same_recipe_makes_the_same_files_in_another_batch(face_set, model):
    hashes = []
    for model.batch in (1, 2, 9):
        run = faces.started(faces.plan(face_set))
        work.work(run_id=run.pk)
        assert run.jobs.exclude(image=None).count() == 9
        hashes.append(dict(run.jobs.values_list("number", "image__sha256").order_by("group", "number")))
        run.jobs.all().delete()
        Provenance.objects.all().delete()
        Image.objects.filter(image_set=run.image_set).delete()
        Run.objects.filter(pk=run.pk).delete()
    assert hashes[0] == hashes[1] == hashes[2]


def test_a_lost_file_is_made_again_byte_for_byte(face_set):
    run = faces.made(faces.plan(face_set))
    lost = run.jobs.order_by("pk")[4].image
    before = bytes_of(lost)
    Path(default_storage.path(lost.file.name)).unlink()
    verify.regenerate(lost=verify.verify(image_set=run.image_set).missing, by=None)
    assert work.work(run_id=run.pk) == 1
    assert bytes_of(Image.objects.get(pk=lost.pk)) == before


def test_a_missing_initial_file_fails_its_own_images_and_says_so(face_set):
    run = faces.started(faces.plan(face_set))
    Image.objects.filter(image_set=face_set, group__name="Mexican", index=3).update(file="")
    Path(default_storage.path(Image.objects.get(image_set=face_set, group__name="Indian").file.name)).unlink()
    assert again(run) == 3
    errors = list(run.jobs.exclude(error="").values_list("error", flat=True))
    assert len(errors) == 6
    assert any("number 3 of its group in the set 'faces', has no file" in each for each in errors)
    assert any("is missing. `manage.py verify` can make it again" in each for each in errors)


def test_images_that_were_added_while_a_worker_works_are_found(face_set, model):
    """The initial images are looked up with each claim, not once."""
    run = faces.started(faces.plan(face_set))
    model.batch = 1
    work.work(run_id=run.pk, batches=1)
    with CaptureQueriesContext(connection) as queries:
        work.work(run_id=run.pk, batches=1)
    assert sum("sha256" in each["sql"] and "faces" in each["sql"] for each in queries) == 1


def test_the_seam_needs_few_queries(face_set, django_assert_num_queries):
    run = faces.made(faces.plan(face_set))
    made = run.image_set
    with django_assert_num_queries(3):
        initial_images(made)
    with django_assert_num_queries(1):
        assert initial_images(face_set) == {}
    Image.objects.filter(image_set=face_set, group__name="Indian").update(index=9)
    assert len(initial_images(run.image_set)) == 6
