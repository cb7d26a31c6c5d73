"""Runs that measured brightness, made of what they are to have measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Image
from generation.models import Answer, Job, Run, RunState
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.recipes import as_json, digest
from tests import factories

_numbers = count(1)
MEASURED: Mapping[str, Any] = {
    "crop": "published",
    "pixels": 2401,
    "region": "face",
    "note": "",
    "lightness": 60.0,
    "b": 20.0,
    "ita": 30.0,
    "skin_pixels": 100,
}


def empty_run(name: str, *, image_set: str = "measured-set", crop: str = "published") -> Run:
    """A finished run over this set, which has measured nothing yet."""
    measured_set = factories.image_set(image_set)
    recipe = DescriptionRecipe(
        backend="brightness", options={"crop": crop, "faces": True}, design={"purpose": "brightness"}
    )
    now = timezone.now()
    return Run.objects.create(
        kind="descriptions",
        name=name,
        image_set=measured_set,
        backend="brightness",
        state=RunState.DONE,
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=image_set, name=name),
        started_at=now,
        finished_at=now,
    )


def measure(run: Run, image: Image, rgb: float, **changed: Any) -> None:
    job = Job.objects.create(
        run=run,
        key=f"image {image.pk}: brightness",
        number=1,
        seed=0,
        prompt="brightness",
        image=image,
        state=JobState.DONE,
        finished_at=timezone.now(),
    )
    Answer.objects.create(job=job, run=run, text=json.dumps({**MEASURED, "rgb": rgb, **changed}))


def add_image(run: Run, group: str, rgb: float, **changed: Any) -> Image:
    """One more image of the run's set, measured."""
    image = factories.image(image_set=run.image_set, group_name=group, index=next(_numbers))
    measure(run, image, rgb, **changed)
    return image


def a_run(
    name: str, brightness: Mapping[str, Sequence[float]], **fields: Any
) -> tuple[Run, dict[str, list[Image]]]:
    """A run, and its images by group."""
    run = empty_run(name, **fields)
    return run, {group: [add_image(run, group, rgb) for rgb in of] for group, of in brightness.items()}
