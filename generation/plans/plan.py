"""A plan: what a run makes or asks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from annotation.models import Study
from generation.plans.askings import Asking, Askings
from generation.recipes.limits import Limits
from generation.recipes.prompts import Prompt
from generation.recipes.recipes import ImageRecipe, Recipe, digest
from generation.recipes.series import numbers_from


@dataclass(frozen=True, slots=True)
class PlannedPrompt:
    """One prompt of one group, for `recipe.images_per_prompt` images, or for a series of them from each
    initial image of the group: `initials` are the indexes of these."""

    group_id: int
    prompt: Prompt
    initials: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A recipe, the image set it fills or reads (by name: it may not exist yet), and its `prompts` for
    images, or the `images` (ids) to read, or the `askings` of the run `name`. Embeddings have `images` and
    `askings` without a name: the texts to embed. `attach_to`: a draft study that will show the set."""

    recipe: Recipe
    image_set: str = ""
    prompts: tuple[PlannedPrompt, ...] = ()
    images: tuple[int, ...] = ()
    name: str = ""
    askings: Askings = ()
    limits: Limits = field(default_factory=Limits)
    study: Study | None = None
    attach_to: Study | None = None
    notes: tuple[str, ...] = ()

    @property
    def recipe_hash(self) -> str:
        return digest(self.recipe, image_set=self.image_set, name=self.name)

    @property
    def per_prompt(self) -> int:
        """Images of each prompt, or of each prompt and initial image."""
        if not isinstance(self.recipe, ImageRecipe):
            return 0
        return self.recipe.images_per_prompt * (len(self.recipe.strengths) or 1)

    def count(self, planned: PlannedPrompt) -> int:
        """How many images a prompt makes."""
        return self.per_prompt * (len(planned.initials) or 1)

    def numbers(self, planned: PlannedPrompt) -> Iterator[int]:
        """`Job.number` of each image of a prompt."""
        if isinstance(self.recipe, ImageRecipe) and self.recipe.initial:
            for index in planned.initials:
                yield from numbers_from(self.recipe, index)
        else:
            yield from range(1, self.per_prompt + 1)

    @property
    def times(self) -> int:
        """How often each asking is made."""
        return getattr(self.recipe, "times", 1)

    @property
    def total(self) -> int:
        generated = sum(self.count(each) for each in self.prompts)
        return len(self.images) + generated + len(self.askings) * self.times

    def split(self, *, min_jobs: int) -> Iterator[Plan]:
        """The same plan in parts of about `min_jobs` jobs; no group and no asking is split."""
        askings = iter(self.askings)
        while chunk := tuple(itertools.islice(askings, max(1, min_jobs // self.times))):
            yield replace(self, askings=chunk, images=())
        for start in range(0, len(self.images), min_jobs):
            yield replace(self, images=self.images[start : start + min_jobs], askings=())
        part: list[PlannedPrompt] = []
        for _group, of_group in itertools.groupby(self.prompts, key=lambda each: each.group_id):
            part += of_group
            if sum(self.count(each) for each in part) >= min_jobs:
                yield replace(self, prompts=tuple(part))
                part = []
        if part:
            yield replace(self, prompts=tuple(part))


@dataclass(frozen=True)
class MissingJobs:
    """The part of a plan without jobs: (prompt, number) of images to generate, ids of `images` to read, or
    (asking, number) of `askings`."""

    prompts: tuple[tuple[PlannedPrompt, int], ...] = ()
    images: tuple[int, ...] = ()
    askings: tuple[tuple[Asking, int], ...] = ()

    def __len__(self) -> int:
        return len(self.prompts) + len(self.images) + len(self.askings)
