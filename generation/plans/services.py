"""Plan images of identity groups, captions or embeddings of a set's images, or askings of a model. Planning
only reads."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import IdentityGroup, Image, ImageSet, Study
from annotation.studies.study_file.stimuli import GroupDraw
from annotation.studies.units.planned import quoted_list
from generation.models import Run
from generation.plans.askings import Asking, Askings
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan, PlannedPrompt
from generation.plans.queries.estimates import Estimate, cost_of_precision, estimate
from generation.plans.queries.identity_groups import attributes_by_group
from generation.plans.queries.image_sets import (
    check_name,
    check_set,
    default_name,
    image_set_shown_by,
    images_with_files,
    purpose_of,
    study_without_images,
)
from generation.plans.queries.jobs import missing_jobs
from generation.plans.queries.recipe_checks import check_backend, check_lengths, note_without_seed
from generation.plans.queries.runs import check_run_name, check_same_recipe
from generation.plans.texts import askings_of_texts
from generation.recipes import prompts
from generation.recipes.limits import Limits
from generation.recipes.prompts import Prompt, PromptSet
from generation.recipes.recipes import (
    AskingRecipe,
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
)

_JOBS_PER_QUERY = 2000
_EXAMPLES = 13
_SAMPLED = 1000


@dataclass(frozen=True)
class Preview:
    """What a plan would make. `run` None: a new run. `pictures`: prompt set -> planned images. `prompts`:
    those of the first group, as examples. `added_texts`: how many of `added` are texts to embed."""

    plan: Plan
    run: Run | None
    total: int
    added: int
    groups: int
    pictures: Mapping[str, int]
    prompts: list[str]
    estimate: Estimate
    added_texts: int = 0

    @property
    def texts(self) -> int:
        """How many of `total` are texts to embed."""
        return 0 if self.plan.name else len(self.plan.askings)

    @property
    def images(self) -> int:
        """The others: images to make or to read, or askings."""
        return self.total - self.texts

    @property
    def added_images(self) -> int:
        return self.added - self.added_texts

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
    check_backend(recipe)
    check_lengths(recipe)
    groups = list({group.pk: group for group in groups}.values())
    if not groups:
        raise PlanRefused(_("No identity group is selected."))
    if PromptSet.DESCRIPTORS in recipe.prompt_sets:
        raise PlanRefused(
            _("Images of descriptors are planned with manage.py plan_associations, or its page.")
        )
    if recipe.initial:
        raise PlanRefused(_("Images from images need the initial images and a prompt."))
    purpose = purpose_of(recipe)
    shown = image_set_shown_by(study) if study is not None and purpose == PromptSet.DETECTION else ""
    name = image_set or shown or default_name(recipe)
    check_name(name)
    check_set(name, recipe)
    notes = [*cost_of_precision(recipe), *note_without_seed(recipe)]
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


def plan_prompts(
    *, recipe: ImageRecipe, prompts: Sequence[PlannedPrompt], image_set: str = "", notes: Sequence[str] = ()
) -> Plan:
    """Plan images of prompts that somebody else made. Raises PlanRefused with the cure; writes nothing."""
    check_backend(recipe)
    check_lengths(recipe)
    purpose_of(recipe)
    if not prompts:
        raise PlanRefused(_("There is nothing to make. Give at least one prompt."))
    name = image_set or default_name(recipe)
    check_name(name)
    check_set(name, recipe)
    return Plan(
        recipe=recipe,
        image_set=name,
        prompts=tuple(prompts),
        notes=(*cost_of_precision(recipe), *note_without_seed(recipe), *notes),
    )


def plan_captions_or_embeddings(
    *,
    recipe: CaptionRecipe | EmbeddingRecipe,
    image_set: ImageSet,
    study: Study | None = None,
    texts: Sequence[str] = (),
) -> Plan:
    """Plan captions or embeddings of all images of the set that have a file here, and embeddings of `texts`.
    Raises PlanRefused."""
    check_backend(recipe)
    with_file = images_with_files(image_set)
    absent = Image.objects.filter(image_set=image_set, file="").count()
    note = ngettext(
        "%(number)d image has no file in this installation and is left out.",
        "%(number)d images have no file in this installation and are left out.",
        absent,
    )
    notes = [*cost_of_precision(recipe), *([note % {"number": absent}] if absent else [])]
    return Plan(
        recipe=recipe,
        image_set=image_set.name,
        images=with_file,
        askings=askings_of_texts(texts),
        study=study,
        notes=tuple(notes),
    )


def plan_askings(
    *,
    recipe: AskingRecipe,
    name: str,
    askings: Askings,
    image_set: ImageSet | None = None,
    limits: Limits | None = None,
    notes: Sequence[str] = (),
) -> Plan:
    """Plan a run, called `name`, that asks a model. `image_set`: of the images that it asks about.

    Raises PlanRefused with the cure; writes nothing.
    """
    check_backend(recipe)
    check_run_name(name)
    if not len(askings):
        raise PlanRefused(_("There is nothing to ask. Give at least one prompt."))
    plan = Plan(
        recipe=recipe,
        image_set=image_set.name if image_set else "",
        name=name,
        askings=askings,
        limits=limits or Limits(),
        notes=(*cost_of_precision(recipe), *notes),
    )
    check_same_recipe(plan.name, plan.recipe_hash, recipe)
    return plan


def preview(plan: Plan) -> Preview:
    """What a plan would make. Writes nothing."""
    run = Run.objects.filter(recipe_hash=plan.recipe_hash).first()
    added, added_texts = plan.total, 0
    if run is not None or not plan.name:
        missing = (missing_jobs(part) for part in plan.split(min_jobs=_JOBS_PER_QUERY))
        counted = [(len(each), len(each.askings)) for each in missing]
        added, added_texts = (sum(numbers) for numbers in zip(*counted, strict=True)) if counted else (0, 0)
    first = plan.prompts[0].group_id if plan.prompts else None
    pictures: Counter[str] = Counter(dict.fromkeys(getattr(plan.recipe, "prompt_sets", ()), 0))
    for each in plan.prompts:
        pictures[each.prompt.prompt_set.value] += plan.count(each)
    return Preview(
        plan=plan,
        run=run,
        total=plan.total,
        added=added,
        groups=len({each.group_id for each in plan.prompts}),
        pictures=pictures,
        prompts=[
            *(each.prompt.text for each in plan.prompts if each.group_id == first),
            *(_asked(each) for each in itertools.islice(plan.askings, _EXAMPLES)),
        ],
        estimate=estimate(plan.recipe, jobs=added, limits=plan.limits, examples=_sample(plan)),
        added_texts=0 if plan.name else added_texts,
    )


def _asked(asking: Asking) -> str:
    return f"{asking.prompt} → {asking.text_pair}" if asking.text_pair else asking.prompt


def _sample(plan: Plan) -> list[str]:
    """Texts of some askings, to estimate their tokens."""
    return [_asked(each) for each in itertools.islice(plan.askings, _SAMPLED)]


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
