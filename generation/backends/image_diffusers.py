"""diffusers: Stable Diffusion 1.x, 2.x, XL and 3, Flux and other pipelines, by hub id or local folder.

**An image does not depend on its batch.** Each image has its own CPU generator with its own seed, so its
noise does not depend on the others, and all batches of a repeatable recipe have the same size
(`FullBatches`). On a CPU, where batches gain nothing, `batch` is 1.
"""

import inspect
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from generation.backends import compiling, torch_support, weights
from generation.backends.base import About, BackendError, GeneratedImage, ImageRequest, TextToImage
from generation.backends.torch_support import FullBatches, padded_batches
from generation.recipes.recipes import ImageRecipe

_GIB_PER_IMAGE = 2.0  # at 512x512 in half precision, with room for the weights of the smaller models
_MOST = 32
# Draws its own noise at each step, so images cannot be repeated.
_WITHOUT_SEED = ("DPMSolverSDEScheduler",)


class Pipeline(FullBatches):
    """A TextToImage around a pipeline that is on its device."""

    def __init__(self, pipeline: Any, recipe: ImageRecipe, *, about: About, checker: Any, batch: int) -> None:
        # A compiled model would be compiled again for every other size.
        super().__init__(about, batch, full=recipe.repeatable or recipe.compiled)
        self._pipeline, self._recipe, self._checker = pipeline, recipe, checker

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        images: list[GeneratedImage] = []
        with self.halved_when_full(), torch_support.import_library("torch").inference_mode():
            for batch, real in padded_batches(requests, self.batch_for(len(requests))):
                images += self._images(batch)[:real]
        return images

    def _images(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        pixels = [Image.fromarray(array) for array in self._pixels(requests)]
        expected = self._recipe.width, self._recipe.height
        if pixels[0].size != expected:
            actual, asked = ("x".join(map(str, size)) for size in (pixels[0].size, expected))
            raise BackendError(f"The recipe asks for {asked}, but the model makes {actual}. Choose {actual}.")
        flagged = self._verdicts(pixels)
        if self._recipe.safety == "block":
            black = Image.new("RGB", expected)
            pixels = [black if bad else image for image, bad in zip(pixels, flagged, strict=True)]
        return [GeneratedImage(image, bad) for image, bad in zip(pixels, flagged, strict=True)]

    def _pixels(self, requests: Sequence[ImageRequest]) -> npt.NDArray[np.uint8]:
        """RGB, shape (len(requests), height, width, 3)."""
        torch, recipe = torch_support.import_library("torch"), self._recipe
        arguments: dict[str, Any] = {
            "prompt": [request.prompt for request in requests],
            "generator": [torch.Generator("cpu").manual_seed(request.seed) for request in requests],
            "width": recipe.width,
            "height": recipe.height,
            "output_type": "pt",
        }
        if recipe.steps is not None:
            arguments["num_inference_steps"] = recipe.steps
        if recipe.guidance is not None:
            arguments["guidance_scale"] = recipe.guidance
        if recipe.negative_prompt:
            arguments["negative_prompt"] = [recipe.negative_prompt] * len(requests)
        images = self._pipeline(**arguments).images.float()
        if not bool(torch.isfinite(images).all()):
            raise BackendError(
                f"The model's numbers overflowed in {recipe.dtype}: the images would be black. Choose "
                "bfloat16 or float32."
            )
        pixels: npt.NDArray[np.uint8] = (
            (images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().cpu().numpy()
        )
        return pixels

    def _verdicts(self, pixels: Sequence[Image.Image]) -> Sequence[bool | None]:
        if self._checker is None:
            return [None] * len(pixels)
        torch = torch_support.import_library("torch")
        features = self._pipeline.feature_extractor(list(pixels), return_tensors="pt").pixel_values
        clip_input = features.to(self._pipeline.device, next(self._checker.parameters()).dtype)
        # The checker blackens the images it is given, so it gets placeholders: the recipe decides what
        # happens.
        _, flagged = self._checker(images=torch.zeros(len(pixels), 1), clip_input=clip_input)
        return [bool(one) for one in flagged]


def load(recipe: ImageRecipe, *, device: str = "") -> TextToImage:
    """Raises BackendError if the libraries, the weights or the device are missing, or if the model cannot do
    what the recipe asks."""
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    pipeline, revision = _load_pipeline(recipe)
    checker = getattr(pipeline, "safety_checker", None) if recipe.safety != "off" else None
    if getattr(pipeline, "safety_checker", None) is not None:
        pipeline.safety_checker = None  # called by _verdicts instead
    with torch_support.must_fit(f"'{recipe.model}' in {recipe.dtype}", torch_device):
        _place(pipeline, torch_device, checker)
    libraries = ("torch", "diffusers", "transformers")
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, *libraries)
    size = (2 if recipe.dtype == "float32" else 1) * recipe.width * recipe.height / 512**2
    batch = torch_support.fitting_batch(torch_device, per_gib=1 / (_GIB_PER_IMAGE * size), most=_MOST)
    if recipe.compiled:
        quick = replace(recipe, steps=compiling.TRIAL_STEPS, safety="off")
        trial = Pipeline(pipeline, quick, about=about, checker=None, batch=batch)
        batch = compiling.compile_and_try(_denoiser(pipeline), trial)
    return Pipeline(pipeline, recipe, about=about, checker=checker, batch=batch)


def _place(pipeline: Any, device: Any, checker: Any) -> None:
    pipeline.set_progress_bar_config(disable=True)
    pipeline.to(device)
    if checker is not None:
        checker.to(device)
    if (
        device.type == "cuda"
    ):  # lets convolutions in half precision run on the tensor cores without reordering
        last = torch_support.import_library("torch").channels_last
        for part in (_denoiser(pipeline), getattr(pipeline, "vae", None)):
            # Three-dimensional convolutions (of video models) do not support this layout.
            if part is not None and all(parameter.dim() < 5 for parameter in part.parameters()):
                part.to(memory_format=last)


def _denoiser(pipeline: Any) -> Any:
    """The part that runs at each step; None if the pipeline has it under another name."""
    return getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)


def _load_pipeline(recipe: ImageRecipe) -> tuple[Any, str]:
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
        for name, part in pipeline.components.items():
            if name.startswith("tokenizer") and part is not None:
                weights.check_vocabulary(part, f"its part '{name}'")
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
