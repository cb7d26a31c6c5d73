"""Which image set pictures go into: one set has one maker and one use.

The maker is everything of a recipe but its prompt sets and how many pictures a prompt gets. The use:
pictures for detection are shown to people, those for pull are not (PROTOCOL §5, §9).
"""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.text import slugify

from annotation.models import Image, ImageSet, Study, StudyStatus, TaskKind
from generation.models import Job, Run, RunKind, RunState
from generation.plans.errors import PlanRefused
from generation.recipes.prompts import PULL, PromptSet
from generation.recipes.recipes import FAKE, ImageRecipe, as_json, from_json

_NOT_OF_THE_MAKER = ("prompt_sets", "images_per_prompt")
_LONGEST_NAME = 80


def default_name(recipe: ImageRecipe) -> str:
    """'stable-diffusion-v1-4-detection': what the model is called, and what the pictures are for."""
    model = FAKE if recipe.backend == FAKE else recipe.model.rstrip("/\\").replace("\\", "/").split("/")[-1]
    if set(recipe.prompt_sets) == set(PULL):
        used = "pull"
    else:
        used = "-".join(one.value for one in PromptSet if one in recipe.prompt_sets).replace("_", "-")
    room = _LONGEST_NAME - len(used) - 1
    return f"{(slugify(model) or 'model')[:room]}-{used}"


def set_shown_by(study: Study) -> str:
    """The set that a study's images come from, if they were made here; "" otherwise."""
    shown = study.tasks.filter(kind=TaskKind.DEPICTION, image_set__runs__kind=RunKind.IMAGES)
    return shown.values_list("image_set__name", flat=True).first() or ""


def images_of(study: Study) -> ImageSet:
    """The set whose images a study shows. Raises PlanRefused if it shows none."""
    image_set = ImageSet.objects.filter(task__study=study).order_by("task__kind", "-task__version").first()
    if image_set is None:
        raise PlanRefused(
            f"The study '{study.name}' shows no images. Name an image set instead, or make some: "
            f"manage.py generate {study.name}"
        )
    return image_set


def recipe_of_set(image_set: str) -> ImageRecipe | None:
    """The recipe of the set's latest pictures; None if none were made here."""
    run = _makers(image_set).order_by("-pk").first()
    recipe = from_json(run.recipe) if run is not None else None
    return recipe if isinstance(recipe, ImageRecipe) else None


def model_name(recipe: ImageRecipe) -> str:
    """What the set says its pictures are of: drawings do not pass for a model's."""
    return FAKE if recipe.backend == FAKE else recipe.model


def use_of(recipe: ImageRecipe) -> str:
    """'detection' or 'pull'; they do not go into one run, nor into one set."""
    wanted = set(recipe.prompt_sets)
    if PromptSet.DETECTION not in wanted:
        return "pull"
    if wanted != {PromptSet.DETECTION.value}:
        raise PlanRefused(
            "Pictures for detection are shown to people, and those for pull are not: plan them one after "
            "the other, each into an image set of its own."
        )
    return PromptSet.DETECTION


def check_name(name: str) -> None:
    try:
        validate_slug(name)
    except ValidationError as error:
        raise PlanRefused(f"The image set '{name}': use letters, digits, - and _ only.") from error
    if len(name) > _LONGEST_NAME:
        raise PlanRefused(f"The image set '{name[:40]}...': use at most {_LONGEST_NAME} characters.")


def check_set(name: str, recipe: ImageRecipe) -> None:
    """Refuse a set that somebody else's pictures are in."""
    made_here = _makers(name)
    mine = _maker(as_json(recipe))
    for run in made_here:
        theirs = _maker(run.recipe)
        if differing := sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)):
            told = ", ".join(f"{key} {theirs.get(key)!r}, not {mine.get(key)!r}" for key in differing)
            raise PlanRefused(
                f"The image set '{name}' is made by another recipe ({told}). "
                "Choose the same, or another name with --set."
            )
        if (PromptSet.DETECTION in run.recipe["prompt_sets"]) != (PromptSet.DETECTION in recipe.prompt_sets):
            raise PlanRefused(
                f"The image set '{name}' holds pictures for {', '.join(run.recipe['prompt_sets'])}. "
                "Choose another name with --set: those for detection are shown to people, those for pull "
                "are not."
            )
    if not made_here.exists() and Image.objects.filter(image_set__name=name).exists():
        raise PlanRefused(
            f"The image set '{name}' holds images that were brought here, not made here. Choose another "
            "name with --set."
        )


def _makers(image_set: str) -> QuerySet[Run]:
    """The runs that fill a set; one that was cancelled before it made anything has put nothing there."""
    runs = Run.objects.filter(image_set__name=image_set, kind=RunKind.IMAGES)
    return runs.filter(~Q(state=RunState.CANCELLED) | Exists(Job.objects.filter(run=OuterRef("pk"))))


def _maker(recipe: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in recipe.items() if key not in _NOT_OF_THE_MAKER}


def attachable(study: Study) -> Study | None:
    """The study, if it waits for images. Raises PlanRefused if it does and is no draft any more."""
    if not study.tasks.filter(kind=TaskKind.DEPICTION, image_set=None).exists():
        return None
    if study.status != StudyStatus.DRAFT:
        raise PlanRefused(
            f"The study '{study.name}' asks what images depict, has no image set and is {study.status}: what "
            "people are asked cannot change. Plan the pictures for a study that is a draft, or name groups "
            "and a set: manage.py generate SET --groups ..."
        )
    return study


__all__ = [
    "attachable",
    "check_name",
    "check_set",
    "default_name",
    "images_of",
    "model_name",
    "recipe_of_set",
    "set_shown_by",
    "use_of",
]
