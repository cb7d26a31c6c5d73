"""What a plan takes, told before it starts: assumed in words, or as earlier runs like it took."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.core.leases import JobState
from annotation.models import Image
from generation.models import Embedding, Provenance
from generation.plans.queries.estimates import cost_of_precision, estimate
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe
from tests import factories
from tests.generation.answers.answered import a_run, answer
from tests.generation.jobs.world import run_of_pictures, run_over
from tests.generation.plans import world

SMALL = {"width": 64, "height": 64}
HALF = {"dtype": "float16"}
SERIES = {"prompt_sets": ("from_images",), "initial": "faces", "strengths": (0.2, 0.4)}
CAPTIONS, PICTURES = CaptionRecipe(backend="visage", count=50), ImageRecipe(**HALF)
ASKING = CompletionRecipe(model="m")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("recipe", "limits", "seconds", "size", "card"),
    [
        (PICTURES, Limits(), 4, 512 * 512 * 1.7 + 240, True),
        (ImageRecipe(**HALF, **SERIES), Limits(), 4 * 0.3, 512 * 512 * 1.7 + 240, True),
        (ImageRecipe(backend="fake", **SMALL), Limits(), 0.004, 64 * 64 * 0.17 + 240, False),
        (CAPTIONS, Limits(), 1, 50 * 120, True),
        (EmbeddingRecipe(), Limits(), 0.05, 4 * 768 + 120, True),
        (ClassificationRecipe(model="m"), Limits(), 0.02, 4 * 120, True),
        (DescriptionRecipe(backend="brightness"), Limits(), 0.05, 3 * 120 + 400, False),
        (ASKING, Limits(), 2 / 64, 3 * 120 + 400, False),
        (ASKING, Limits(in_flight=4), 2 / 4, 3 * 120 + 400, False),
        (ASKING, Limits(in_flight=1024), 0.004, 3 * 120 + 400, False),
    ],
)
def test_what_is_assumed_of_a_recipe_that_was_never_used_here(recipe, limits, seconds, size, card):
    told = estimate(recipe, jobs=1000, limits=limits)
    assert told.seconds == pytest.approx(1000 * seconds)
    assert told.bytes == round(1000 * size)
    assert not told.measured
    assert ("graphics card" in told.basis) is card


@pytest.mark.django_db
def test_tokens_and_time_are_as_answers_of_runs_like_it_took():
    like, longer, seen = a_run(), a_run(max_tokens=7), a_run("descriptions")
    for run, seconds, tokens in ((like, 2, 10), (like, 4, 30), (longer, 90, 900), (seen, 90, 900)):
        answer(run, seconds=seconds, tokens_out=tokens)
    recipe = CompletionRecipe(backend="fake", model="fake", system="y" * 8)
    prices = Limits(price_in=1, price_out=2)
    told = estimate(recipe, jobs=10, limits=prices, examples=["x" * 12, "x" * 52])
    assert (told.seconds, told.measured) == (pytest.approx(10 * 3), True)
    assert told.basis == "measured: the model took 3 s for each of the last 2 like these"
    assert (told.tokens_in, told.tokens_out, told.most_tokens_out) == (10 * 10, 10 * 20, 10 * 100)
    assert told.cost == pytest.approx((100 + 2 * 200) / 1e6)
    assert told.most_cost == pytest.approx((100 + 2 * 1000) / 1e6)
    described = estimate(DescriptionRecipe(model="m", max_tokens=5), jobs=10, examples=["x" * 40])
    assert (described.tokens_in, described.tokens_out) == (10 * (10 + 1000), 10 * 5)


@pytest.mark.django_db
def test_files_are_as_large_as_those_of_runs_like_it():
    like, other = world.planned("Indian").run, world.planned("Indian", image_set="large", width=128).run
    sizes = iter((4000, 6000, None, 90_000))
    for run in (like, like, like, other):
        world.finish(run.jobs.exclude(state=JobState.DONE).first())
        image = Image.objects.latest("pk")
        Provenance.objects.create(image=image, run=run, seed=1, recipe_hash=run.recipe_hash)
        size = next(sizes)
        file = default_storage.save("images/one.png", ContentFile(b"x" * size)) if size else ""
        Image.objects.filter(pk=image.pk).update(file=file, reference="" if file else "elsewhere.png")
    assert estimate(world.recipe(), jobs=10).bytes == 10 * 5000


@pytest.mark.django_db
def test_vectors_are_as_long_as_those_of_runs_like_it():
    recipe, image = EmbeddingRecipe(backend="fake", model="fake"), factories.image()
    for of, dim in ((recipe, 8), (replace(recipe, model="other"), 99)):
        Embedding.objects.create(run=run_over([image], of), image=image, dim=dim, vector=b"0" * 4 * dim)
    assert estimate(recipe, jobs=10).bytes == 10 * (4 * 8 + 120)


@pytest.mark.django_db
def test_only_what_is_done_and_went_as_far_tells_how_long_it_takes():
    recipe = ImageRecipe(backend="fake", **SERIES)
    run = run_of_pictures(1, recipe=recipe)
    world.finish(run.jobs.get())
    assert estimate(recipe, jobs=1).measured
    assert not estimate(replace(recipe, strengths=(0.2, 0.5)), jobs=1).measured
    # its file is made again
    run.jobs.update(state=JobState.PENDING)
    assert not estimate(recipe, jobs=1).measured


@pytest.mark.parametrize(
    ("backend", "dtype", "notes"),
    [
        ("diffusers", "float32", 1),
        ("diffusers", "float16", 0),
        ("diffusers", "auto", 0),
        ("fake", "float32", 0),
        ("openai", "float32", 0),
    ],
)
def test_float32_is_said_to_be_dear_where_a_model_computes_here(backend, dtype, notes):
    assert len(cost_of_precision(ImageRecipe(backend=backend, dtype=dtype))) == notes
