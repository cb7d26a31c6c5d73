"""What a pipeline of diffusers can do, and which recipes it therefore refuses: one rule for planning and for
workers.

Planning imports no model library. It reads a model's files, and the source of the installed diffusers.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generation.backends import weights
from generation.backends.base import BackendError
from generation.recipes import loras
from generation.recipes.recipes import ImageRecipe

INDEX = "model_index.json"
# Draws its own noise at each step, so images cannot be repeated.
_WITHOUT_SEED = {"DPMSolverSDEScheduler"}


@dataclass(frozen=True)
class Facts:
    """`pipeline`: its class. `arguments`: what a call of it takes. `distilled`: it has no part that uses
    guidance. `scheduler`: its own; `schedulers`: those that fit it. None: not known.
    """

    pipeline: str
    arguments: Collection[str] | None
    distilled: bool
    has_checker: bool
    scheduler: str
    schedulers: Collection[str] | None


def check(recipe: ImageRecipe) -> None:
    """Raises BackendError for what no worker could do, as far as the files of this machine tell.

    A machine without diffusers may plan for workers that have it and the model's folder.
    """
    names = _scheduler_names() - _WITHOUT_SEED if recipe.scheduler else set()
    if names and recipe.scheduler not in names:
        raise BackendError(
            f"diffusers has no scheduler '{recipe.scheduler}' that can repeat an image. Choose one of: "
            f"{', '.join(sorted(names))}; or leave it empty for the model's own."
        )
    try:
        folder = _local_folder(recipe) or _cached_folder(recipe)
        for text in recipe.lora:
            weights.lora_file(loras.parse(text))
    except weights.NotOnThisMachine:
        if _source() is None:
            return
        raise
    if folder is not None:
        with weights.loading(recipe.model, recipe.revision):
            facts = _facts_in(folder, from_images=bool(recipe.initial))
        check_supported(recipe, facts)


def check_supported(recipe: ImageRecipe, facts: Facts) -> None:
    """Raises BackendError for settings that the pipeline would silently ignore."""
    name, known = facts.pipeline, facts.arguments
    if known is not None and "prompt" not in known:
        raise BackendError(f"{name} does not generate images from prompts. Choose a text-to-image model.")
    if recipe.initial and known is not None and not {"image", "strength"} <= set(known):
        raise BackendError(
            f"{name} does not make images from images by a strength. Choose another model, such as Stable "
            "Diffusion."
        )
    unguided = known is not None and "guidance_scale" not in known
    if recipe.guidance is not None and (facts.distilled or unguided):
        raise BackendError(
            f"'{recipe.model}', a {name}, does not support guidance. Leave guidance to the model (--guidance "
            "own)."
        )
    # Flux and similar models accept the argument but ignore it without a second guidance.
    ignored = known is not None and ("negative_prompt" not in known or "true_cfg_scale" in known)
    if recipe.negative_prompt and ignored:
        raise BackendError(f"{name} does not support a negative prompt. Leave it empty in the recipe.")
    if recipe.safety == "block" and not facts.has_checker:
        raise BackendError(
            f"'{recipe.model}' has no safety checker, so nothing could be blocked. "
            "Choose safety 'off' or 'record' (which then records no verdict), or another model."
        )
    if facts.schedulers is None:
        return
    fitting = sorted({facts.scheduler, *facts.schedulers} - _WITHOUT_SEED)
    if (scheduler := recipe.scheduler or facts.scheduler) not in fitting:
        raise BackendError(
            f"The scheduler '{scheduler}' does not fit this model, or cannot repeat an image. "
            f"The model's own is {facts.scheduler}. Choose one of: {', '.join(fitting)}."
        )


def facts_of(pipeline: Any) -> Facts:
    """Of a loaded pipeline."""
    own = pipeline.scheduler
    config = getattr(getattr(pipeline, "transformer", None), "config", {})
    return Facts(
        pipeline=type(pipeline).__name__,
        arguments=inspect.signature(pipeline.__call__).parameters,
        distilled=_is_distilled(config),
        has_checker=getattr(pipeline, "safety_checker", None) is not None,
        scheduler=type(own).__name__,
        schedulers=[one.__name__ for one in own.compatibles],
    )


def parts_of(folder: Path) -> dict[str, tuple[str, str]]:
    """The parts of a pipeline: name -> library and class. Raises ValueError if a folder holds none."""
    return {
        name: (str(part[0]), str(part[1]))
        for name, part in _read_index(folder).items()
        if isinstance(part, list) and len(part) == 2 and all(part)
    }


def check_files(folder: Path, recipe: ImageRecipe) -> None:
    """Raises ValueError for a missing part: a tokenizer whose folder is missing would be loaded as an empty
    one, which makes all prompts equal. Raises BackendError for a missing variant."""
    for name in parts_of(folder):
        if not any(path.is_file() for path in (folder / name).glob("*")):
            raise ValueError(f"its part '{name}' is missing")
    marks = f".{recipe.variant}.", f".{recipe.variant}-"
    if recipe.variant and not any(mark in path.name for path in folder.glob("*/*") for mark in marks):
        raise BackendError(
            f"'{recipe.model}' has no files of the variant '{recipe.variant}'. Name another, or leave it "
            "empty."
        )


def _local_folder(recipe: ImageRecipe) -> Path | None:
    folder = weights.folder_of(recipe.model)
    if folder is not None:
        with weights.loading(recipe.model):
            check_files(folder, recipe)
    return folder


def _cached_folder(recipe: ImageRecipe) -> Path | None:
    """The folder of a hub id that this machine has loaded before."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    hub = importlib.import_module("huggingface_hub")
    try:
        index = hub.try_to_load_from_cache(recipe.model, INDEX, revision=recipe.revision or None)
    except ValueError:  # not a hub id; the worker says so
        return None
    return Path(index).parent if isinstance(index, str) else None


