"""diffusers: Stable Diffusion 1.x, 2.x, XL and 3, Flux and other pipelines, by hub id or local folder.

**An image does not depend on its batch.** Each image has its own CPU generator with its own seed, so its
noise does not depend on the others. But the order of summation in a kernel depends on the batch size, and the
last bits then differ. So the device always gets exactly `batch` images, a power of two; the last batch is
padded with repeats. On a CPU, where batches gain nothing, `batch` is 1. `About.device` names the batch size,
because a repetition needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from generation.backends import pipelines, torch_support
from generation.backends.base import (
    About,
    BackendError,
    GeneratedImage,
    ImageRequest,
    OutOfMemory,
    TextToImage,
)
from generation.recipes.recipes import ImageRecipe

_GIB_PER_IMAGE = 2.0  # at 512x512 in half precision, with room for the weights of the smaller models
_MOST = 32


class Pipeline:
    """A TextToImage around a pipeline that is on its device."""

    def __init__(self, pipeline: Any, recipe: ImageRecipe, *, about: About, checker: Any, batch: int) -> None:
        self._pipeline, self._recipe, self._checker = pipeline, recipe, checker
        self._device = about.device
        self.about = about
        self.batch = batch

    @property
    def batch(self) -> int:
        return self._batch

    @batch.setter
    def batch(self, size: int) -> None:
        self._batch = _power_of_two(size)
        self.about = replace(self.about, device=f"{self._device}, {self._batch} at a time")

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        images: list[GeneratedImage] = []
        while len(images) < len(requests):
            images += self._generate_batch(requests[len(images) : len(images) + self.batch])
        return images

    def _generate_batch(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        padded = [*requests, *[requests[-1]] * (self.batch - len(requests))]
        try:
            with torch_support.memory_errors_translated():
                images = self._images(padded)
        except OutOfMemory:
            self.batch = max(1, self.batch // 2)
            raise
        return images[: len(requests)]

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
    pipeline, revision = pipelines.load_pipeline(recipe)
    checker = getattr(pipeline, "safety_checker", None) if recipe.safety != "off" else None
    if getattr(pipeline, "safety_checker", None) is not None:
        pipeline.safety_checker = None  # called by _verdicts instead
    try:
        with torch_support.memory_errors_translated():
            _place(pipeline, torch_device, checker)
    except OutOfMemory as error:
        raise BackendError(
            f"'{recipe.model}' in {recipe.dtype} does not fit into "
            f"{torch_support.device_name(torch_device)}: "
            f"{error}"
        ) from error
    denoiser = _denoiser(pipeline)
    if recipe.compiled and denoiser is not None:
        denoiser.compile(dynamic=False)
    about = About(
        recipe.model,
        revision,
        torch_support.device_name(torch_device),
        torch_support.versions("torch", "diffusers", "transformers", "numpy", "pillow"),
    )
    return Pipeline(pipeline, recipe, about=about, checker=checker, batch=_batch(recipe, torch_device))


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


def _batch(recipe: ImageRecipe, device: Any) -> int:
    """How many images should fit on the device: a power of two; 1 if its memory is unknown."""
    memory = torch_support.device_gib(device)
    if memory is None:
        return 1
    halves = 2 if recipe.dtype == "float32" else 1
    images = memory / (_GIB_PER_IMAGE * halves * recipe.width * recipe.height / 512**2)
    return _power_of_two(min(max(int(images), 1), _MOST))


def _power_of_two(size: int) -> int:
    """The largest power of two that is at most `size` (>= 1)."""
    return 1 << (size.bit_length() - 1)
