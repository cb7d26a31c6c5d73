"""Studies whose images have captions, for the tests of what captions say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from django.utils import timezone

from annotation.models import Image, Study
from generation.models import Caption, Run, RunKind, RunState
from generation.recipes.recipes import CaptionRecipe, as_json, digest
from tests import factories
from tests.metrics import cast

_numbers = count(1)

# 'hat' in 4 of 6 captions of Mexican images, 5 times; 'sombrero' in 1; 'poor' and 'kind' in none.
# 'hat' in 1 of 2 captions of Nepali images; 'kind' in 1.
SAID = {
    ("Mexican", 1): ["A man in a hat", "hats and more hats", "a street"],
    ("Mexican", 2): ["a woman's hat", "a Hat, a sombrero", "nothing of the kindness"],
    ("Nepali", 1): ["a kind man in a hat"],
    ("Nepali", 2): ["a mountain"],
}


def caption_run(images: Mapping[int, Sequence[str]], *, state: str = RunState.DONE) -> Run:
    """A captioning run over the one set of these images: {image id: captions, best first}."""
    image_set = Image.objects.filter(pk__in=images).first().image_set
    recipe = CaptionRecipe(backend="fake", seed=next(_numbers))
    now = timezone.now()
    run = Run.objects.create(
        kind=RunKind.CAPTIONS,
        state=state,
        image_set=image_set,
        backend="fake",
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=image_set.name),
        started_at=now,
        finished_at=now if state == RunState.DONE else None,
    )
    Caption.objects.bulk_create(
        Caption(run=run, image_id=image, rank=rank, text=text)
        for image, texts in images.items()
        for rank, text in enumerate(texts, 1)
    )
    return run


def of_study(study: Study, said: Mapping[tuple[str, int], Sequence[str]], **fields) -> Run:
    """A run with these captions of the study's images, named by group and number."""
    images = Image.objects.filter(units__task__study=study).distinct()
    known = {(image.group.name, image.index): image.pk for image in images.select_related("group")}
    return caption_run({known[key]: texts for key, texts in said.items()}, **fields)


def captioned_study(**fields) -> Study:
    """`cast.depiction_study` with the captions in SAID; 'hat' is visual, 'kind' is not."""
    study = cast.depiction_study(**fields)
    of_study(study, SAID)
    task = factories.task(study)
    for text, scores in (("hat", [5, 5, 4]), ("sombrero", [5, 5, 5]), ("kind", [5, 1, 1])):
        unit = factories.attribute_unit(task, text)
        factories.responses((unit, [score], None) for score in scores)
    return study
