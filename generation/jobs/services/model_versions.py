"""Record which models made a run's results, and make sure that the weights stay the same.

Weights can change during a run: a folder is overwritten, or a branch on the hub moves. Unnoticed, one image
set would mix two models.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.code_version import code_version
from generation.backends.base import About, BackendError
from generation.backends.pipeline_options import LORA
from generation.models import Run, RunKind
from generation.recipes.recipes import Recipe, at_revision

_COMMIT = re.compile(r"[0-9a-f]{40}")
_WITHOUT_REVISIONS = "hf-hub:"  # open_clip loads the newest; record() notices if it has changed
_WEIGHT_FIELDS = ("backend", "server", "model", "revision", "pretrained", "lora")


def pin_revision(run: Run, recipe: Recipe) -> Recipe:
    """The recipe with the hub commit that the first results were made with, if it names no revision.

    All workers then load the same weights, whatever the newest commit on the hub is.
    """
    first = _first_version(run)
    if first is None or recipe.model.startswith(_WITHOUT_REVISIONS):
        return recipe
    commit = str(first["revision"])
    return at_revision(recipe, commit) if _COMMIT.fullmatch(commit) else recipe


def record(run: Run, about: About) -> None:
    """Add a model's description to `Run.made_with`, each distinct one once.

    Raises BackendError, and writes nothing, if earlier results were made with other weights.
    """
    version = {
        "model": about.model,
        "revision": about.revision,
        "device": about.device,
        "libraries": dict(about.libraries),
        "code": code_version(),
    }
    files = _files(version)
    first = _first_version(run)
    if first is not None and _files(first) == files and _is_recorded(run, version):
        return
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).filter(pk=run.pk).first()
        if locked is None:
            raise BackendError("The run was discarded while its model was being loaded.")
        first = _first_version(locked)
        earlier = files if first is None else _files(first)
        changed = next((name for name in files if files[name] != earlier.get(name)), None)
        if changed is not None:
            raise BackendError(
                f"The weights of '{changed or about.model}' are {files[changed]} here, but the existing "
                f"results were made with {earlier.get(changed)}, and one set must come from one model. Put "
                "those weights back on this machine, or plan a new run for the other weights: images into "
                "another image set, captions and embeddings with another model name, folder or revision, "
                "askings under another name."
            )
        if not _is_recorded(locked, version):
            locked.made_with.append({**version, "since": timezone.now().isoformat(timespec="seconds")})
            locked.save(update_fields=["made_with"])
    run.made_with = locked.made_with


def _is_recorded(run: Run, version: Mapping[str, Any]) -> bool:
    return any(all(each.get(name) == value for name, value in version.items()) for each in run.made_with)


def _files(version: Mapping[str, Any]) -> dict[str, str]:
    """The revision of the model, by the name "", and of its LoRAs."""
    loras = {name: each for name, each in version["libraries"].items() if name.startswith(LORA)}
    return {"": version["revision"], **loras}


def _first_version(run: Run) -> Mapping[str, Any] | None:
    """What made the first result of the run; for images, the first of their set by the same model."""
    runs = Run.objects.filter(pk=run.pk)
    if run.kind == RunKind.IMAGES:
        runs = Run.objects.filter(image_set=run.image_set_id, kind=run.kind)
    versions: list[Mapping[str, Any]] = [
        each.made_with[0] for each in runs.exclude(made_with=[]) if _weights(each) == _weights(run)
    ]
    return min(versions, key=lambda version: str(version["since"]), default=None)


def _weights(run: Run) -> list[object]:
    return [run.recipe.get(name) for name in _WEIGHT_FIELDS]
