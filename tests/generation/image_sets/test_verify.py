"""Files that are lost or damaged are found, and made again as they were."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import AuditEvent, IdentityGroup, Image, ImageSet
from generation.image_sets import services as verify
from generation.jobs import png
from generation.jobs.services import work
from generation.models import Job, Run, RunState
from generation.plans import services as plans
from generation.recipes.recipes import CaptionRecipe, ImageRecipe
from generation.runs import services as runs
from tests import factories
from tests.generation.image_sets import world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _without_pauses(settings) -> None:
    settings.JOB_RETRY_SECONDS = 0


@pytest.fixture
def made() -> ImageSet:
    """Six pictures of one group, by the backend that draws."""
    recipe = ImageRecipe(backend="fake", model="fake", width=64, height=64, images_per_prompt=2)
    plan = plans.plan_images(recipe=recipe, groups=[factories.group()], image_set="drawn")
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    assert work.work(run_id=run.pk) == 6
    return ImageSet.objects.get(name="drawn")


def path(image: Image) -> Path:
    return Path(default_storage.path(image.file.name))


def run_command(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("verify", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_whole_files_are_said_to_be_whole(made):
    out, err = run_command("drawn")
    assert "drawn: 6 files are intact." in out
    assert err == ""


def test_a_missing_and_a_damaged_file_are_named_and_nothing_is_changed(made):
    gone, hurt = made.images.order_by("index")[:2]
    path(gone).unlink()
    path(hurt).write_bytes(path(hurt).read_bytes()[:-9])
    found = verify.verify(image_set=made)
    assert [image.pk for image in found.missing] == [gone.pk]
    assert [image.pk for image in found.damaged] == [hurt.pk]
    assert found.intact == 4
    with pytest.raises(CommandError, match=r"1 files are missing, 1 are damaged.*--remake"):
        run_command("drawn")
    assert not path(gone).exists()
    assert set(Job.objects.values_list("state", flat=True)) == {JobState.DONE}


def test_lost_pictures_are_made_again_byte_for_byte(made):
    images = list(made.images.order_by("index"))
    before = {image.pk: path(image).read_bytes() for image in images}
    path(images[0]).unlink()
    path(images[3]).write_bytes(b"not a picture")
    out, err = run_command("drawn", "--remake", "--now")
    assert "drawn: 6 files are intact." in out
    assert "missing: images/" in err
    assert {image.pk: path(image).read_bytes() for image in images} == before
    assert Image.objects.count() == 6
    assert Run.objects.get().state == RunState.DONE
    assert png.read_origin(before[images[0].pk]).prompt == images[0].prompt


def test_a_picture_that_would_come_out_differently_is_not_put_in_its_place(made):
    image = made.images.order_by("index").first()
    path(image).unlink()
    Job.objects.filter(image=image).update(seed=1)  # as if another library drew it
    with pytest.raises(CommandError, match=r"differs from the one that was judged.*is not repeatable"):
        run_command("drawn", "--remake", "--now")
    assert not path(image).exists()
    assert Image.objects.get(pk=image.pk).sha256 == image.sha256


def test_what_was_brought_finished_cannot_be_made(made):
    brought = factories.image(image_set=made, index=99)
    name = "images/" + "0" * 64 + ".png"
    Image.objects.filter(pk=brought.pk).update(file=name, sha256="0" * 64, reference="")
    with pytest.raises(CommandError, match="1 files are missing"):
        run_command("drawn", "--remake", "--now")
    [only] = verify.regenerate(lost=[Image.objects.get(pk=brought.pk)], by=None).uploaded
    assert only.pk == brought.pk


def test_what_was_given_up_is_not_made_along_with_what_was_lost(made):
    run = Run.objects.get()
    image = made.images.order_by("index").first()
    # a worker put one back after the run was cancelled
    left = run.jobs.exclude(image=image).order_by("-pk").first()
    Image.objects.filter(pk=left.image_id).delete()
    kept = {field.attname: getattr(left, field.attname) for field in Job._meta.concrete_fields}
    given_up = Job.objects.create(
        **{**kept, "id": None, "image_id": None, "state": JobState.PENDING, "finished_at": None}
    )
    other = world.pictures("Indian", image_set="other")
    Run.objects.update(state=RunState.CANCELLED)
    path(image).unlink()
    run_command("drawn", "--remake", "--now")
    assert other.jobs.count() == 6, "nothing of that run was lost"
    assert path(image).exists()
    assert not Job.objects.filter(pk=given_up.pk).exists()
    assert Image.objects.count() == 5


def test_what_waits_in_the_run_is_told_before_it_is_made_as_well(made):
    recipe = ImageRecipe(backend="fake", model="fake", width=64, height=64, images_per_prompt=2)
    groups = [*IdentityGroup.objects.all(), factories.group("Indian")]
    runs.ensure(plan=plans.plan_images(recipe=recipe, groups=groups, image_set="drawn"), by=None)
    path(made.images.order_by("index").first()).unlink()
    out, _ = run_command("drawn", "--remake", "--now")
    assert "generates its lost images again, and 6 pending ones." in out
    assert "drawn: 12 files are intact." in out


@pytest.mark.parametrize("key", ["", "1.base"])
def test_what_a_model_said_of_a_lost_picture_is_not_asked_again(made, key):
    drawn, image = Run.objects.get(), made.images.order_by("index").first()
    said = world.made(world.read(drawn, CaptionRecipe(backend="fake")))
    of_image = said.jobs.filter(image=image)
    of_image.update(key=key, group=image.group if key else None, number=1 if key else 0)
    found = verify.regenerate(lost=[image], by=None)
    assert (found.runs, found.jobs, found.uploaded) == ((drawn,), 1, ())
    logged = AuditEvent.objects.get(what="pictures made again")
    assert logged.details == {"run": drawn.pk, "images": 1}
    said.refresh_from_db()
    assert said.state == RunState.DONE
    assert of_image.get().state == JobState.DONE


def test_a_lost_picture_is_made_as_if_it_were_new_and_what_is_being_made_is_left_to_its_worker(made):
    run = Run.objects.get()
    failed, waiting, claimed, never_made = made.images.order_by("index")[:4]
    tomorrow = timezone.now() + timedelta(days=1)
    error = {"error": "The disk was full.", "attempts": 3, "not_before": tomorrow}
    claim = {"state": JobState.CLAIMED, "claim": uuid4(), "lease_expires_at": tomorrow, "finished_at": None}
    Job.objects.filter(image=failed).update(state=JobState.FAILED, **error)
    Job.objects.filter(image=waiting).update(state=JobState.PENDING, finished_at=None)
    Job.objects.filter(image=claimed).update(**claim)
    Job.objects.filter(image=never_made).update(**claim, image=None)
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED, error="All jobs failed.")
    planned = world.pictures("Indian", image_set="planned")
    found = verify.regenerate(lost=[failed, waiting, claimed], by=None)
    planned.refresh_from_db()
    assert (planned.state, planned.started_at) == (RunState.PLANNED, None)
    assert (found.jobs, found.uploaded) == (1, ())
    job = Job.objects.get(image=failed)
    assert (job.state, job.error, job.attempts) == (JobState.PENDING, "", 0)
    assert (job.not_before, job.finished_at) == (None, None)
    assert run.jobs.filter(claim=claim["claim"]).count() == 2
    [again] = found.runs
    assert (again.state, again.error, again.finished_at) == (RunState.RUNNING, "", None)
    assert again.started_at == run.started_at


def test_a_study_is_not_a_set(made):
    factories.study("words")
    with pytest.raises(CommandError, match="is a study"):
        run_command("words")
    with pytest.raises(CommandError, match="Did you mean 'drawn'"):
        run_command("drwan")