def _facts_in(folder: Path, *, from_images: bool = False) -> Facts:
    """Of the pipeline in a folder, or of the one with which diffusers makes images from images of its parts;
    if that has another name than most, it is not known here what a call of it takes."""
    index, parts = _read_index(folder), parts_of(folder)
    name, scheduler = str(index.get("_class_name")), parts.get("scheduler", ("", ""))[1]
    if from_images:
        name = name.removesuffix("Pipeline").removesuffix("Img2Img") + "Img2ImgPipeline"
    config = folder / "transformer" / "config.json"
    return Facts(
        pipeline=name,
        arguments=_call_arguments(name),
        distilled=config.is_file() and _is_distilled(json.loads(config.read_text(encoding="utf-8"))),
        has_checker="safety_checker" in parts,
        scheduler=scheduler,
        schedulers=_compatibles(scheduler),
    )


def _read_index(folder: Path) -> Mapping[str, Any]:
    file = folder / INDEX
    if not file.is_file():
        raise ValueError(f"it has no {INDEX}, the file that lists a pipeline's parts")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"its {INDEX} is damaged") from error
    if not isinstance(index, dict):
        raise ValueError(f"its {INDEX} is damaged")
    return index


def _is_distilled(config: Mapping[str, Any]) -> bool:
    # Flux schnell and similar models accept guidance but have no part that uses it.
    return config.get("guidance_embeds") is False


def _call_arguments(pipeline: str) -> Collection[str] | None:
    found = _definition("pipelines", pipeline)
    for node in found.body if found else ():
        if isinstance(node, ast.FunctionDef) and node.name == "__call__":
            names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            # Without a prompt it is a part of a pipeline, which diffusers puts together when it loads.
            return names if "prompt" in names else None
    return None


def _compatibles(scheduler: str) -> Collection[str] | None:
    found = _definition("schedulers", scheduler)
    if found is None:
        return None
    value = _assigned(found).get("_compatibles")
    if value is None or isinstance(value, ast.List):
        return ast.literal_eval(value) if value else []
    family = _definition("schedulers", "KarrasDiffusionSchedulers")
    return _assigned(family) if family else None


def _assigned(definition: ast.ClassDef) -> dict[str, ast.expr]:
    """The attributes of a class: name -> value."""
    return {
        node.targets[0].id: node.value
        for node in definition.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _source() -> Path | None:
    """The folder of the installed diffusers, which is not imported here: that takes seconds."""
    spec = importlib.util.find_spec("diffusers")
    return Path(spec.origin).parent if spec and spec.origin else None


@cache
def _definition(room: str, name: str) -> ast.ClassDef | None:
    """A class in the source of diffusers."""
    source = _source()
    for file in (source / room).rglob("*.py") if source else ():
        text = file.read_text(encoding="utf-8")
        if f"\nclass {name}(" in text:
            classes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
            return next((node for node in classes if node.name == name), None)
    return None


@cache
def _scheduler_names() -> frozenset[str]:
    source = _source()
    files = (source / "schedulers").rglob("scheduling_*.py") if source else ()
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r"^class (\w+Scheduler)\(", text, re.MULTILINE))
