"""diffusers: Stable Diffusion 1.x, 2.x, XL and 3, Flux and other pipelines, by hub id or local folder.

A recipe with initial images runs the same model in diffusers' image-to-image pipeline. One call of that has
one strength, so that images of other strengths wait for the next.

**An image does not depend on its batch.** Each image has its own CPU generator with its own seed, so its
noise does not depend on the others, and all batches of a repeatable recipe have the same size
(`FullBatches`). On a CPU, where batches gain nothing, `batch` is 1.
"""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from generation.backends import compiling, options, pipeline_options, pipelines, torch_support, weights
from generation.backends.base import About, BackendError, GeneratedImage, ImageRequest, TextToImage
from generation.backends.torch_support import FullBatches, padded_batches
from generation.recipes.recipes import ImageRecipe

_GIB_PER_IMAGE = 2.0  # at 512x512 in half precision, with room for the weights of the smaller models
_MOST = 32


class Pipeline(FullBatches):
    """A TextToImage around a pipeline that is on its device."""

    def __init__(self, pipeline: Any, recipe: ImageRecipe, *, about: About, checker: Any, batch: int) -> None:
        # A compiled model would be compiled again for every other size.
        super().__init__(about, batch, full=recipe.repeatable or recipe.compiled)
        self._pipeline, self._recipe, self._checker = pipeline, recipe, checker

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        images: dict[int, GeneratedImage] = {}
        places: dict[float, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(request.strength, []).append(place)
        with self.halved_when_full(), torch_support.import_library("torch").inference_mode():
            for same in places.values():
                for batch, real in padded_batches(same, self.batch_for(len(same))):
                    made = self._images([requests[place] for place in batch])
                    images.update(zip(batch[:real], made[:real], strict=True))
        return [images[place] for place in range(len(requests))]

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
        """RGB, shape (len(requests), height, width, 3). The requests have one strength."""
        torch, recipe = torch_support.import_library("torch"), self._recipe
        arguments: dict[str, Any] = {
            "prompt": [request.prompt for request in requests],
            "generator": [torch.Generator("cpu").manual_seed(request.seed) for request in requests],
            "output_type": "pt",
        }
        size = {"width": recipe.width, "height": recipe.height}
        if recipe.initial:
            arguments["image"] = [request.initial for request in requests]
            arguments["strength"] = requests[0].strength
            # Some of these pipelines take the size, others make what is as large as the initial image.
            known = inspect.signature(self._pipeline.__call__).parameters
            size = {name: value for name, value in size.items() if name in known}
        arguments |= size
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
        weight = next(self._checker.parameters())  # the pipeline itself may be offloaded
        clip_input = features.to(weight.device, weight.dtype)
        # The checker blackens the images it is given, so it gets placeholders: the recipe decides what
        # happens.
        _, flagged = self._checker(images=torch.zeros(len(pixels), 1), clip_input=clip_input)
        return [bool(one) for one in flagged]


def check(recipe: ImageRecipe) -> None:
    """Raises BackendError for what the model cannot do, as far as the files on this machine tell."""
    options.refuse_server(recipe)
    pipelines.check(recipe)


def load(recipe: ImageRecipe, *, device: str = "") -> TextToImage:
    """Raises BackendError if the libraries, the weights or the device are missing, or if the model cannot do
    what the recipe asks."""
    torch_device = torch_support.choose_device(device)
    pipeline_options.check_device(recipe, torch_device)
    recipe = torch_support.settle(recipe, torch_device)
    pipeline, revision = _load_pipeline(recipe)
    lora_files = pipeline_options.add_loras(pipeline, recipe)
    checker = getattr(pipeline, "safety_checker", None) if recipe.safety != "off" else None
    if getattr(pipeline, "safety_checker", None) is not None:
        pipeline.safety_checker = None  # called by _verdicts instead
    with torch_support.must_fit(f"'{recipe.model}' in {recipe.dtype}", torch_device):
        _place(pipeline, torch_device, checker, recipe.offload)
    libraries = "torch", "diffusers", "transformers", *pipeline_options.libraries(recipe)
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, *libraries)
    about = replace(about, libraries={**about.libraries, **lora_files})
    size = (2 if recipe.dtype == "float32" else 1) * recipe.width * recipe.height / 512**2
    batch = torch_support.fitting_batch(torch_device, per_gib=1 / (_GIB_PER_IMAGE * size), most=_MOST)
    if recipe.compiled:
        whole = (1.0,) if recipe.initial else ()
        quick = replace(recipe, steps=compiling.TRIAL_STEPS, strengths=whole, safety="off")
        trial = Pipeline(pipeline, quick, about=about, checker=None, batch=batch)
        blank = Image.new("RGB", (recipe.width, recipe.height))
        request = ImageRequest("a photo of a person", 0, blank if recipe.initial else None)
        batch = compiling.compile_and_try(_denoiser(pipeline), trial, request)
    return Pipeline(pipeline, recipe, about=about, checker=checker, batch=batch)


def _place(pipeline: Any, device: Any, checker: Any, offload: str = "") -> None:
    pipeline.set_progress_bar_config(disable=True)
    if offload:
        pipeline_options.offload(pipeline, offload, device)
    else:
        pipeline.to(device)
    if checker is not None:
        checker.to(device)
    if (
        device.type == "cuda"
    ):  # lets convolutions in half precision run on the tensor cores without reordering
        last = torch_support.import_library("torch").channels_last
        for part in (_denoiser(pipeline), getattr(pipeline, "vae", None)):
            if part is None or offload or getattr(part, "is_quantized", False):
                continue
            # Three-dimensional convolutions (of video models) do not support this layout.
            if all(parameter.dim() < 5 for parameter in part.parameters()):
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
            options = {"revision": recipe.revision or None, "variant": recipe.variant or None}
            folder = Path(diffusers.DiffusionPipeline.download(recipe.model, **options))
        pipelines.check_files(folder, recipe)
        pipeline = _text_to_image(
            diffusers,
            folder,
            dtype=torch_support.dtype(recipe.dtype),
            variant=recipe.variant or None,
            quantization_config=pipeline_options.quantisation(recipe, pipelines.parts_of(folder)),
        )
        if recipe.initial:
            pipeline = _image_to_image(diffusers, pipeline, recipe)
        for name, part in pipeline.components.items():
            if name.startswith("tokenizer") and part is not None:
                weights.check_vocabulary(part, f"its part '{name}'")
    pipelines.check_supported(recipe, pipelines.facts_of(pipeline))
    name = recipe.scheduler or type(pipeline.scheduler).__name__
    pipeline.scheduler = _scheduler(diffusers, name, pipeline.scheduler)
    return pipeline, weights.revision_of(folder)


def _text_to_image(diffusers: Any, folder: Path, **options: Any) -> Any:
    options["local_files_only"] = True
    try:
        return diffusers.AutoPipelineForText2Image.from_pretrained(folder, **options)
    except ValueError as error:
        if "AutoPipeline can't find" not in str(error):
            raise
    return diffusers.DiffusionPipeline.from_pretrained(folder, **options)


def _image_to_image(diffusers: Any, pipeline: Any, recipe: ImageRecipe) -> Any:
    """The same parts, in the pipeline that begins with images."""
    try:
        return diffusers.AutoPipelineForImage2Image.from_pipe(pipeline)
    except ValueError as error:
        raise BackendError(
            f"diffusers has no pipeline with which '{recipe.model}', a {type(pipeline).__name__}, makes "
            f"images from images ({error}). Choose another model, such as Stable Diffusion."
        ) from error


def _scheduler(diffusers: Any, name: str, own: Any) -> Any:
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
