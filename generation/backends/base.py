"""What a backend is: three small protocols, and the errors that the workers know (DESIGN §6).

A backend is one module of this package, named `<kind>_<name>.py` (`image_diffusers.py`,
`caption_visage.py`, `encode_open_clip.py`), with a docstring whose first line is shown to people and a
function `load(recipe, *, device) -> TextToImage | Captioner | Encoder`. Nothing heavier than numpy and
pillow is imported before `load` is called: torch alone takes 11 s.

`batch` is how many pictures, images or texts a model puts on its device at once. It begins with what the
device should hold; whoever remembers a smaller one (Run.batch_size) sets it. Calls may ask for more, which
is done in several goes, or for fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL.Image import Image


class BackendError(Exception):
    """What a person has to mend: names what was tried and the cure. Trying again will not help."""


class OutOfMemory(Exception):
    """The device could not hold the batch. The model that raised it has halved its `batch` if it could."""


@dataclass(frozen=True)
class About:
    """What a repetition needs to know of a loaded model. `libraries`: name -> version."""

    model: str
    revision: str
    device: str
    libraries: Mapping[str, str]


@dataclass(frozen=True)
class Wanted:
    """One picture: its prompt and its seed."""

    prompt: str
    seed: int


@dataclass(frozen=True)
class Picture:
    """`pixels`: RGB. `flagged`: the safety checker's verdict, None if it was not asked."""

    pixels: Image
    flagged: bool | None = None


@dataclass(frozen=True)
class Written:
    """One caption; `score`: the captioner's own, higher is better, None if it has none."""

    text: str
    score: float | None = None


class TextToImage(Protocol):
    about: About
    batch: int

    def generate(self, wanted: Sequence[Wanted]) -> list[Picture]:
        """One picture for each wanted one, in order, the same alone and in any company (with the same
        dtype, device, libraries and `batch`). Raises OutOfMemory, BackendError."""


class Captioner(Protocol):
    about: About
    batch: int

    def caption(self, images: Sequence[Image], *, count: int, seed: int) -> list[list[Written]]:
        """For each image at most `count` different captions, best first, at least one; the same whatever
        else is in the batch. Raises OutOfMemory, BackendError."""


class Encoder(Protocol):
    about: About
    batch: int
    dim: int

    def encode_images(self, images: Sequence[Image]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(images), dim). Raises OutOfMemory, BackendError."""

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dim). Raises OutOfMemory, BackendError."""


__all__ = [
    "About",
    "BackendError",
    "Captioner",
    "Encoder",
    "OutOfMemory",
    "Picture",
    "TextToImage",
    "Wanted",
    "Written",
]
