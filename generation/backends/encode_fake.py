"""Fake embeddings: a picture's colours, 4 by 4, and a text's hashed words as unit vectors, on any machine.

Images that look alike lie close together, and so do texts that share words; the two are not comparable.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import PIL
from PIL.Image import Image, Resampling

from generation.backends.base import About, Encoder, Pixels
from generation.recipes.recipes import EmbeddingRecipe

_SIDE = 4


class FakeEncoder:
    """An Encoder without a model. One component is never zero, so that neither a black image nor an empty
    text has length 0."""

    about = About("fake", "1", "cpu", {"pillow": PIL.__version__, "numpy": np.__version__})
    batch = 64
    dim = 3 * _SIDE * _SIDE + 1

    def prepare(self, image: Image) -> Pixels:
        return np.asarray(image.convert("RGB").resize((_SIDE, _SIDE), Resampling.BOX))

    def encode_images(self, images: Sequence[Pixels]) -> npt.NDArray[np.float32]:
        vectors = np.ones((len(images), self.dim))
        for row, image in enumerate(images):
            vectors[row, 1:] = image.ravel() / 127.5 - 1
        return _unit(vectors)

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dim))
        vectors[:, 0] = 1
        for row, text in enumerate(texts):
            for word in text.lower().split():
                hashed = hashlib.sha256(word.encode()).digest()
                vectors[row, 1 + int.from_bytes(hashed[:4], "big") % (self.dim - 1)] += (
                    1 if hashed[4] % 2 else -1
                )
        return _unit(vectors)


def _unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    unit: npt.NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("f4")
    return unit


def load(recipe: EmbeddingRecipe, *, device: str = "") -> Encoder:
    """Needs no weights; ignores `device`."""
    return FakeEncoder()
