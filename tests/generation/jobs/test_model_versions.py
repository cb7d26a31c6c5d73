"""What a run remembers of its models, and that the weights under it stay the same."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from annotation.core.leases import JobState
from annotation.models import Image
from generation import backends
from generation.backends.base import About
from generation.backends.encode_fake import FakeEncoder
from generation.jobs import png
from generation.jobs.services import loaded_model, model_versions, work
from generation.models import Run, RunState
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe, as_json
from tests import factories
from tests.generation.jobs.world import RECIPE, Moody, run_of_pictures, run_over, state
from tests.waiting import PATIENCE_SECONDS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"


def loads(monkeypatch, model):
    """From now on this is what a worker finds; it begins with nothing loaded."""
    asked = []
    monkeypatch.setattr(loaded_model, "_loaded", [])
    monkeypatch.setattr(backends, "load", lambda recipe, device: asked.append(recipe) or model)
    return asked


def moody(**about):
    model = Moody()
    model.about = replace(model.about, **about)
    return model


def test_a_run_keeps_each_way_it_was_made_once(model):
    run = run_of_pictures(24)
    assert [work.work(run_id=run.pk, batches=1) for _ in range(2)] == [8, 8]
    model.about = replace(model.about, device="another card")
    assert work.work(run_id=run.pk) == 8
    run.refresh_from_db()
    first, second = run.made_with
    assert (first["model"], first["revision"], first["device"]) == ("fake", "1", "cpu")
    assert first["libraries"] == dict(model.about.libraries)
    assert first["code"].startswith("visage-studies")
    assert first["since"] <= second["since"]
    assert second["device"] == "another card"


def test_a_lora_whose_file_changed_pauses_the_run(monkeypatch):
    recipe = replace(RECIPE, lora=("a/b@0.5",))
    run = run_of_pictures(16, recipe=recipe)
    loads(monkeypatch, moody(libraries={"lora a/b@0.5": "files-1"}))
    assert work.work(run_id=run.pk, batches=1) == 8
    loads(monkeypatch, moody(libraries={"lora a/b@0.5": "files-2"}))
    assert work.work(run_id=run.pk) == 0
    paused, why = state(run)
    assert paused == RunState.PAUSED
    assert (
        "The weights of 'lora a/b@0.5' are files-2 here, but the existing results were made with files-1"
        in why
    )
    assert "or plan a new run for the other weights" in why
    assert why.endswith("askings under another name.")


def test_a_run_with_other_loras_that_made_nothing_in_the_set_does_not_count():
    first = run_of_pictures(1)
    model_versions.record(first, moody(libraries={}).about)
    run = run_of_pictures(1, recipe=replace(RECIPE, lora=("a/b",)))
    Run.objects.filter(pk=run.pk).update(image_set=first.image_set_id)
    run.refresh_from_db()
    model_versions.record(run, moody(libraries={"lora a/b": "files-1"}).about)
    assert len(run.made_with) == 1


def test_what_memory_taught_is_another_way(model):
    model.batch, model.holds = 8, 4
    halve = type(model).generate

    def generate(wanted):
        try:
            return halve(model, wanted)
        finally:
            model.about = replace(model.about, device=f"cpu, {min(4, model.batch)} at a time")

    model.generate = generate
    run = run_of_pictures(8)
    assert work.work(run_id=run.pk) == 8
    run.refresh_from_db()
    assert [way["device"] for way in run.made_with] == ["cpu", "cpu, 4 at a time"]


def test_captions_and_vectors_remember_what_made_them(model, monkeypatch):
    pictures = run_of_pictures(2)
    work.work(run_id=pictures.pk)
    monkeypatch.undo()
    images = list(Image.objects.filter(image_set=pictures.image_set))
    for recipe in (CaptionRecipe(backend="fake", count=1), EmbeddingRecipe(backend="fake", model="fake")):
        run = run_over(images, recipe)
        work.work(run_id=run.pk)
        run.refresh_from_db()
        [way] = run.made_with
        assert (way["model"], way["revision"]) == ("fake", "1")


def test_weights_that_changed_under_a_run_pause_it_and_make_nothing(model, monkeypatch):
    pictures = run_of_pictures(4)
    work.work(run_id=pictures.pk)
    images = list(Image.objects.filter(image_set=pictures.image_set))
    run = run_over(images, EmbeddingRecipe(backend="fake", model="fake"))
    encoder = FakeEncoder()
    encoder.batch = 2
    loads(monkeypatch, encoder)
    assert work.work(run_id=run.pk, batches=1) == 2
    other = FakeEncoder()
    other.about = replace(other.about, revision="2")
    loads(monkeypatch, other)
    assert work.work(run_id=run.pk) == 0
    paused, why = state(run)
    assert paused == RunState.PAUSED
    assert "The weights of 'fake' are 2 here" in why
    Run.objects.filter(pk=run.pk).update(recipe_hash=factories.recipe_hash())
    another = run_over(images, EmbeddingRecipe(backend="fake", model="fake"))
    assert work.work(run_id=another.pk) == 4, "vectors of another run may be of other weights"
    assert "made with 1" in why
    assert set(run.jobs.filter(state=JobState.PENDING).values_list("attempts", flat=True)) == {0}
    # the first ones again: it goes on
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    loads(monkeypatch, encoder)
    assert work.work(run_id=run.pk) == 2
    assert len(Run.objects.get(pk=run.pk).made_with) == 1


def test_two_runs_of_one_set_are_made_with_the_same_weights(model, monkeypatch):
    first = run_of_pictures(2)
    work.work(run_id=first.pk)
    more = run_of_pictures(2)
    Run.objects.filter(pk=more.pk).update(image_set=first.image_set)
    loads(monkeypatch, moody(revision="2"))
    assert work.work(run_id=more.pk) == 0
    assert "made with 1" in state(more)[1]
    # in a set of its own it may be made of others
    alone = run_of_pictures(2)
    assert work.work(run_id=alone.pk) == 2


@pytest.mark.parametrize("kind", [ImageRecipe, CaptionRecipe])
def test_a_hub_id_without_a_revision_stays_at_the_commit_that_was_loaded_first(model, monkeypatch, kind):
    recipe = kind(backend="fake", model="someone/some-model")
    run = run_of_pictures(0, recipe=RECIPE)
    Run.objects.filter(pk=run.pk).update(kind=recipe.kind, recipe=as_json(recipe))
    run.refresh_from_db()
    assert model_versions.pin_revision(run, recipe) == recipe
    model_versions.record(run, About("someone/some-model", COMMIT, "cpu", {}))
    pinned = replace(recipe, revision=COMMIT)
    assert model_versions.pin_revision(run, recipe) == pinned
    # what is named by whoever planned is not replaced, and open_clip's ids know no revision
    named = replace(recipe, revision="v2")
    assert model_versions.pin_revision(run, named) == named
    at_open_clip = replace(recipe, model="hf-hub:someone/some-model")
    assert model_versions.pin_revision(run, at_open_clip) == at_open_clip


@pytest.mark.parametrize(("backend", "pinned"), [("transformers", COMMIT), ("open_clip", "")])
def test_an_encoder_stays_at_its_commit_if_its_weights_have_a_revision(model, backend, pinned):
    """`pretrained` is a revision of transformers' models only; for open_clip it names weights."""
    recipe = EmbeddingRecipe(backend=backend, model="someone/some-clip", pretrained="")
    run = run_of_pictures(0, recipe=RECIPE)
    Run.objects.filter(pk=run.pk).update(kind=recipe.kind, backend=backend, recipe=as_json(recipe))
    run.refresh_from_db()
    model_versions.record(run, About("someone/some-clip", COMMIT, "cpu", {}))
    assert model_versions.pin_revision(run, recipe).pretrained == pinned
    named = replace(recipe, pretrained="v2")
    assert model_versions.pin_revision(run, named) == named


