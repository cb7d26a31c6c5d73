"""Plan what models are asked for associations (PROTOCOL §11). Planning only reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Image, ImageSet
from generation.models import Job, Run
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan, PlannedPrompt
from generation.plans.queries.image_sets import default_name, images_with_files
from generation.plans.queries.runs import default_run_name
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.prompts import Prompt, PromptSet
from generation.recipes.recipes import ImageRecipe
from metrics.associations.askings import LETTERS, Modality, Setting, asking_key, settings_of
from metrics.associations.descriptors import DIMENSIONS, DescriptorList
from metrics.associations.groups import find_groups, same_named
from metrics.associations.prompts import (
    Instruction,
    PromptText,
    image_prompt,
    image_prompt_name,
    prompt_name,
    words_prompts,
)
from metrics.core.purposes import ASSOCIATIONS

TIMES = 10
TEMPERATURE = 0.7
TOP_P = 0.95
_IMAGE_SETTINGS = settings_of(Modality.T2I)
_MOST_NAME = 80


@dataclass(frozen=True)
class WordAskings:
    """For each setting, descriptor and letter one asking, made while it is read. `groups`: the id of each
    descriptor's group, negative where the catalogue lacks it."""

    settings: Sequence[Setting]
    listed: DescriptorList
    prompts: Mapping[str, PromptText]
    groups: Sequence[int]

    def __len__(self) -> int:
        return len(self.settings) * len(self.listed) * len(LETTERS)

    def __iter__(self) -> Iterator[Asking]:
        for setting in self.settings:
            prompt = self.prompts[setting.value]
            rows = zip(self.listed.descriptors, self.groups, strict=True)
            for row, (descriptor, group) in enumerate(rows, start=1):
                for letter, text in words_prompts(prompt, descriptor):
                    key = asking_key(setting, row, letter)
                    yield Asking(key=key, prompt=text, group_id=group if group > 0 else None)


@dataclass(frozen=True)
class TextAskings:
    """For each image and setting one asking. `images`: the ids of image and group."""

    prompts: Sequence[tuple[Setting, str]]
    images: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.prompts) * len(self.images)

    def __iter__(self) -> Iterator[Asking]:
        for image, group in self.images:
            for setting, prompt in self.prompts:
                yield Asking(key=asking_key(setting, image), prompt=prompt, group_id=group, image_id=image)


def words_used(settings: Sequence[Setting], prompts: Mapping[str, PromptText]) -> dict[str, Any]:
    """The system message and the tokens of an answer that the prompts of these settings name, as fields of a
    recipe. Raises PlanRefused for several system messages: a run has one."""
    return _of_prompts([prompts[setting.value] for setting in settings])


def texts_used(
    settings: Sequence[Setting], instruction: Instruction, prompts: Mapping[str, PromptText]
) -> dict[str, Any]:
    """The same of settings about images."""
    return _of_prompts([prompts[prompt_name(setting, instruction)] for setting in settings])


def plan_words(
    *,
    recipe: CompletionRecipe,
    name: str,
    settings: Sequence[Setting],
    listed: DescriptorList,
    prompts: Mapping[str, PromptText],
    limits: Limits | None = None,
) -> Plan:
    """Plan a run, called `name`, that completes a word for each setting, descriptor and letter,
    `recipe.times` times. Groups that the catalogue lacks are made when it starts (services/descriptors.py).
    Raises PlanRefused with the cure."""
    settings = _ordered(settings, Modality.T2T)
    _check_list(listed)
    design = {
        "purpose": ASSOCIATIONS,
        "settings": [setting.value for setting in settings],
        "prompts": _stored(prompts[setting.value] for setting in settings),
        "descriptors": listed.digest,
        "rows": len(listed),
        "answers": "bracketed",
    }
    askings = WordAskings(settings, listed, prompts, placed_groups(listed))
    return plans.plan_askings(
        recipe=replace(recipe, design=design),
        name=name or _default_name(recipe, settings, Modality.T2T),
        askings=askings,
        limits=limits,
        notes=_notes(listed, several=len(settings) > 1),
    )


def plan_texts(
    *,
    recipe: DescriptionRecipe,
    name: str,
    settings: Sequence[Setting],
    image_set: ImageSet,
    prompts: Mapping[str, PromptText],
    instruction: Instruction = Instruction.STRAIGHTFORWARD,
    limits: Limits | None = None,
) -> Plan:
    """Plan a run, called `name`, that describes (T2I) or interprets (I2T) each image of the set, which knows
    its group. `instruction`: of T2I. Raises PlanRefused with the cure."""
    modality = settings[0].modality if settings else Modality.I2T
    settings = _ordered(settings, modality)
    if modality == Modality.T2T or (modality == Modality.T2I and len(settings) > 1):
        raise PlanRefused(_("Choose whether the images show one person or several; one of the two."))
    used = {setting: prompts[prompt_name(setting, instruction)] for setting in settings}
    with_file = set(images_with_files(image_set))
    rows = Image.objects.filter(image_set=image_set).order_by("pk").values_list("pk", "group_id")
    images = [(pk, group) for pk, group in rows.iterator() if pk in with_file]
    name = name or _default_name(recipe, settings, modality)
    design: dict[str, Any] = {
        "purpose": ASSOCIATIONS,
        "settings": [setting.value for setting in settings],
        "prompts": _stored(used.values()),
        "answers": "text",
    }
    if modality == Modality.T2I:
        design["instruction"] = instruction.value
    if groups := groups_of_run(name) or same_named(group for _pk, group in images):
        design["groups"] = groups
    return plans.plan_askings(
        recipe=replace(recipe, design=design),
        name=name,
        askings=TextAskings([(setting, used[setting].prompt) for setting in settings], images),
        image_set=image_set,
        limits=limits,
    )


