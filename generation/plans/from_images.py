"""Plan images that a model makes from the images of a set. Planning only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import IdentityGroup, Image, ImageSet
from annotation.studies.units.planned import quoted_list
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan, PlannedPrompt
from generation.plans.queries.estimates import cost_of_precision
from generation.plans.queries.image_sets import check_name, check_set, default_name, images_with_files
from generation.plans.queries.recipe_checks import check_backend, check_lengths
from generation.recipes import prompts as wording
from generation.recipes.prompts import Prompt
from generation.recipes.recipes import ImageRecipe
from generation.recipes.series import numbers_from

_LONGEST_PROMPT = 500
_LARGEST_NUMBER = 2**31 - 1  # of the column
_SAME_SHAPE = 0.02  # width and height of a recipe are multiples of 8


@dataclass
class _Initials:
    """The initial images of a set. `indexes`: group id -> index of each, rising. `others`: how many have
    another shape than the recipe's images."""

    indexes: dict[int, list[int]] = field(default_factory=dict)
    others: int = 0


def plan_images_from(
    *,
    recipe: ImageRecipe,
    initial_set: ImageSet,
    prompts: Sequence[str],
    groups: Sequence[IdentityGroup] = (),
    image_set: str = "",
) -> Plan:
    """Plan images from those images of `initial_set` that have a file here, of `groups` or of all groups.

    For each initial image, prompt, sample and strength one image, in the group of its initial image. A prompt
    may contain {group}. `image_set` "": a name from the model and the initial set. Raises PlanRefused with
    the cure; writes nothing.
    """
    check_backend(recipe)
    check_lengths(recipe)
    if recipe.initial != initial_set.name:
        raise PlanRefused(
            f"The recipe begins with images of '{recipe.initial}', not of '{initial_set.name}'."
        )
    name = image_set or default_name(recipe)
    check_name(name)
    if name == recipe.initial:
        raise PlanRefused(
            _("The images cannot go into the set “%(name)s”, which holds the initial images. Name another.")
            % {"name": name}
        )
    check_set(name, recipe)
    images_with_files(initial_set)  # refuses a set without
    initials = _initials(initial_set, recipe)
    planned = tuple(_planned(recipe, prompts, _groups(groups, initials, initial_set), initials))
    notes = (*cost_of_precision(recipe), *_notes(recipe, initial_set, initials))
    return Plan(recipe=recipe, image_set=name, prompts=planned, notes=notes)


def _initials(initial_set: ImageSet, recipe: ImageRecipe) -> _Initials:
    found = _Initials()
    images = Image.objects.filter(image_set=initial_set).exclude(file="").order_by("group", "index")
    shape = recipe.width / recipe.height
    for group, index, width, height in images.values_list("group", "index", "width", "height").iterator():
        found.indexes.setdefault(group, []).append(index)
        if height and abs(width / height / shape - 1) > _SAME_SHAPE:
            found.others += 1
    return found


def _groups(
    wanted: Sequence[IdentityGroup], initials: _Initials, initial_set: ImageSet
) -> Iterable[IdentityGroup]:
    if not wanted:
        return IdentityGroup.objects.filter(pk__in=initials.indexes)
    if without := [group.name for group in wanted if group.pk not in initials.indexes]:
        raise PlanRefused(
            _("The set “%(set)s” has no image with a file of: %(groups)s. Leave these groups out.")
            % {"set": initial_set.name, "groups": quoted_list(without)}
        )
    return {group.pk: group for group in wanted}.values()


def _planned(
    recipe: ImageRecipe, texts: Sequence[str], groups: Iterable[IdentityGroup], initials: _Initials
) -> Iterator[PlannedPrompt]:
    if not texts:
        raise PlanRefused(_("There is no prompt. Write what the images are to show."))
    for group in groups:
        indexes = tuple(initials.indexes[group.pk])
        last = list(numbers_from(recipe, indexes[-1]))[-1]
        if last > _LARGEST_NUMBER:
            raise PlanRefused(
                f"{group.name} {indexes[-1]} would begin image number {last:,}, and numbers end at "
                f"{_LARGEST_NUMBER:,}. Choose fewer strengths or fewer images of each."
            )
        for prompt in dict.fromkeys(_prompt(text, group) for text in texts):
            yield PlannedPrompt(group.pk, prompt, indexes)


def _prompt(text: str, group: IdentityGroup) -> Prompt:
    try:
        prompt = wording.own_prompt(text, group.demonym.strip() or group.name)
    except ValueError as error:
        raise PlanRefused(str(error)) from error
    if len(prompt.text) > _LONGEST_PROMPT or "\0" in text:
        raise PlanRefused(
            _("“%(text)s…” is no possible prompt. Write 1 to %(most)s characters.")
            % {"text": text[:40].replace("\0", ""), "most": _LONGEST_PROMPT}
        )
    return prompt


def _notes(recipe: ImageRecipe, initial_set: ImageSet, initials: _Initials) -> Iterator[str]:
    absent = Image.objects.filter(image_set=initial_set, file="").count()
    note = ngettext(
        "%(number)d initial image has no file in this installation and is left out.",
        "%(number)d initial images have no file in this installation and are left out.",
        absent,
    )
    if absent:
        yield note % {"number": absent}
    note = ngettext(
        "%(number)d initial image has another shape than %(width)s × %(height)s and is stretched to it.",
        "%(number)d initial images have another shape than %(width)s × %(height)s and are stretched to it.",
        initials.others,
    )
    if initials.others:
        yield note % {"number": initials.others, "width": recipe.width, "height": recipe.height}
    if not initial_set.licence:
        yield (
            _("The licence of “%(set)s” is not recorded. Make sure that you may change its images.")
            % {"set": initial_set.name}
        )
