"""What is wanted: the pictures of identity groups, or the captions or embeddings of a set's images.

A plan is made by reading alone; runs/services.py turns it into a run and its jobs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import IdentityGroup, Image, ImageSet, Study
from annotation.studies.units.draws import GroupDraw
from annotation.studies.units.planned import quoted_list
from generation import backends
from generation.backends.base import BackendError
from generation.models import Job, JobState, Run, RunState
from generation.plans.errors import PlanRefused
from generation.plans.queries.identity_groups import described_as
from generation.plans.queries.image_sets import (
    attachable,
    check_name,
    check_set,
    default_name,
    set_shown_by,
    use_of,
)
from generation.recipes import prompts
from generation.recipes.prompts import Prompt, PromptSet
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe, Recipe, digest


@dataclass(frozen=True, slots=True)
class WantedPrompt:
    """One prompt of one group, for `recipe.images_per_prompt` pictures."""

    group_id: int
    group: str
    prompt: Prompt


@dataclass(frozen=True)
class Plan:
    """A recipe, the image set it fills or reads (by name: it may not be there yet), and what is wanted:
    `prompts` of pictures, or `images` by id. `attach_to`: a draft study that is to show the set."""

    recipe: Recipe
    image_set: str
    prompts: tuple[WantedPrompt, ...] = ()
    images: tuple[int, ...] = ()
    study: Study | None = None
    attach_to: Study | None = None
    notes: tuple[str, ...] = ()

    @property
    def recipe_hash(self) -> str:
        return digest(self.recipe, image_set=self.image_set)

    @property
    def per_prompt(self) -> int:
        return self.recipe.images_per_prompt if isinstance(self.recipe, ImageRecipe) else 0

    @property
    def total(self) -> int:
        return len(self.images) + len(self.prompts) * self.per_prompt

    def parts(self, *, at_least: int) -> Iterator[Plan]:
        """The same plan in pieces of about `at_least` jobs, none of which cuts a group."""
        for start in range(0, len(self.images), at_least):
            yield replace(self, images=self.images[start : start + at_least])
        part: list[WantedPrompt] = []
        for _group, of_group in itertools.groupby(self.prompts, key=lambda each: each.group_id):
            part += of_group
            if len(part) * self.per_prompt >= at_least:
                yield replace(self, prompts=tuple(part))
                part = []
        if part:
            yield replace(self, prompts=tuple(part))


@dataclass(frozen=True)
class Missing:
    """The part of a plan that no job stands for yet: pictures as (prompt, number), or image ids."""

    pictures: tuple[tuple[WantedPrompt, int], ...]
    images: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.pictures) + len(self.images)


@dataclass(frozen=True)
class Preview:
    """What a plan comes to. `run` None: it would be a new one. `pictures`: prompt set -> wanted pictures."""

    run: Run | None
    total: int
    added: int
    groups: int
    pictures: Mapping[str, int]
    example: str
    notes: tuple[str, ...]


def plan_pictures(
    *,
    recipe: ImageRecipe,
    groups: Sequence[IdentityGroup],
    image_set: str = "",
    study: Study | None = None,
) -> Plan:
    """Pictures of `groups`; the stereotypical and non-stereotypical sets are described as `study` says.

    `image_set` "" takes the one that the study shows, if it was made here, else a name made of the model
    and the prompts. Raises PlanRefused, with the cure; writes nothing.
    """
    _check_backend(recipe)
    _check_lengths(recipe)
    groups = list({group.pk: group for group in groups}.values())
    if not groups:
        raise PlanRefused(_("No identity group was named, so there is nothing to make a picture of."))
    use = use_of(recipe)
    shown = set_shown_by(study) if study is not None and use == PromptSet.DETECTION else ""
    name = image_set or shown or default_name(recipe)
    check_name(name)
    check_set(name, recipe)
    notes: list[str] = []
    described: Mapping[int, GroupDraw] = {}
    if {PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL} & set(recipe.prompt_sets):
        if study is None:
            raise PlanRefused(
                "The stereotypical and non-stereotypical prompts describe people by what a study says of "
                "them. Name a study, or choose the default or detection prompts."
            )
        described = described_as(study, groups)
        if without := [group.name for group in groups if group.pk not in described]:
            notes.append(
                _("Without a visual stereotype, and so without described prompts: %(groups)s.")
                % {"groups": quoted_list(without)}
            )
        if not described:
            raise PlanRefused(
                f"The study '{study.name}' has no visual stereotype of any of {len(groups)} groups. Lower "
                "its threshold, or choose the default or detection prompts."
            )
    wanted = tuple(
        WantedPrompt(group.pk, group.name, prompt)
        for group in groups
        for prompt in _prompts(group, recipe, described.get(group.pk))
    )
    attach_to = attachable(study) if study is not None and use == PromptSet.DETECTION else None
    return Plan(
        recipe=recipe,
        image_set=name,
        prompts=wanted,
        study=study,
        attach_to=attach_to,
        notes=tuple(notes),
    )


def plan_reading(
    *, recipe: CaptionRecipe | EmbeddingRecipe, image_set: ImageSet, study: Study | None = None
) -> Plan:
    """Captions or embeddings of every image of the set that has a file here. Raises PlanRefused."""
    _check_backend(recipe)
    images = Image.objects.filter(image_set=image_set).order_by("pk")
    here = tuple(images.exclude(file="").values_list("pk", flat=True))
    absent = images.filter(file="").count()
    if not here:
        raise PlanRefused(
            f"The image set '{image_set.name}' "
            + (
                f"holds {absent} references to images that are kept elsewhere, and no file. Import the files "
                "first."
                if absent
                else "holds no image yet. Generate or import some first."
            )
        )
    told = ngettext(
        "%(number)d image is a reference without a file here, and left out.",
        "%(number)d images are references without a file here, and left out.",
        absent,
    )
    notes = (told % {"number": absent},) if absent else ()
    return Plan(recipe=recipe, image_set=image_set.name, images=here, study=study, notes=notes)


def preview(plan: Plan) -> Preview:
    """What would be made, without writing anything."""
    return Preview(
        run=Run.objects.filter(recipe_hash=plan.recipe_hash).first(),
        total=plan.total,
        added=len(missing(plan)),
        groups=len({each.group_id for each in plan.prompts}),
        pictures=Counter(
            {
                kind: sum(plan.per_prompt for each in plan.prompts if each.prompt.prompt_set == kind)
                for kind in getattr(plan.recipe, "prompt_sets", ())
            }
        ),
        example=plan.prompts[0].prompt.text if plan.prompts else "",
        notes=plan.notes,
    )


def missing(plan: Plan) -> Missing:
    """What no job stands for. A picture that another run of the same set and maker makes counts as made:
    asking for ten pictures a prompt where there are five adds five."""
    if not isinstance(plan.recipe, ImageRecipe):
        jobs = Job.objects.filter(run__recipe_hash=plan.recipe_hash)
        if plan.images:
            jobs = jobs.filter(image__gte=min(plan.images), image__lte=max(plan.images))
        there = set(jobs.order_by().values_list("image", flat=True))
        return Missing(pictures=(), images=tuple(pk for pk in plan.images if pk not in there))
    groups = {each.group_id for each in plan.prompts}
    jobs = Job.objects.filter(run__image_set__name=plan.image_set, group__in=groups).exclude(
        # left over by a worker that was at it when its run was cancelled
        run__state=RunState.CANCELLED,
        state__in=(JobState.PENDING, JobState.FAILED),
        image=None,
    )
    made = set(jobs.order_by().values_list("group", "prompt_set", "prompt", "number").iterator())
    return Missing(
        pictures=tuple(
            (each, number)
            for each in plan.prompts
            for number in range(1, plan.per_prompt + 1)
            if (each.group_id, each.prompt.prompt_set.value, each.prompt.text, number) not in made
        ),
        images=(),
    )


def _prompts(group: IdentityGroup, recipe: ImageRecipe, drawn: GroupDraw | None) -> Iterator[Prompt]:
    identity = group.demonym.strip() or group.name
    wanted = set(recipe.prompt_sets)
    if PromptSet.DETECTION in wanted:
        yield from prompts.detection(identity)
    if PromptSet.DEFAULT in wanted:
        yield from prompts.default(identity)
    if drawn is None:
        return
    if PromptSet.STEREOTYPICAL in wanted:
        yield from prompts.described(identity, drawn.stereotypical, PromptSet.STEREOTYPICAL)
    if PromptSet.NON_STEREOTYPICAL in wanted:
        yield from prompts.described(identity, drawn.random, PromptSet.NON_STEREOTYPICAL)


def _check_lengths(recipe: ImageRecipe) -> None:
    for name, value, most in (("model", recipe.model, 200), ("revision", recipe.revision, 80)):
        if len(value) > most:
            raise PlanRefused(
                f"{name}: '{value[:40]}...' has {len(value)} characters, and {most} fit into the record of "
                "each picture. Give a folder a shorter path, for example by a link."
            )


def _check_backend(recipe: Recipe) -> None:
    try:
        backends.check(recipe)
    except BackendError as error:
        raise PlanRefused(str(error)) from error


__all__ = [
    "Missing",
    "Plan",
    "Preview",
    "WantedPrompt",
    "missing",
    "plan_pictures",
    "plan_reading",
    "preview",
]
