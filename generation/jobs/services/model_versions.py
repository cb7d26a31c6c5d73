"""What a run's models say of themselves: kept with the run, and of the same weights to its end.

Each picture has a history of its own (Provenance). What captions and vectors were made with, the run alone
says. Weights that change under a run (a folder that is overwritten, a hub's branch that moves on while some
machines have the old one in their cache) would go unseen into one set of pictures or vectors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.code_version import code_version
from generation.backends.base import About, BackendError
from generation.models import Run, RunKind
from generation.recipes.recipes import CaptionRecipe, ImageRecipe, Recipe

_COMMIT = re.compile(r"[0-9a-f]{40}")
_WITHOUT_REVISIONS = "hf-hub:"  # open_clip takes the newest; note() sees if that is another
_OF_THE_WEIGHTS = ("backend", "model", "revision", "pretrained")


def pinned(run: Run, recipe: Recipe) -> Recipe:
    """The recipe, with the hub's commit that the first of its products was made with where it names no
    revision: every worker loads the same, whatever the hub calls newest by then."""
    first = _first(run)
    revision = str(first["revision"]) if first is not None else ""
    if not isinstance(recipe, ImageRecipe | CaptionRecipe) or recipe.revision:
        return recipe
    if not _COMMIT.fullmatch(revision) or recipe.model.startswith(_WITHOUT_REVISIONS):
        return recipe
    return replace(recipe, revision=revision)


def note(run: Run, about: About) -> None:
    """Keep what a model says of itself with its run (`Run.made_with`), each way of making once.

    Raises BackendError, and writes nothing, if what is there already was made with other weights.
    """
    way = {
        "model": about.model,
        "revision": about.revision,
        "device": about.device,
        "libraries": dict(about.libraries),
        "code": code_version(),
    }
    first = _first(run)
    if first is not None and first["revision"] == about.revision and _known(run, way):
        return
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        first = _first(locked)
        if first is not None and first["revision"] != about.revision:
            raise BackendError(
                f"The weights of '{about.model}' are {about.revision} here; what there is was made with "
                f"{first['revision']}, and one set is made by one model. Put those weights back on this "
                "machine; or plan anew from the others: pictures into another image set, captions and "
                "embeddings with the others under a name, folder or revision of their own."
            )
        if not _known(locked, way):
            locked.made_with.append({**way, "since": timezone.now().isoformat(timespec="seconds")})
            locked.save(update_fields=["made_with"])
    run.made_with = locked.made_with


def _known(run: Run, way: Mapping[str, Any]) -> bool:
    return any(all(each.get(name) == said for name, said in way.items()) for each in run.made_with)


def _first(run: Run) -> Mapping[str, Any] | None:
    """How the first of a run's products was made; of pictures, the first of their set by the same model."""
    runs = Run.objects.filter(pk=run.pk)
    if run.kind == RunKind.IMAGES:
        runs = Run.objects.filter(image_set=run.image_set_id, kind=run.kind)
    ways: list[Mapping[str, Any]] = [
        each.made_with[0] for each in runs.exclude(made_with=[]) if _weights(each) == _weights(run)
    ]
    return min(ways, key=lambda way: str(way["since"]), default=None)


def _weights(run: Run) -> list[object]:
    return [run.recipe.get(name) for name in _OF_THE_WEIGHTS]


__all__ = ["note", "pinned"]
