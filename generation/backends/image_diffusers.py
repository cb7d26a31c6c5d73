"""diffusers: Stable Diffusion 1.x, 2.x, XL and 3, Flux and other pipelines, by hub id or local folder.

**The same picture alone and in company.** Each picture has a CPU generator of its own, seeded with its seed:
its first noise and a scheduler's later noise do not depend on the others. But kernels add up in another
order in a batch of another size, and the last bits then differ. Therefore the device always gets exactly
`batch` pictures, a power of two; the last go is filled up with repeats. On a CPU, where batches gain
nothing, `batch` is 1. `About.device` names the batch, for a repetition needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from generation.backends import pipelines, torch_support
from generation.backends.base import About, BackendError, OutOfMemory, Picture, TextToImage, Wanted
from generation.recipes.recipes import ImageRecipe

_GIB_A_PICTURE = 2.0  # at 512x512 in half precision, with room for the weights of the smaller models
_MOST = 32


class Pipeline:
    """A TextToImage around a loaded pipeline that stands on its device."""

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

    def generate(self, wanted: Sequence[Wanted]) -> list[Picture]:
        made: list[Picture] = []
        while len(made) < len(wanted):
            made += self._go(wanted[len(made) : len(made) + self.batch])
        return made

    def _go(self, some: Sequence[Wanted]) -> list[Picture]:
        full = [*some, *[some[-1]] * (self.batch - len(some))]
        try:
            with torch_support.memory_watched():
                pictures = self._pictures(full)
        except OutOfMemory:
            self.batch = max(1, self.batch // 2)
            raise
        return pictures[: len(some)]

    def _pictures(self, wanted: Sequence[Wanted]) -> list[Picture]:
        pixels = [Image.fromarray(one) for one in self._pixels(wanted)]
        expected = self._recipe.width, self._recipe.height
        if pixels[0].size != expected:
            made, asked = ("x".join(map(str, size)) for size in (pixels[0].size, expected))
            raise BackendError(f"The model makes {made} pictures of a recipe for {asked}. Choose {made}.")
        flagged = self._verdicts(pixels)
        if self._recipe.safety == "block":
            black = Image.new("RGB", expected)
            pixels = [black if bad else one for one, bad in zip(pixels, flagged, strict=True)]
        return [Picture(one, bad) for one, bad in zip(pixels, flagged, strict=True)]

    def _pixels(self, wanted: Sequence[Wanted]) -> npt.NDArray[np.uint8]:
        """RGB, shape (len(wanted), height, width, 3)."""
        torch, recipe = torch_support.library("torch"), self._recipe
        told: dict[str, Any] = {
            "prompt": [one.prompt for one in wanted],
            "generator": [torch.Generator("cpu").manual_seed(one.seed) for one in wanted],
            "width": recipe.width,
            "height": recipe.height,
            "output_type": "pt",
        }
        if recipe.steps is not None:
            told["num_inference_steps"] = recipe.steps
        if recipe.guidance is not None:
            told["guidance_scale"] = recipe.guidance
        if recipe.negative_prompt:
            told["negative_prompt"] = [recipe.negative_prompt] * len(wanted)
        images = self._pipeline(**told).images.float()
        if not bool(torch.isfinite(images).all()):
            raise BackendError(
                f"The model's numbers overflowed in {recipe.dtype}: the pictures would be black. Choose "
                "bfloat16 or float32."
            )
        found: npt.NDArray[np.uint8] = (
            (images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().cpu().numpy()
        )
        return found

    def _verdicts(self, pixels: Sequence[Image.Image]) -> Sequence[bool | None]:
        if self._checker is None:
            return [None] * len(pixels)
        torch = torch_support.library("torch")
        features = self._pipeline.feature_extractor(list(pixels), return_tensors="pt").pixel_values
        seen = features.to(self._pipeline.device, next(self._checker.parameters()).dtype)
        # The checker blackens what it is given: it is given stand-ins, the recipe decides about the pictures.
        _, flagged = self._checker(images=torch.zeros(len(pixels), 1), clip_input=seen)
        return [bool(one) for one in flagged]


def load(recipe: ImageRecipe, *, device: str = "") -> TextToImage:
    """Raises BackendError if the libraries, the weights or the device are missing, or if the model cannot do
    what the recipe asks."""
    chosen = torch_support.device(device)
    pipeline, revision = pipelines.loaded(recipe)
    checker = getattr(pipeline, "safety_checker", None) if recipe.safety != "off" else None
    if getattr(pipeline, "safety_checker", None) is not None:
        pipeline.safety_checker = None  # asked here, apart from the pictures
    try:
        with torch_support.memory_watched():
            _place(pipeline, chosen, checker)
    except OutOfMemory as error:
        raise BackendError(
            f"'{recipe.model}' in {recipe.dtype} does not fit into {torch_support.device_name(chosen)}: "
            f"{error}"
        ) from error
    denoiser = _denoiser(pipeline)
    if recipe.compiled and denoiser is not None:
        denoiser.compile(dynamic=False)
    about = About(
        recipe.model,
        revision,
        torch_support.device_name(chosen),
        torch_support.versions("torch", "diffusers", "transformers", "numpy", "pillow"),
    )
    return Pipeline(pipeline, recipe, about=about, checker=checker, batch=_batch(recipe, chosen))


def _place(pipeline: Any, device: Any, checker: Any) -> None:
    pipeline.set_progress_bar_config(disable=True)
    pipeline.to(device)
    if checker is not None:
        checker.to(device)
    if device.type == "cuda":  # convolutions in half precision run on the tensor cores without reordering
        last = torch_support.library("torch").channels_last
        for part in (_denoiser(pipeline), getattr(pipeline, "vae", None)):
            # three-dimensional convolutions, of models that make films as well, know no such order
            if part is not None and all(numbers.dim() < 5 for numbers in part.parameters()):
                part.to(memory_format=last)


def _denoiser(pipeline: Any) -> Any:
    """The part that runs at each step; None in pipelines that have it under another name."""
    return getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)


def _batch(recipe: ImageRecipe, device: Any) -> int:
    """How many pictures the device should hold: a power of two, 1 where its memory cannot be told."""
    memory = torch_support.device_gib(device)
    if memory is None:
        return 1
    halves = 2 if recipe.dtype == "float32" else 1
    pictures = memory / (_GIB_A_PICTURE * halves * recipe.width * recipe.height / 512**2)
    return _power_of_two(min(max(int(pictures), 1), _MOST))


def _power_of_two(size: int) -> int:
    """The largest that is not above `size`, which is at least 1."""
    return 1 << (size.bit_length() - 1)


__all__ = ["Pipeline", "load"]
