"""Runs with answers."""

from __future__ import annotations

from itertools import count

from django.utils import timezone

from annotation.core.leases import JobState
from generation.models import Answer, Job, Run, RunState
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import as_json, digest

_numbers = count(1)
RECIPES = {recipe.kind: recipe for recipe in (CompletionRecipe, DescriptionRecipe, ClassificationRecipe)}


def a_run(
    kind: str = "completions", *, state: str = RunState.DONE, limits=None, image_set=None, **fields
) -> Run:
    name = f"run-{next(_numbers)}"
    recipe = RECIPES[kind](**{"backend": "fake", "model": "fake", **fields})
    return Run.objects.create(
        kind=kind,
        name=name,
        state=state,
        image_set=image_set,
        backend=recipe.backend,
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=image_set.name if image_set else "", name=name),
        limits=limits or {},
        started_at=None if state == RunState.PLANNED else timezone.now(),
    )


def answer(
    run: Run, text: str = "an answer", *, key: str = "", number: int = 1, ended: str = "stop", **fields
) -> Answer:
    of_the_job = {
        name: fields.pop(name) for name in ("prompt", "text_pair", "image", "group", "seed") if name in fields
    }
    job = Job.objects.create(
        run=run,
        key=key or f"k{next(_numbers)}",
        number=number,
        state=JobState.DONE,
        finished_at=timezone.now(),
        **{"prompt": "what?", "seed": 1, **of_the_job},
    )
    return Answer.objects.create(job=job, run=run, text=text, ended=ended, **fields)
