"""The runs that an account may see, and the names of runs that ask models: one name is one recipe."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.utils.text import slugify

from annotation import policies
from generation.models import Run
from generation.plans.errors import PlanRefused
from generation.recipes.recipes import AskingRecipe, as_json, with_absent

_LONGEST_NAME = 80


def visible_runs(user: policies.User) -> QuerySet[Run]:
    """The runs that `user`, who may make images, may see. Prompts about the items of a study have its wording
    in them, so runs planned for a study (`design["study"]`) are for its leads alone."""
    runs = Run.objects.select_related("image_set", "created_by")
    if policies.is_admin(user):
        return runs
    led = policies.studies_led_by(user).values("name")
    study = KeyTextTransform("study", KeyTransform("design", "recipe"))
    return runs.alias(study=study).filter(Q(study__isnull=True) | Q(study__in=led))


def default_run_name(recipe: AskingRecipe, purpose: str) -> str:
    """Purpose and model, e.g. 'candidates-llama-3'."""
    model = recipe.model.rstrip("/\\").replace("\\", "/").split("/")[-1] or recipe.backend
    return slugify(f"{purpose}-{model}")[:_LONGEST_NAME].strip("-_") or "run"


def check_run_name(name: str) -> None:
    try:
        validate_slug(name)
    except ValidationError as error:
        raise PlanRefused(f"The run '{name[:40]}': name it with letters, digits, - and _ only.") from error
    if len(name) > _LONGEST_NAME:
        raise PlanRefused(f"The run '{name[:40]}...': use at most {_LONGEST_NAME} characters for its name.")


def check_same_recipe(name: str, recipe_hash: str, recipe: AskingRecipe) -> None:
    """Raise PlanRefused if the run of this name has another recipe."""
    run = Run.objects.filter(name=name).exclude(recipe_hash=recipe_hash).first()
    if run is None:
        return
    if _study_of(run.recipe) != _study_of(as_json(recipe)):  # what differs is not for everybody who plans
        raise PlanRefused(
            f"There is already a run '{name}', planned for something else. Choose another name."
        )
    new, old = with_absent(as_json(recipe)), with_absent(run.recipe)
    differing = sorted(key for key in {*new, *old} if new.get(key) != old.get(key))
    shown = ", ".join(f"{key} {_short(old.get(key))}, not {_short(new.get(key))}" for key in differing)
    raise PlanRefused(
        f"There is already a run '{name}', with another recipe ({shown or 'about other images'}). Use the "
        f"same, or choose another name."
    )


def _study_of(recipe: Mapping[str, Any]) -> object:
    return (recipe.get("design") or {}).get("study")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
