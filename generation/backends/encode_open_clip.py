"""open_clip: image and text embeddings by any of its models, by weights' tag, weights file or local folder.

`model` ViT-B-32 with `pretrained` openai, or with the path of a weights file; `local-dir:/folder` and
`hf-hub:owner/name` include their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Image

from generation.backends import torch_support, weights
from generation.backends.base import About, Encoder, Pixels
from generation.backends.encoders import ChunkedEncoder
from generation.recipes.recipes import EmbeddingRecipe

if TYPE_CHECKING:
    import torch


class OpenClip(ChunkedEncoder):
    """An Encoder around a model that is on its device."""

    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str, about: About
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        # open_clip resizes and crops with Pillow, and ends with ToTensor and Normalize, which the device does
        # for a whole chunk.
        *resize, _, normalize = preprocess.transforms
        self._resize = type(preprocess)(resize)
        super().__init__(
            device=device, dtype=dtype, white=255.0, mean=normalize.mean, std=normalize.std, about=about
        )

    def prepare(self, image: Image) -> Pixels:
        """Pillow does it without Python's lock, so several threads do it at the same time."""
        return np.asarray(self._resize(image.convert("RGB")))

    def _images_encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        encoded: torch.Tensor = self._model.encode_image(pixels)
        return encoded

    def _texts_encoded(self, texts: Sequence[str]) -> torch.Tensor:
        encoded: torch.Tensor = self._model.encode_text(self._tokenizer(texts).to(self._device))
        return encoded


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
