"""Images that are made from initial images: which image of a series a job is. Pure: no Django.

A run makes, for each initial image, prompt and sample, one image at each strength. The images of one initial
image, prompt and sample are a series: they share a seed and differ in their strength only. `Job.number`
counts them, so that the initial image, the sample and the strength follow from the number and the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from generation.recipes.recipes import ImageRecipe

MOST_STRENGTHS = 50


@dataclass(frozen=True)
class SeriesPlace:
    """`initial_index`: the initial image's `index` in its set and group, from 1; `sample`: from 1."""

    initial_index: int
    sample: int
    strength: float


def series_place(recipe: ImageRecipe | Mapping[str, Any], number: int) -> SeriesPlace:
    """What the job `number` is made from. `recipe`: of images from images, or its stored form (Run.recipe).

    Inverse of `series_number`. Raises ValueError for a recipe without initial images, or a number below 1.
    """
    strengths, samples = _fields(recipe)
    if not strengths or number < 1:
        raise ValueError(f"Number {number} is no image of a series. Give a recipe with strengths, from 1 on.")
    before, place = divmod(number - 1, len(strengths))
    initial, sample = divmod(before, samples)
    return SeriesPlace(initial + 1, sample + 1, float(strengths[place]))


def series_number(recipe: ImageRecipe | Mapping[str, Any], place: SeriesPlace) -> int:
    """The number of the job that makes this image. Raises ValueError for a strength, a sample or an index
    that the recipe does not have."""
    strengths, samples = _fields(recipe)
    if place.initial_index < 1 or not 1 <= place.sample <= samples:
        raise ValueError(f"{place}: there are samples 1 to {samples}, and indexes count from 1.")
    before = (place.initial_index - 1) * samples + place.sample - 1
    return before * len(strengths) + strengths.index(place.strength) + 1


def seed_number(recipe: ImageRecipe, number: int) -> int:
    """The number that decides a job's seed: the same for a whole series, and from 1 on without gaps."""
    return (number - 1) // (len(recipe.strengths) or 1) + 1


def numbers_from(recipe: ImageRecipe, initial_index: int) -> Iterator[int]:
    """The numbers of all images that a prompt makes from one initial image."""
    each = recipe.images_per_prompt * len(recipe.strengths)
    yield from range((initial_index - 1) * each + 1, initial_index * each + 1)


def parse_series(text: str) -> tuple[float, ...]:
    """Strengths as people write them, '0.2, 0.4, 0.6'. Raises ValueError, which names the word."""
    strengths = []
    for word in re.findall(r"[^\s,;]+", text):
        try:
            strengths.append(float(word))
        except ValueError:
            raise ValueError(
                f"'{word}' is not a number. Write strengths above 0 and at most 1, such as 0.2, 0.4, 0.6."
            ) from None
    return tuple(strengths)


def series_text(strengths: Iterable[float]) -> str:
    """Inverse of `parse_series`."""
    return ", ".join(repr(float(each)) for each in strengths)


def _fields(recipe: ImageRecipe | Mapping[str, Any]) -> tuple[tuple[float, ...], int]:
    """The strengths, and the samples of each initial image."""
    if isinstance(recipe, Mapping):
        return tuple(recipe.get("strengths", ())), int(recipe["images_per_prompt"])
    return recipe.strengths, recipe.images_per_prompt
