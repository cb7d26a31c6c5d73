"""Check a classifier's labels before anything is asked."""

from fnmatch import fnmatchcase

from generation.backends.base import BackendError, Model
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import Recipe


def check_labels(recipe: Recipe, model: Model) -> None:
    """Raise BackendError if the model lacks a label that the run is about: `design["needs_labels"]`, by name,
    whatever its place and capitals. A name may end with a star: "neg*" is any label that begins so."""
    if not isinstance(recipe, ClassificationRecipe):
        return
    labels: tuple[str, ...] = getattr(model, "labels", ())
    known = {label.strip().lower() for label in labels}
    missing = [
        name
        for name in recipe.design.get("needs_labels", ())
        if not any(fnmatchcase(label, name) for label in known)
    ]
    if missing:
        raise BackendError(
            f"The model answers with the labels {', '.join(labels) or 'none'}, and this run needs "
            f"{', '.join(missing)}. Choose a model that was trained for it. If its configuration only "
            "numbers its labels (LABEL_0, ...), look up their order, and plan the run again with their names."
        )
