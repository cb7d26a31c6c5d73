"""Shared by the captioners: sample candidates for each image in rounds, then rank the distinct ones.

**An image's captions do not depend on its batch.** Each image has its own random generator, seeded with the
recipe's seed and the image's pixels, and all batches of a repeatable recipe have the same size
(`FullBatches`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PIL.Image import Image

from generation.backends import torch_support
from generation.backends.base import About, BackendError, ScoredCaption
from generation.backends.sampling import Picker, Sampling
from generation.backends.torch_support import FullBatches, padded_batches

if TYPE_CHECKING:
    import torch

EncodedImages = dict[str, "torch.Tensor"]
"""A decoder's input: tensors whose first axis is the images."""

_ROUNDS = 4
_MOST_AT_ONCE = 16  # candidates of one image in one batch
_ROWS_PER_GIB = 4  # captions in one batch per GiB of the device's memory
_MOST_ROWS = 256
_Item = TypeVar("_Item")


class Model:
    """A caption model on its `device`. `end`: the token that ends a caption."""

    device: torch.device
    end: int

    def encode(self, images: Sequence[Image], *, batch: int) -> EncodedImages:
        """The decoder's input for the images, computed in batches of `batch`."""
        return {"image": apply_in_batches(images, size=batch, function=self.encode_batch)}

    def encode_batch(self, images: list[Image]) -> torch.Tensor:
        raise NotImplementedError

    def decode(self, encoded: EncodedImages, picker: Picker) -> list[str]:
        """A caption for each row of `encoded`; `picker` chooses the tokens."""
        raise NotImplementedError

    def score(self, encoded: EncodedImages, candidates: list[dict[str, float]]) -> list[dict[str, float]]:
        """The score of each image's candidates, higher is better: their mean log-probability, as given."""
        return candidates


class SamplingCaptioner(FullBatches):
    """A Captioner around a model that is on its device."""

    def __init__(self, model: Model, sampling: Sampling, *, about: About, count: int, full: bool) -> None:
        self._model, self._sampling = model, sampling
        self._per_image = min(_MOST_AT_ONCE, sampling.candidates_per_round(count))
        rows, most = _ROWS_PER_GIB / self._per_image, _MOST_ROWS / self._per_image
        batch = torch_support.fitting_batch(model.device, per_gib=rows, most=most)
        super().__init__(about, batch, full=full)

    def caption(self, images: Sequence[Image], *, count: int, seed: int) -> list[list[ScoredCaption]]:
        """As Captioner. Raises ValueError for an image that gets only empty captions."""
        if not images:
            return []
        with self.halved_when_full(), torch_support.import_library("torch").inference_mode():
            return self._captions([image.convert("RGB") for image in images], count, seed)

    def _captions(self, images: Sequence[Image], count: int, seed: int) -> list[list[ScoredCaption]]:
        encoded = self._model.encode(images, batch=self.batch_for(len(images)))
        candidates = [Candidates(_seed(image, seed)) for image in images]
        number = self._sampling.candidates_per_round(count)
        for _ in range(_ROUNDS if self._sampling.method != "greedy" else 1):
            short = [index for index, found in enumerate(candidates) if len(found) < count]
            self._sample(encoded, candidates, short, number)
        if not all(candidates):
            raise ValueError("The model wrote only empty captions for this image.")
        scored = self._model.score(encoded, [one.likelihoods for one in candidates])
        return [_best(one, count) for one in scored]

    def _sample(
        self, encoded: EncodedImages, candidates: Sequence[Candidates], short: Sequence[int], number: int
    ) -> None:
        """Sample `number` more candidates for each of the images `short`."""
        torch = torch_support.import_library("torch")
        shape = number, self._sampling.max_tokens
        rows = [(index, numbers) for index in short for numbers in candidates[index].random.random(shape)]
        size = self.batch_for(len(rows), most=self.batch * self._per_image)
        for batch, real in padded_batches(rows, size):
            indexes = [index for index, _ in batch]
            uniforms = torch.from_numpy(np.stack([numbers for _, numbers in batch]))
            if self._model.device.type != "mps":  # Apple's GPUs have no float64, so the CPU picks the tokens
                uniforms = uniforms.to(self._model.device)
            picker = Picker(uniforms, self._sampling, end=self._model.end)
            inputs = {name: tensor[indexes] for name, tensor in encoded.items()}
            texts = self._model.decode(inputs, picker)
            likelihoods = picker.likelihoods()
            if any(math.isnan(one) for one in likelihoods):
                raise BackendError("The model returned NaN. Choose dtype float32 or bfloat16.")
            for index, text, likelihood in list(zip(indexes, texts, likelihoods, strict=True))[:real]:
                candidates[index].add(_one_line(text), likelihood)


class Candidates:
    """The distinct candidates of one image so far, and its random generator."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.likelihoods: dict[str, float] = {}
        self._first_spelling: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.likelihoods)

    def add(self, text: str, likelihood: float) -> None:
        """Empty captions are ignored; captions that differ only in case count as one, in the first
        spelling."""
        if text:
            text = self._first_spelling.setdefault(text.casefold(), text)
            self.likelihoods[text] = max(likelihood, self.likelihoods.get(text, -math.inf))


def apply_in_batches(
    items: Sequence[_Item], *, size: int, function: Callable[[list[_Item]], torch.Tensor]
) -> torch.Tensor:
    """Apply `function` to all items in padded batches of `size`, and concatenate the results."""
    joined: torch.Tensor = torch_support.import_library("torch").cat(
        [function(batch)[:real] for batch, real in padded_batches(items, size)]
    )
    return joined


def _best(scored: dict[str, float], count: int) -> list[ScoredCaption]:
    """Sorted by score, then alphabetically."""
    ranked = sorted(scored.items(), key=lambda one: (-one[1], one[0]))
    return [ScoredCaption(text, score) for text, score in ranked[:count]]


def _one_line(text: str) -> str:
    """One line, without characters that databases do not accept."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())


def _seed(image: Image, seed: int) -> int:
    drawn = hashlib.sha256(f"{seed} {image.size} ".encode() + image.tobytes()).digest()
    return int.from_bytes(drawn[:16], "big")
