"""open_clip: image and text embeddings by any of its models, by weights' tag, weights file or local folder.

`model` ViT-B-32 with `pretrained` openai, or with the path of a weights file; `local-dir:/folder` and
`hf-hub:owner/name` include their weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from generation.backends import torch_support, weights
from generation.backends.base import About, BackendError, Encoder, OutOfMemory
from generation.recipes.recipes import EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_BATCH = {"cpu": 64}
_GPU_BATCH = 1024
_CHUNK = 128  # on the device at once, while the threads prepare the next


class OpenClip:
    """An Encoder around a model that is on its device."""

    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str, about: About
    ) -> None:
        self._model, self._preprocess, self._tokenizer = model, preprocess, tokenizer
        self._device, self._dtype = device, torch_support.dtype(dtype)
        self._threads = ThreadPoolExecutor(min(16, os.cpu_count() or 1), thread_name_prefix="preprocess")
        self.about = about
        self.batch = _BATCH.get(device.type, _GPU_BATCH)
        self.dim = self.encode_texts(["a person"]).shape[1]

    def encode_images(self, images: Sequence[Image]) -> npt.NDArray[np.float32]:
        torch = torch_support.import_library("torch")
        prepared = [self._threads.submit(self._prepare, image) for image in images]
        chunks = (
            torch.stack([one.result() for one in chunk]).to(self._dtype)
            for chunk in _chunks(prepared, self._chunk)
        )
        return self._unit(self._model.encode_image, chunks)

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._unit(self._model.encode_text, map(self._tokenizer, _chunks(list(texts), self._chunk)))

    @property
    def _chunk(self) -> int:
        return min(self.batch, _CHUNK)

    def _prepare(self, image: Image) -> torch.Tensor:
        prepared: torch.Tensor = self._preprocess(image.convert("RGB"))
        return prepared

    def _unit(self, encode: Any, chunks: Iterator[torch.Tensor]) -> npt.NDArray[np.float32]:
        torch = torch_support.import_library("torch")
        functional = torch_support.import_library("torch.nn.functional")
        try:
            with torch_support.memory_errors_translated(), torch.inference_mode():
                parts = [
                    functional.normalize(encode(chunk.to(self._device)).float(), dim=-1) for chunk in chunks
                ]
                vectors = torch.cat(parts) if parts else torch.zeros(0, self.dim)
        except OutOfMemory:
            self.batch = max(1, self._chunk // 2)
            raise
        unit: npt.NDArray[np.float32] = vectors.cpu().numpy()
        if not np.isfinite(unit).all():
            raise BackendError("The model's numbers overflowed. Choose dtype bfloat16 or float32.")
        return unit


def load(recipe: EmbeddingRecipe, *, device: str = "") -> Encoder:
    """Raises BackendError if the libraries, the weights or the device are missing."""
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    model, preprocess, tokenizer, revision = weights.load_open_clip(
        recipe.model, recipe.pretrained, dtype=recipe.dtype, device=torch_device
    )
    libraries = ("torch", "torchvision", "open_clip_torch")
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, *libraries)
    return OpenClip(model, preprocess, tokenizer, device=torch_device, dtype=recipe.dtype, about=about)


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