def test_an_encoder_that_is_loaded_is_the_one_of_its_commit(monkeypatch):
    recipe = EmbeddingRecipe(backend="transformers", model="someone/some-clip", pretrained="")
    asked = loads(monkeypatch, moody(revision=COMMIT))
    loaded = loaded_model.load(recipe)
    assert loaded_model.load(replace(recipe, pretrained=COMMIT)) is loaded
    assert len(asked) == 1


def test_a_model_that_is_loaded_is_the_one_of_its_commit(monkeypatch):
    recipe = replace(RECIPE, model="someone/some-model")
    asked = loads(monkeypatch, moody(revision=COMMIT))
    loaded = loaded_model.load(recipe)
    assert loaded_model.load(replace(recipe, revision=COMMIT)) is loaded
    assert asked == [recipe]
    loaded_model.load(replace(recipe, revision=OTHER))
    assert len(asked) == 2


def test_a_picture_says_what_made_it_and_not_what_the_next_batch_made_of_the_model(model, monkeypatch):
    """The next batch runs out of memory while the files of this one are being kept."""
    run = run_of_pictures(16)
    draw, keep, halved = model.generate, png.encode, Event()
    model.about = replace(model.about, device="cpu, 8 at a time")

    def generate(wanted):
        pictures = draw(wanted)
        if len(model.asked) == 2:
            model.about = replace(model.about, device="cpu, 4 at a time")
            halved.set()
        return pictures

    def late(pixels, origin):
        assert halved.wait(PATIENCE_SECONDS)
        return keep(pixels, origin)

    model.generate = generate
    monkeypatch.setattr(png, "encode", late)
    assert work.work(run_id=run.pk) == 16
    told = [
        job.image.provenance.device for job in run.jobs.select_related("image__provenance").order_by("pk")
    ]
    assert told == ["cpu, 8 at a time"] * 8 + ["cpu, 4 at a time"] * 8
    for job in run.jobs.select_related("image__provenance"):
        with job.image.file.open("rb") as file:
            assert png.read_origin(file.read()).device == job.image.provenance.device
