"""Load a complete diffusers pipeline with the scheduler that a recipe names."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from generation.backends import torch_support, weights
from generation.backends.base import BackendError
from generation.recipes.recipes import ImageRecipe

# Draws its own noise at each step, so images cannot be repeated.
_WITHOUT_SEED = ("DPMSolverSDEScheduler",)


def load_pipeline(recipe: ImageRecipe) -> tuple[Any, str]:
    """The pipeline of a recipe, on the CPU, and its weights' revision. Raises BackendError."""
    diffusers = torch_support.import_library("diffusers")
    _quiet(diffusers)
    with weights.loading(recipe.model, recipe.revision):
        folder = weights.folder_of(recipe.model)
        if folder is None:
            downloaded = diffusers.DiffusionPipeline.download(recipe.model, revision=recipe.revision or None)
            folder = Path(downloaded)
        _check_parts(folder)
        pipeline = _text_to_image(diffusers, folder, torch_support.dtype(recipe.dtype))
        _check_tokenizers(pipeline)
    _check_supported(recipe, pipeline)
    name = recipe.scheduler or type(pipeline.scheduler).__name__
    pipeline.scheduler = _scheduler(diffusers, name, pipeline.scheduler)
    return pipeline, weights.revision_of(folder)


def _text_to_image(diffusers: Any, folder: Path, dtype: Any) -> Any:
    options = {"dtype": dtype, "local_files_only": True}
    try:
        return diffusers.AutoPipelineForText2Image.from_pretrained(folder, **options)
    except ValueError as error:
        if "AutoPipeline can't find" not in str(error):
            raise
    return diffusers.DiffusionPipeline.from_pretrained(folder, **options)


def _check_parts(folder: Path) -> None:
    """diffusers loads a tokenizer with a missing folder as an empty one, which makes all prompts equal."""
    index = folder / "model_index.json"
    if not index.is_file():
        raise ValueError("it has no model_index.json, the file that lists a pipeline's parts")
    try:
        parts = json.loads(index.read_text(encoding="utf-8")).items()
    except (ValueError, AttributeError) as error:
        raise ValueError("its model_index.json is damaged") from error
    for name, part in parts:
        named = isinstance(part, list) and len(part) == 2 and all(part)
        if named and not any(path.is_file() for path in (folder / name).glob("*")):
            raise ValueError(f"its part '{name}' is missing")


def _check_tokenizers(pipeline: Any) -> None:
    for name, part in pipeline.components.items():
        if name.startswith("tokenizer") and part is not None:
            tokens = set(part("a photo of a person").input_ids) - set(part.all_special_ids)
            if not tokens:
                raise ValueError(f"its part '{name}' has lost its vocabulary")


def _check_supported(recipe: ImageRecipe, pipeline: Any) -> None:
    """Refuse settings that the pipeline would silently ignore."""
    known = inspect.signature(pipeline.__call__).parameters
    name = type(pipeline).__name__
    if "prompt" not in known:
        raise BackendError(f"{name} does not generate images from prompts. Choose a text-to-image model.")
    # Flux schnell and similar models accept the argument but have no part that uses it.
    distilled = getattr(getattr(pipeline, "transformer", None), "config", {}).get("guidance_embeds") is False
    if recipe.guidance is not None and (distilled or "guidance_scale" not in known):
        raise BackendError(
            f"'{recipe.model}', a {name}, does not support guidance. Leave guidance to the model (--guidance "
            "own)."
        )
    # Flux and similar models accept the argument but ignore it without a second guidance.
    if recipe.negative_prompt and ("negative_prompt" not in known or "true_cfg_scale" in known):
        raise BackendError(f"{name} does not support a negative prompt. Leave it empty in the recipe.")
    if recipe.safety == "block" and getattr(pipeline, "safety_checker", None) is None:
        raise BackendError(
            f"'{recipe.model}' has no safety checker, so nothing could be blocked. "
            "Choose safety 'off' or 'record' (which then records no verdict), or another model."
        )


def _scheduler(diffusers: Any, name: str, own: Any) -> Any:
    known = sorted({type(own).__name__, *(one.__name__ for one in own.compatibles)}.difference(_WITHOUT_SEED))
    if name not in known:
        raise BackendError(
            f"The scheduler '{name}' does not fit this model, or cannot repeat an image. "
            f"The model's own is {type(own).__name__}. Choose one of: {', '.join(known)}."
        )
    try:
        return getattr(diffusers, name).from_config(own.config)
    except (ImportError, ValueError) as error:
        raise BackendError(f"The scheduler '{name}' cannot be used here: {error}") from error


def _quiet(diffusers: Any) -> None:
    """No progress bars in a worker's log, and no warning about blackened images, which the recipe decides."""
    diffusers.utils.logging.disable_progress_bar()
    torch_support.import_library("transformers").utils.logging.disable_progress_bar()
    checker = "diffusers.pipelines.stable_diffusion.safety_checker"
    diffusers.utils.logging.get_logger(checker).setLevel("ERROR")
