"""A worker's time with a run: what it makes, and what it tells of it."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone
from PIL import Image as PillowImage

from annotation.core.leases import JobState
from annotation.images import files as image_files
from annotation.models import Image
from generation import backends
from generation.backends.base import Question
from generation.core import vectors
from generation.embeddings.queries import image_vectors, text_vectors
from generation.jobs.services import batches, handlers, work
from generation.jobs.services import claims as jobs
from generation.models import Caption, Embedding, Job, Provenance, Run, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from generation.runs import services as runs
from tests.generation.jobs.world import again, counted, nobody_is_disturbed, run_of_pictures, run_over, state


def test_every_wanted_picture_is_made_and_told_of(model, monkeypatch):
    run = run_of_pictures(20)
    # when each of three batches begins and ends
    monkeypatch.setattr(batches, "time", SimpleNamespace(perf_counter=iter((0, 8, 8, 16, 16, 20)).__next__))
    assert work.work(run_id=run.pk) == 20
    assert state(run) == (RunState.DONE, "")
    nobody_is_disturbed(run)
    job = run.jobs.select_related("image__provenance").order_by("pk").first()
    told = job.image.provenance
    assert (told.recipe_hash, told.model, told.device) == (run.recipe_hash, "fake", "cpu")
    assert (told.prompt_set, told.run, told.flagged) == ("detection", run, False)
    assert told.code_revision.startswith("visage-studies")
    assert (told.seconds, told.libraries) == (job.seconds, dict(model.about.libraries))
    assert (job.image.width, job.image.height, job.claim, job.attempts) == (16, 16, None, 1)
    assert model.asked == [8, 8, 4]
    assert set(run.jobs.values_list("seconds", flat=True)) == {1.0}


@pytest.mark.parametrize("which", [0, 1])
def test_another_run_stays_as_it_is(model, which):
    """Whichever of the two is older."""
    both = [run_of_pictures(3), run_of_pictures(3)]
    Run.objects.update(error="the card was full")
    run, other = both[which], both[1 - which]
    before = [list(rows.values()) for rows in (Run.objects.filter(pk=other.pk), other.jobs.order_by("pk"))]
    assert work.work(run_id=run.pk) == 3
    assert state(run) == (RunState.DONE, "")
    run.refresh_from_db()
    assert len(run.made_with) == 1
    assert [
        list(rows.values()) for rows in (Run.objects.filter(pk=other.pk), other.jobs.order_by("pk"))
    ] == before


def test_the_same_recipe_makes_the_same_files_in_another_batch(model):
    hashes = []
    for model.batch in (1, 7, 20):
        run = run_of_pictures(20)
        # the hash of a recipe names the set too, and stands in the file
        Run.objects.filter(pk=run.pk).update(recipe_hash="0" * 64)
        work.work(run_id=run.pk)
        hashes.append(list(run.jobs.order_by("number").values_list("image__sha256", flat=True)))
        run.jobs.all().delete()
        Provenance.objects.all().delete()
        run.delete()
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes[0])) == 20


def test_captions_and_embeddings_are_made_of_the_files(model, monkeypatch):
    pictures = run_of_pictures(5)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images = list(Image.objects.filter(image_set=pictures.image_set))
    captions = run_over(images, CaptionRecipe(backend="fake", count=3))
    embeddings = run_over(images, EmbeddingRecipe(backend="fake", model="fake"))
    for run in (captions, embeddings):
        assert work.work(run_id=run.pk) == 5
        assert state(run) == (RunState.DONE, "")
    for image in images:
        assert list(image.captions.values_list("rank", flat=True)) == [1, 2, 3]
        [stored] = image.embeddings.all()
        [vector] = vectors.unpack([stored.vector], dim=stored.dim)
        assert sum(vector**2) == pytest.approx(1)
    # done again, as after a retry, they leave what there was
    before = [caption.text for caption in Caption.objects.filter(run=captions)]
    captions.jobs.update(state=JobState.PENDING)
    Run.objects.filter(pk=captions.pk).update(state=RunState.RUNNING)
    assert work.work(run_id=captions.pk) == 5
    assert [caption.text for caption in Caption.objects.filter(run=captions)] == before
    assert Embedding.objects.count() == 5


def test_texts_are_embedded_beside_images(model, monkeypatch):
    """They are added to the run of the images, as further images are, each once."""
    pictures = run_of_pictures(5)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images, recipe = pictures.image_set, EmbeddingRecipe(backend="fake", model="fake")
    before = run_over(list(Image.objects.filter(image_set=images)), recipe)
    work.work(run_id=before.pk)
    plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=images, texts=["we", "they", "we"])
    assert plans.preview(plan).added == 2
    ensured = runs.ensure(plan=plan, by=None)
    assert (ensured.run, ensured.added) == (before, 2)
    runs.start(run=ensured.run, by=None)
    work.work(run_id=ensured.run.pk)
    assert runs.ensure(plan=plan, by=None).added == 0
    found = text_vectors(before, ["we", "they", "nobody"])
    assert set(found) == {"we", "they"}
    [expected] = backends.load(recipe).encode_texts(["they"])
    assert (found["they"] == expected).all()
    assert image_vectors(before).vectors.shape == (5, len(expected))
    # done again, as after a retry, they leave what there was
    before.jobs.exclude(key="").update(state=JobState.PENDING)
    Run.objects.filter(pk=before.pk).update(state=RunState.RUNNING)
    assert work.work(run_id=before.pk) == 2
    assert list(text_vectors(before, ["we", "they"])) == list(found)
    for odd in ("x" * 501, " ", "a\0b"):
        with pytest.raises(PlanRefused, match="cannot be embedded"):
            plans.plan_captions_or_embeddings(recipe=recipe, image_set=images, texts=[odd])


_CAPTIONS = CaptionRecipe(backend="fake", count=1)
_EMBEDDINGS = EmbeddingRecipe(backend="fake", model="fake")


@pytest.mark.parametrize(
    ("recipe", "side", "asked"),
    [
        (_CAPTIONS, 16, [5]),
        (_CAPTIONS, 10_000, [3, 2]),
        (_CAPTIONS, 60_000, [1] * 5),
        (_EMBEDDINGS, 60_000, [5]),
    ],
)
def test_no_more_images_are_held_than_the_machines_memory_takes(model, monkeypatch, recipe, side, asked):
    """1 GiB of a claim's images as they are decoded: three of 10,000 by 10,000 pixels. An encoder keeps them
    small."""
    pictures = run_of_pictures(5)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images = Image.objects.filter(image_set=pictures.image_set)
    run = run_over(list(images), recipe)
    images.filter(index=2).update(width=side, height=side)
    claim, claims = jobs.claim, []

    def counted_claim(**given):
        claimed = claim(**given)
        claims.extend([len(claimed.jobs)] if claimed else [])
        return claimed

    monkeypatch.setattr(jobs, "claim", counted_claim)
    assert work.work(run_id=run.pk) == 5
    assert claims == asked


def test_an_image_that_is_asked_about_several_times_in_a_row_is_decoded_once(model, monkeypatch):
    pictures = run_of_pictures(3)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images = Image.objects.filter(image_set=pictures.image_set).order_by("pk")
    plan = plans.plan_askings(
        recipe=DescriptionRecipe(backend="fake", model="fake"),
        name="asked",
        askings=[Asking(f"{one.pk}/{what}", what, image_id=one.pk) for one in images for what in "abcde"],
        image_set=pictures.image_set,
    )
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    open_picture, opened = handlers.open_picture, []

    def noted(name, prepare):
        opened.append(name)
        return open_picture(name, prepare)

    monkeypatch.setattr(handlers, "open_picture", noted)
    assert work.work(run_id=run.pk) == 15
    assert sorted(opened) == sorted(one.file.name for one in images)
    # no answer is about another image
    said = {one.pk: set(run.jobs.filter(image=one).values_list("answer__text", flat=True)) for one in images}
    for one in images:
        with default_storage.open(one.file.name) as file, PillowImage.open(file) as picture:
            describer = backends.load(DescriptionRecipe(backend="fake", model="fake"))
            seeds = run.jobs.filter(image=one).values_list("prompt", "seed")
            asked = [Question(prompt, seed, picture.convert("RGB")) for prompt, seed in seeds]
            assert said[one.pk] == {reply.text for reply in describer.answer(asked)}


@pytest.mark.parametrize("damage", ["missing", "no picture", "outside"])
def test_an_image_that_cannot_be_read_stops_only_its_own_job(model, monkeypatch, damage):
    pictures = run_of_pictures(3)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images = list(Image.objects.filter(image_set=pictures.image_set))
    with default_storage.open(images[1].file.name, "wb") as file:
        file.write(b"not a picture")
    if damage == "missing":
        default_storage.delete(images[1].file.name)
    if damage == "outside":
        Image.objects.filter(pk=images[1].pk).update(file="", reference="elsewhere.png")
    run = run_over(images, CaptionRecipe(backend="fake", count=1))
    again(run)
    assert counted(run) == {"done": 2, "failed": 1} or counted(run) == {"done": 2, "pending": 1}
    messages = {
        "missing": "is missing",
        "no picture": "not a readable image",
        "outside": "only a reference",
    }
    assert messages[damage] in run.jobs.exclude(state=JobState.DONE).get().error


def test_the_run_that_was_started_first_is_finished_first(model):
    first, second = run_of_pictures(10), run_of_pictures(10)
    assert work.runs_needing_work() == [first.pk, second.pk]
    assert work.work_pending(batches=1) == 8
    assert (counted(first), counted(second)) == ({"done": 8, "pending": 2}, {"pending": 10})
    assert [work.work_pending() for _ in range(3)] == [2, 10, 0]
    assert work.runs_needing_work() == []
    late, early = run_of_pictures(1), run_of_pictures(1)
    Run.objects.filter(pk=late.pk).update(started_at=timezone.now())
    assert work.runs_needing_work() == [early.pk, late.pk], "not the one that was planned first"


def test_who_has_to_stop_begins_with_no_other_run(model, monkeypatch):
    first, _second = run_of_pictures(1), run_of_pictures(1)
    begun = []
    monkeypatch.setattr(work, "work", lambda run_id, **_: begun.append(run_id) or 0)
    assert work.work_pending(stopping=lambda: True) == 0
    assert begun == [first.pk]


def test_a_run_needs_work_for_jobs_of_its_own():
    later = timezone.now() + timedelta(hours=1)
    done, delayed = run_of_pictures(1), run_of_pictures(1)
    done.jobs.update(state=JobState.FAILED, error="no")
    delayed.jobs.update(not_before=later)
    assert work.runs_needing_work() == [done.pk], "it is to be closed"
    ready = run_of_pictures(1)
    assert work.runs_needing_work() == [done.pk, ready.pk]


def test_a_run_whose_worker_died_before_saying_done_is_closed_by_the_next():
    run = run_of_pictures(0)
    assert work.runs_needing_work() == [run.pk]
    assert work.work_pending() == 0
    assert state(run) == (RunState.DONE, "")


def test_a_run_without_jobs_is_closed_without_its_model_though_another_has_jobs(monkeypatch):
    run, _other = run_of_pictures(0), run_of_pictures(1)
    monkeypatch.setattr(work.loaded_model, "load", None)
    assert work.work(run_id=run.pk) == 0
    assert state(run) == (RunState.DONE, "")


def test_a_lost_file_is_made_again_byte_for_byte_and_keeps_its_history(model):
    run = run_of_pictures(3)
    work.work(run_id=run.pk)
    image = Image.objects.get(image_set=run.image_set, index=2)
    # made long ago, by another version elsewhere
    Provenance.objects.filter(image=image).update(code_revision="visage-studies 0.0.1", device="a card")
    Image.objects.filter(pk=image.pk).delete()
    run = run_of_pictures(1)
    work.work(run_id=run.pk)
    job = run.jobs.select_related("image").get()
    before = Provenance.objects.values().get(image=job.image)
    default_storage.delete(job.image.file.name)
    run.jobs.update(state=JobState.PENDING, attempts=0)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    model.about = type(model.about)("fake", "1", "another card", {"pillow": "99"})
    assert work.work(run_id=run.pk) == 1
    assert image_files.is_stored(job.image.file.name, sha256=job.image.sha256)
    assert Provenance.objects.values().get(image=job.image) == before
    assert Image.objects.values().get(pk=job.image_id)["sha256"] == job.image.sha256


def test_a_lost_file_that_comes_out_differently_is_refused(model):
    run = run_of_pictures(1)
    work.work(run_id=run.pk)
    job = run.jobs.select_related("image").get()
    default_storage.delete(job.image.file.name)
    Job.objects.filter(pk=job.pk).update(seed=job.seed + 1, state=JobState.PENDING, attempts=0)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    assert work.work(run_id=run.pk) == 0
    job.refresh_from_db()
    assert "differs from the one that was judged" in job.error
    assert "Its recipe is not repeatable" in job.error
    assert not default_storage.exists(job.image.file.name)
    assert len(list(default_storage.listdir("images")[1])) == 0
