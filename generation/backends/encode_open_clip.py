"""open_clip: image and text embeddings by any of its models, by weights' tag, weights file or local folder.

`model` ViT-B-32 with `pretrained` openai, or with the path of a weights file; `local-dir:/folder` and
`hf-hub:owner/name` include their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from generation.backends import torch_support, weights
from generation.backends.base import About, BackendError, Encoder, OutOfMemory, Pixels
from generation.recipes.recipes import EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_BATCH = {"cpu": 64}
_GPU_BATCH = 1024
_CHUNK = 128  # on the device at once, while the next is stacked


class OpenClip:
    """An Encoder around a model that is on its device."""

    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str, about: About
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._device, self._dtype = device, torch_support.dtype(dtype)
        # open_clip resizes and crops with Pillow, and ends with ToTensor and Normalize, which the device does
        # for a whole chunk.
        *resize, _, normalize = preprocess.transforms
        self._resize = type(preprocess)(resize)
        # 255 as a tensor, too: by a plain number a GPU does not divide, and its last bits would differ.
        self._white, self._mean, self._std = (
            torch_support.import_library("torch").tensor(value, device=device).view(-1, 1, 1)
            for value in (255.0, normalize.mean, normalize.std)
        )
        self.about = about
        self.batch = _BATCH.get(device.type, _GPU_BATCH)
        self.dim = self.encode_texts(["a person"]).shape[1]

    def prepare(self, image: Image) -> Pixels:
        """Pillow does it without Python's lock, so several threads do it at the same time."""
        return np.asarray(self._resize(image.convert("RGB")))

    def encode_images(self, images: Sequence[Pixels]) -> npt.NDArray[np.float32]:
        return self._unit(self._model.encode_image, map(self._normalize, _chunks(images, self._chunk)))

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._unit(self._model.encode_text, map(self._tokenizer, _chunks(list(texts), self._chunk)))

    @property
    def _chunk(self) -> int:
        return min(self.batch, _CHUNK)

    def _normalize(self, images: Sequence[Pixels]) -> torch.Tensor:
        """The images on the device, as open_clip's preprocessing gives each of them."""
        lib = torch_support.import_library("torch")
        # From pinned memory this thread does not wait for the copy: it stacks the next chunk meanwhile.
        gpu = self._device.type == "cuda"
        stacked = lib.empty((len(images), *images[0].shape), dtype=lib.uint8, pin_memory=gpu)
        np.stack(images, out=stacked.numpy())
        pixels = stacked.to(self._device, non_blocking=True).permute(0, 3, 1, 2).contiguous().float()
        normalized: torch.Tensor = pixels.div_(self._white).sub_(self._mean).div_(self._std)
        return normalized.to(self._dtype)

    def _unit(self, encode: Any, chunks: Iterable[torch.Tensor]) -> npt.NDArray[np.float32]:
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
