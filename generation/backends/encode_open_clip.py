"""open_clip: image and text embeddings by any of its models, by weights' tag, weights file or local folder.

`model` ViT-B-32 with `pretrained` openai, or with the path of a weights file; `local-dir:/folder` and
`hf-hub:owner/name` bring their own weights. Images pass through open_clip's own preprocessing, by pillow, in
threads; the device works meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from generation.backends import open_clip_models, torch_support
from generation.backends.base import About, BackendError, Encoder, OutOfMemory
from generation.recipes.recipes import EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_BATCH = {"cpu": 64}
_BATCH_OF_A_GPU = 1024
_GO = 128  # of a batch on the device while the threads prepare the next


class OpenClip:
    """An Encoder around a loaded model that stands on its device."""

    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str, about: About
    ) -> None:
        self._model, self._preprocess, self._tokenizer = model, preprocess, tokenizer
        self._device, self._dtype = device, torch_support.dtype(dtype)
        self._threads = ThreadPoolExecutor(min(16, os.cpu_count() or 1), thread_name_prefix="preprocess")
        self.about = about
        self.batch = _BATCH.get(device.type, _BATCH_OF_A_GPU)
        self.dim = self.encode_texts(["a person"]).shape[1]

    def encode_images(self, images: Sequence[Image]) -> npt.NDArray[np.float32]:
        lib = torch_support.library("torch")
        ready = [self._threads.submit(self._prepared, image) for image in images]
        goes = (lib.stack([one.result() for one in go]).to(self._dtype) for go in _goes(ready, self._go))
        return self._unit(self._model.encode_image, goes)

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._unit(self._model.encode_text, map(self._tokenizer, _goes(list(texts), self._go)))

    @property
    def _go(self) -> int:
        return min(self.batch, _GO)

    def _prepared(self, image: Image) -> torch.Tensor:
        prepared: torch.Tensor = self._preprocess(image.convert("RGB"))
        return prepared

    def _unit(self, encode: Any, goes: Iterator[torch.Tensor]) -> npt.NDArray[np.float32]:
        lib = torch_support.library("torch")
        functional = torch_support.library("torch.nn.functional")
        try:
            with torch_support.memory_watched(), lib.inference_mode():
                found = [functional.normalize(encode(one.to(self._device)).float(), dim=-1) for one in goes]
                vectors = lib.cat(found) if found else lib.zeros(0, self.dim)
        except OutOfMemory:
            self.batch = max(1, self._go // 2)
            raise
        unit: npt.NDArray[np.float32] = vectors.cpu().numpy()
        if not np.isfinite(unit).all():
            raise BackendError("The model's numbers overflowed. Choose dtype bfloat16 or float32.")
        return unit


def load(recipe: EmbeddingRecipe, *, device: str = "") -> Encoder:
    """Raises BackendError if the libraries, the weights or the device are missing."""
    chosen = torch_support.device(device)
    model, preprocess, tokenizer, revision = open_clip_models.loaded(
        recipe.model, recipe.pretrained, dtype=recipe.dtype, device=chosen
    )
    about = About(
        recipe.model,
        revision,
        torch_support.device_name(chosen),
        torch_support.versions("torch", "torchvision", "open_clip_torch", "numpy", "pillow"),
    )
    return OpenClip(model, preprocess, tokenizer, device=chosen, dtype=recipe.dtype, about=about)


def _goes(whole: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


__all__ = ["OpenClip", "load"]
