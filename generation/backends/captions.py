"""What the captioners share: candidates drawn for every image in rounds, the different ones ranked.

**The same captions alone and in company.** An image's random numbers come from a generator of its own,
seeded with the recipe's seed and the image's pixels. As in image_diffusers.py the device always gets goes of
one size, the last filled up with repeats, because kernels add up in another order in a batch of another size.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from PIL.Image import Image

from generation.backends import torch_support
from generation.backends.base import About, BackendError, OutOfMemory, Written
from generation.backends.options import Sampling
from generation.backends.sampling import Picker

if TYPE_CHECKING:
    import torch

Seen = dict[str, "torch.Tensor"]
"""What a decoder is shown of images: tensors whose first axis is the images."""

_ROUNDS = 4
_SHARE = 16  # candidates of one image that are written at once, at most
_ROWS_A_GIB = 4  # captions written at once for each GiB of the device's memory
_MOST_ROWS = 256
_Item = TypeVar("_Item")


class Model(Protocol):
    """What a captioner is made of. `end`: the token that ends a caption."""

    device: torch.device
    end: int

    def look(self, images: Sequence[Image], *, batch: int) -> Seen:
        """What the decoder sees of the images, in goes of `batch`."""

    def write(self, seen: Seen, picker: Picker) -> list[str]:
        """A caption for each row of `seen`, its tokens chosen by `picker`."""

    def rank(self, seen: Seen, drafts: list[dict[str, float]]) -> list[dict[str, float]]:
        """The score of each image's drafts, given how likely each was to its writer; higher is better."""


class Captions:
    """A Captioner around a model that stands on its device."""

    def __init__(self, model: Model, sampling: Sampling, *, about: About, count: int) -> None:
        self._model, self._sampling = model, sampling
        self._device = about.device
        self.about = about
        self._share = min(_SHARE, sampling.drawn(count))
        self.batch = first_batch(model.device, self._share)

    @property
    def batch(self) -> int:
        return self._batch

    @batch.setter
    def batch(self, size: int) -> None:
        self._batch: int = 2 ** int(math.log2(size))
        self.about = replace(self.about, device=f"{self._device}, {self._batch} at a time")

    def caption(self, images: Sequence[Image], *, count: int, seed: int) -> list[list[Written]]:
        """As Captioner. Raises ValueError for an image of which nothing but empty captions is written."""
        if not images:
            return []
        torch = torch_support.library("torch")
        try:
            with torch_support.memory_watched(), torch.inference_mode():
                return self._captions([image.convert("RGB") for image in images], count, seed)
        except OutOfMemory:
            self.batch = max(1, self.batch // 2)
            raise

    def _captions(self, images: Sequence[Image], count: int, seed: int) -> list[list[Written]]:
        seen = self._model.look(images, batch=self.batch)
        drafts = [Drafts(_seed(image, seed)) for image in images]
        drawn = self._sampling.drawn(count)
        for _ in range(_ROUNDS if self._sampling.method != "greedy" else 1):
            self._draw(seen, drafts, [place for place, one in enumerate(drafts) if len(one) < count], drawn)
        if not all(drafts):
            raise ValueError("The model wrote nothing but empty captions of this image.")
        scored = self._model.rank(seen, [one.likelihoods for one in drafts])
        return [_best(one, count) for one in scored]

    def _draw(self, seen: Seen, drafts: Sequence[Drafts], short: Sequence[int], drawn: int) -> None:
        """Add `drawn` candidates to the drafts of the images that have too few."""
        torch = torch_support.library("torch")
        shape = drawn, self._sampling.max_tokens
        rows = [(place, numbers) for place in short for numbers in drafts[place].random.random(shape)]
        for go, real in goes(rows, self.batch * self._share):
            which = [place for place, _ in go]
            uniforms = torch.from_numpy(np.stack([numbers for _, numbers in go]))
            if self._model.device.type != "mps":  # Apple's GPUs have no float64: there the CPU chooses
                uniforms = uniforms.to(self._model.device)
            picker = Picker(uniforms, self._sampling, end=self._model.end)
            texts = self._model.write({name: part[which] for name, part in seen.items()}, picker)
            likelihoods = picker.likelihoods()
            if any(math.isnan(one) for one in likelihoods):
                raise BackendError(
                    "The model's numbers are not numbers (NaN). Choose dtype float32 or bfloat16."
                )
            for place, text, likely in list(zip(which, texts, likelihoods, strict=True))[:real]:
                drafts[place].add(_tidy(text), likely)


class Drafts:
    """The different candidates of one image so far, and its random numbers."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.likelihoods: dict[str, float] = {}
        self._spelled: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.likelihoods)

    def add(self, text: str, likely: float) -> None:
        """Captions that differ in capitals only are one, as it was written first; empty ones are none."""
        if text:
            text = self._spelled.setdefault(text.casefold(), text)
            self.likelihoods[text] = max(likely, self.likelihoods.get(text, -math.inf))


def goes(items: Sequence[_Item], size: int) -> Iterator[tuple[list[_Item], int]]:
    """The items, exactly `size` at a time, the last filled up with repeats; with how many are no repeats."""
    for start in range(0, len(items), size):
        some = list(items[start : start + size])
        yield [*some, *[some[-1]] * (size - len(some))], len(some)


def looked_at(
    items: Sequence[_Item], *, batch: int, look: Callable[[list[_Item]], torch.Tensor]
) -> torch.Tensor:
    """`look` at all items in goes of `batch`, the answers joined."""
    joined: torch.Tensor = torch_support.library("torch").cat(
        [look(go)[:real] for go, real in goes(items, batch)]
    )
    return joined


def first_batch(device: torch.device, share: int) -> int:
    """How many images the device should hold when `share` captions of each are written at once: 1 where its
    memory cannot be told."""
    memory = torch_support.device_gib(device)
    if memory is None:
        return 1
    held: int = 2 ** int(math.log2(max(1, min(memory * _ROWS_A_GIB, _MOST_ROWS) / share)))
    return held


def _best(scored: dict[str, float], count: int) -> list[Written]:
    """By score, then by the alphabet."""
    ranked = sorted(scored.items(), key=lambda one: (-one[1], one[0]))
    return [Written(text, score) for text, score in ranked[:count]]


def _tidy(text: str) -> str:
    """One line, without characters that no database takes."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(shown.split())


def _seed(image: Image, seed: int) -> int:
    drawn = hashlib.sha256(f"{seed} {image.size} ".encode() + image.tobytes()).digest()
    return int.from_bytes(drawn[:16], "big")


__all__ = ["Captions", "Model", "Seen", "first_batch", "goes", "looked_at"]
