"""Checks of a recipe that every plan makes."""

from django.utils.translation import gettext as _

from generation import backends
from generation.backends.base import BackendError
from generation.plans.errors import PlanRefused
from generation.recipes.recipes import WITHOUT_SEED, ImageRecipe, Recipe


def check_lengths(recipe: ImageRecipe) -> None:
    """Raise PlanRefused for a name that the record of an image cannot hold."""
    for name, value, most in (("model", recipe.model, 200), ("revision", recipe.revision, 80)):
        if len(value) > most:
            raise PlanRefused(
                f"{name}: '{value[:40]}...' has {len(value)} characters; the record of each image holds at "
                f"most {most}. Give a folder a shorter path, for example with a link."
            )


def check_backend(recipe: Recipe) -> None:
    """Raise PlanRefused for what the recipe's backend cannot do."""
    try:
        backends.check(recipe)
    except BackendError as error:
        raise PlanRefused(str(error)) from error


def note_without_seed(recipe: ImageRecipe) -> tuple[str, ...]:
    """Notes for the preview: that the images cannot be made again, if no seed is sent for them."""
    if recipe.backend not in WITHOUT_SEED:
        return ()
    return (_("The server is asked without a seed: it takes none. The same image is not made again."),)
