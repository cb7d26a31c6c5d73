"""Shared by the encoders of images and texts that run on torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from generation.backends import torch_support
from generation.backends.base import About, BackendError, OutOfMemory, Pixels

if TYPE_CHECKING:
    import torch

_BATCH = {"cpu": 64}
_GPU_BATCH = 1024
_CHUNK = 128  # on the device at once, while the next is stacked


class ChunkedEncoder:
    """An Encoder whose device takes a chunk of prepared images or of texts at a time, and normalizes the
    pixels itself. A subclass says how to prepare an image and how its model encodes a chunk."""

    def __init__(
        self,
        *,
        device: torch.device,
        dtype: str,
        white: float,
        mean: Sequence[float],
        std: Sequence[float],
        about: About,
    ) -> None:
        """`white`: what a pixel is divided by; `mean` and `std` are subtracted and divided by afterwards, one
        for each channel."""
        self._device, self._dtype = device, torch_support.dtype(dtype)
        # White as a tensor, too: by a plain number a GPU does not divide, and its last bits would differ.
        self._white, self._mean, self._std = (
            torch_support.import_library("torch").tensor(value, device=device).view(-1, 1, 1)
            for value in (white, mean, std)
        )
        self.about = about
        self.batch = _BATCH.get(device.type, _GPU_BATCH)
        self.dim = self.encode_texts(["a person"]).shape[1]

    def encode_images(self, images: Sequence[Pixels]) -> npt.NDArray[np.float32]:
        chunks = map(self._normalize, _chunks(images, self._chunk))
        return self._unit(map(self._images_encoded, chunks))

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._unit(map(self._texts_encoded, _chunks(list(texts), self._chunk)))

    def _images_encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        """The vectors of normalized images on the device, shape (n, 3, height, width)."""
        raise NotImplementedError

    def _texts_encoded(self, texts: Sequence[str]) -> torch.Tensor:
        """The vectors of some texts, on the device."""
        raise NotImplementedError

    @property
    def _chunk(self) -> int:
        return min(self.batch, _CHUNK)

    def _normalize(self, images: Sequence[Pixels]) -> torch.Tensor:
        """The images on the device, as the model's own preprocessing gives each of them."""
        lib = torch_support.import_library("torch")
        # From pinned memory this thread does not wait for the copy: it stacks the next chunk meanwhile.
        gpu = self._device.type == "cuda"
        stacked = lib.empty((len(images), *images[0].shape), dtype=lib.uint8, pin_memory=gpu)
        np.stack(images, out=stacked.numpy())
        pixels = stacked.to(self._device, non_blocking=True).permute(0, 3, 1, 2).contiguous().float()
        normalized: torch.Tensor = pixels.div_(self._white).sub_(self._mean).div_(self._std)
        return normalized.to(self._dtype)

    def _unit(self, encoded: Iterable[torch.Tensor]) -> npt.NDArray[np.float32]:
        torch = torch_support.import_library("torch")
        functional = torch_support.import_library("torch.nn.functional")
        try:
            with torch_support.memory_errors_translated(), torch.inference_mode():
                parts = [functional.normalize(vectors.float(), dim=-1) for vectors in encoded]
                vectors = torch.cat(parts) if parts else torch.zeros(0, self.dim)
        except OutOfMemory:
            self.batch = max(1, self._chunk // 2)
            raise
        unit: npt.NDArray[np.float32] = vectors.cpu().numpy()
        if not np.isfinite(unit).all():
            raise BackendError("The model's numbers overflowed. Choose dtype bfloat16 or float32.")
        return unit


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
