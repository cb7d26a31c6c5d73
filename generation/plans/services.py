"""Plan images of identity groups, or captions or embeddings of a set's images. Planning only reads."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Image, ImageSet, Study
from annotation.studies.study_file.stimuli import GroupDraw
from annotation.studies.units.planned import quoted_list
from generation import backends
from generation.backends.base import BackendError
from generation.models import Job, Run, RunState
from generation.plans.errors import PlanRefused
from generation.plans.queries.estimates import Estimate, cost_of_precision, estimate
from generation.plans.queries.identity_groups import attributes_by_group
from generation.plans.queries.image_sets import (
    check_name,
    check_set,
    default_name,
    image_set_shown_by,
    purpose_of,
    study_without_images,
)
from generation.recipes import prompts
from generation.recipes.prompts import Prompt, PromptSet
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe, Recipe, digest


@dataclass(frozen=True, slots=True)
class PlannedPrompt:
    """One prompt of one group, for `recipe.images_per_prompt` images."""

    group_id: int
    prompt: Prompt


@dataclass(frozen=True)
class Plan:
    """A recipe, the image set it fills or reads (by name: it may not exist yet), and its `prompts` for
    images, or the `images` (ids) to read. `attach_to`: a draft study that will show the set."""

    recipe: Recipe
    image_set: str
    prompts: tuple[PlannedPrompt, ...] = ()
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

    def split(self, *, min_jobs: int) -> Iterator[Plan]:
        """The same plan in parts of about `min_jobs` jobs; no group is split."""
        for start in range(0, len(self.images), min_jobs):
            yield replace(self, images=self.images[start : start + min_jobs])
        part: list[PlannedPrompt] = []
        for _group, of_group in itertools.groupby(self.prompts, key=lambda each: each.group_id):
            part += of_group
            if len(part) * self.per_prompt >= min_jobs:
                yield replace(self, prompts=tuple(part))
                part = []
        if part:
            yield replace(self, prompts=tuple(part))


@dataclass(frozen=True)
class MissingJobs:
    """The part of a plan without jobs: (prompt, number) of images to generate, or ids of `images` to read."""

    prompts: tuple[tuple[PlannedPrompt, int], ...]
    images: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prompts) + len(self.images)


@dataclass(frozen=True)
class Preview:
    """What a plan would make. `run` None: a new run. `pictures`: prompt set -> planned images. `prompts`:
    those of the first group, as examples."""

    plan: Plan
    run: Run | None
    total: int
    added: int
    groups: int
    pictures: Mapping[str, int]
    prompts: list[str]
    estimate: Estimate

    @property
    def existing(self) -> int:
        return self.total - self.added

    @property
    def fingerprint(self) -> str:
        """Of what is shown before a run starts: it starts only as it was shown."""
        state = self.run.state if self.run else ""
        shown = (self.plan.recipe_hash, self.total, self.added, state, self.plan.attach_to)
        return hashlib.sha256(repr(shown).encode()).hexdigest()[:32]


def plan_images(
    *,
    recipe: ImageRecipe,
    groups: Sequence[IdentityGroup],
    image_set: str = "",
    study: Study | None = None,
) -> Plan:
    """Plan images of `groups`; the attributes of stereotypical and non-stereotypical prompts come from
    `study`.

    `image_set` "": the study's set, if it was generated here, else a name from the model and the prompts.
    Raises PlanRefused with the cure; writes nothing.
    """
    _check_backend(recipe)
    _check_lengths(recipe)
    groups = list({group.pk: group for group in groups}.values())
    if not groups:
        raise PlanRefused(_("No identity group is selected."))
    purpose = purpose_of(recipe)
    shown = image_set_shown_by(study) if study is not None and purpose == PromptSet.DETECTION else ""
    name = image_set or shown or default_name(recipe)
    check_name(name)
    check_set(name, recipe)
    notes = [*cost_of_precision(recipe)]
    attributes: Mapping[int, GroupDraw] = {}
    if {PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL} & set(recipe.prompt_sets):
        if study is None:
            raise PlanRefused(
                "The stereotypical and non-stereotypical prompts need the attributes of a study. Name a "
                "study, or choose the default or detection prompts."
            )
        attributes = attributes_by_group(study, groups)
        if without := [group.name for group in groups if group.pk not in attributes]:
            notes.append(
                _("No “described as” prompts for groups without a visual stereotype: %(groups)s.")
                % {"groups": quoted_list(without)}
            )
        if not attributes:
            raise PlanRefused(
                f"The study '{study.name}' has no visual stereotype for any of {len(groups)} groups. Lower "
                "its threshold, or choose the default or detection prompts."
            )
    planned = tuple(
        PlannedPrompt(group.pk, prompt)
        for group in groups
        for prompt in _prompts(group, recipe, attributes.get(group.pk))
    )
    attach_to = study_without_images(study) if study is not None and purpose == PromptSet.DETECTION else None
    return Plan(
        recipe=recipe,
        image_set=name,
        prompts=planned,
        study=study,
        attach_to=attach_to,
        notes=tuple(notes),
    )


def plan_captions_or_embeddings(
    *, recipe: CaptionRecipe | EmbeddingRecipe, image_set: ImageSet, study: Study | None = None
) -> Plan:
    """Plan captions or embeddings of all images of the set that have a file here. Raises PlanRefused."""
    _check_backend(recipe)
    images = Image.objects.filter(image_set=image_set).order_by("pk")
    with_file = tuple(images.exclude(file="").values_list("pk", flat=True))
    absent = images.filter(file="").count()
    if not with_file:
        raise PlanRefused(
            f"The image set '{image_set.name}' "
            + (
                f"has no file here, only {absent} references to images stored elsewhere. Import the files "
                "first."
                if absent
                else "holds no image yet. Generate or import images first."
            )
        )
    note = ngettext(
        "%(number)d image has no file in this installation and is left out.",
        "%(number)d images have no file in this installation and are left out.",
        absent,
    )
    notes = [*cost_of_precision(recipe), *([note % {"number": absent}] if absent else [])]
    return Plan(recipe=recipe, image_set=image_set.name, images=with_file, study=study, notes=tuple(notes))


def preview(plan: Plan) -> Preview:
    """What a plan would make. Writes nothing."""
    added = len(missing_jobs(plan))
    first = plan.prompts[0].group_id if plan.prompts else None
    planned = Counter(each.prompt.prompt_set for each in plan.prompts)
    return Preview(
        plan=plan,
        run=Run.objects.filter(recipe_hash=plan.recipe_hash).first(),
        total=plan.total,
        added=added,
        groups=len({each.group_id for each in plan.prompts}),
        pictures={
            kind: plan.per_prompt * planned[PromptSet(kind)]
            for kind in getattr(plan.recipe, "prompt_sets", ())
        },
        prompts=[each.prompt.text for each in plan.prompts if each.group_id == first],
        estimate=estimate(plan.recipe, jobs=added),
    )


def missing_jobs(plan: Plan) -> MissingJobs:
    """The part of a plan without jobs. Jobs of other runs with the same set and generator count: planning ten
    images per prompt when there are five adds five."""
    if not isinstance(plan.recipe, ImageRecipe):
        jobs = Job.objects.filter(run__recipe_hash=plan.recipe_hash)
        if plan.images:
            jobs = jobs.filter(image__gte=min(plan.images), image__lte=max(plan.images))
        existing = set(jobs.order_by().values_list("image", flat=True))
        return MissingJobs(prompts=(), images=tuple(pk for pk in plan.images if pk not in existing))
    groups = {each.group_id for each in plan.prompts}
    jobs = Job.objects.filter(run__image_set__name=plan.image_set, group__in=groups).exclude(
        # left over by a worker that was busy when the run was cancelled
        run__state=RunState.CANCELLED,
        state__in=(JobState.PENDING, JobState.FAILED),
        image=None,
    )
    planned = set(jobs.order_by().values_list("group", "prompt_set", "prompt", "number").iterator())
    return MissingJobs(
        prompts=tuple(
            (each, number)
            for each in plan.prompts
            for number in range(1, plan.per_prompt + 1)
            if (each.group_id, each.prompt.prompt_set.value, each.prompt.text, number) not in planned
        ),
        images=(),
    )


def _prompts(group: IdentityGroup, recipe: ImageRecipe, drawn: GroupDraw | None) -> Iterator[Prompt]:
    identity = group.demonym.strip() or group.name
    prompt_sets = set(recipe.prompt_sets)
    if PromptSet.DETECTION in prompt_sets:
        yield from prompts.detection_prompts(identity)
    if PromptSet.DEFAULT in prompt_sets:
        yield from prompts.default_prompts(identity)
    if drawn is None:
        return
    if PromptSet.STEREOTYPICAL in prompt_sets:
        yield from prompts.described_prompts(identity, drawn.stereotypical, PromptSet.STEREOTYPICAL)
    if PromptSet.NON_STEREOTYPICAL in prompt_sets:
        yield from prompts.described_prompts(identity, drawn.random, PromptSet.NON_STEREOTYPICAL)


def _check_lengths(recipe: ImageRecipe) -> None:
    for name, value, most in (("model", recipe.model, 200), ("revision", recipe.revision, 80)):
        if len(value) > most:
            raise PlanRefused(
                f"{name}: '{value[:40]}...' has {len(value)} characters; the record of each image holds at "
                f"most {most}. Give a folder a shorter path, for example with a link."
            )


def _check_backend(recipe: Recipe) -> None:
    try:
        backends.check(recipe)
    except BackendError as error:
        raise PlanRefused(str(error)) from error
