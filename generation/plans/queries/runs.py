"""Check the name of a run that asks a model: one name is one recipe."""

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.utils.text import slugify

from generation.models import Run
from generation.plans.errors import PlanRefused
from generation.recipes.recipes import AskingRecipe, as_json, with_absent

_LONGEST_NAME = 80


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
    new, old = with_absent(as_json(recipe)), with_absent(run.recipe)
    differing = sorted(key for key in {*new, *old} if new.get(key) != old.get(key))
    shown = ", ".join(f"{key} {_short(old.get(key))}, not {_short(new.get(key))}" for key in differing)
    raise PlanRefused(
        f"There is already a run '{name}', with another recipe ({shown or 'about other images'}). Use the "
        f"same, or choose another name."
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