def plan_images(
    *,
    recipe: ImageRecipe,
    setting: Setting,
    listed: DescriptorList,
    prompts: Mapping[str, PromptText],
    image_set: str = "",
) -> Plan:
    """Plan images of one (t2i-singular) or of several people (t2i-plural) of each descriptor, in an image set
    of their own. A prompt of several descriptors is made for the first, in the order of the dimensions; the
    measure counts it for all groups of that name. Raises PlanRefused with the cure."""
    _check_list(listed)
    recipe = replace(recipe, prompt_sets=(PromptSet.DESCRIPTORS.value,))
    wanted = _image_prompts(setting, listed, prompts)
    notes = _notes(listed)
    if fewer := len(listed) - len(wanted):
        note = ngettext(
            "%(number)d descriptor has the same prompt as another one: the image is made once.",
            "%(number)d descriptors have the same prompt as another one: the image is made once.",
            fewer,
        )
        notes.append(note % {"number": fewer})
    if not image_set:
        ending = f"-{setting.short}"
        image_set = default_name(recipe)[: _MOST_NAME - len(ending)] + ending
    _check_other_number(image_set, setting, listed, prompts)
    planned = [PlannedPrompt(group, Prompt(text, PromptSet.DESCRIPTORS)) for text, group in wanted.items()]
    return plans.plan_prompts(recipe=recipe, prompts=planned, image_set=image_set, notes=notes)


def placed_groups(listed: DescriptorList) -> list[int]:
    """The id of each descriptor's group; minus its row where the catalogue has none yet."""
    found = find_groups(listed.descriptors)
    return [group if group is not None else -row for row, group in enumerate(found, start=1)]


def groups_of_run(name: str) -> list[int]:
    """Those that the run of this name was planned with, so that the same plan stays the same while the
    catalogue grows."""
    recipe = Run.objects.filter(name=name).values_list("recipe", flat=True).first() or {}
    return list(recipe.get("design", {}).get("groups") or ())


def _image_prompts(
    setting: Setting, listed: DescriptorList, prompts: Mapping[str, PromptText]
) -> dict[str, int]:
    """Prompt -> group."""
    prompt = prompts[image_prompt_name(setting)]
    places = {dimension: place for place, dimension in enumerate(DIMENSIONS)}
    found: dict[str, tuple[int, int]] = {}
    for one, group in zip(listed.descriptors, placed_groups(listed), strict=True):
        place = places.get(one.dimension, len(places))
        text = image_prompt(prompt, one, setting)
        if text not in found or place < found[text][0]:
            found[text] = (place, group)
    return {text: group for text, (_place, group) in found.items()}


def _check_other_number(
    image_set: str, setting: Setting, listed: DescriptorList, prompts: Mapping[str, PromptText]
) -> None:
    """Raise PlanRefused if the set holds images of the other number of people."""
    other = next(each for each in _IMAGE_SETTINGS if each != setting)
    texts = set(_image_prompts(other, listed, prompts)) - set(_image_prompts(setting, listed, prompts))
    if Job.objects.filter(run__image_set__name=image_set, prompt__in=sorted(texts)[:500]).exists():
        raise PlanRefused(
            _("The image set '%(name)s' holds images of the other number of people. Choose another name.")
            % {"name": image_set}
        )


def _ordered(settings: Sequence[Setting], modality: Modality) -> list[Setting]:
    """In a fixed order, so that the same choice gives the same run."""
    if not settings:
        raise PlanRefused(_("Choose at least one setting."))
    if wrong := [setting for setting in settings if setting.modality != modality]:
        raise PlanRefused(
            _("'%(setting)s' is no setting of this kind. Choose from %(known)s.")
            % {"setting": wrong[0], "known": ", ".join(settings_of(modality))}
        )
    return [setting for setting in settings_of(modality) if setting in settings]


def _check_list(listed: DescriptorList) -> None:
    if not len(listed):
        raise PlanRefused(_("There is no descriptor on these dimensions. Choose others, or another list."))


def _notes(listed: DescriptorList, *, several: bool = False) -> list[str]:
    notes = []
    if listed.repeated:
        note = ngettext(
            "%(number)d row repeats an earlier one and is asked as well.",
            "%(number)d rows repeat an earlier one and are asked as well.",
            listed.repeated,
        )
        notes.append(note % {"number": listed.repeated})
    if several and listed.has_templates:
        notes.append(
            _(
                "The list has templates, which are asked as they are in every setting that you chose. Give "
                "each setting a list and a run of its own if its templates differ."
            )
        )
    return notes


def _of_prompts(used: Sequence[PromptText]) -> dict[str, Any]:
    systems = sorted({prompt.system for prompt in used})
    if len(systems) > 1:
        raise PlanRefused(
            _(
                "The prompts of these settings have different system messages, and a run has one. Plan a run "
                "for each, or give one system message."
            )
        )
    return {"system": "".join(systems), "max_tokens": max((prompt.max_tokens for prompt in used), default=0)}


def _stored(used: Iterable[PromptText]) -> dict[str, Any]:
    return {prompt.name: prompt.as_design() for prompt in used}


def _default_name(
    recipe: CompletionRecipe | DescriptionRecipe, settings: Sequence[Setting], modality: Modality
) -> str:
    return default_run_name(recipe, settings[0] if len(settings) == 1 else f"associations-{modality}")
