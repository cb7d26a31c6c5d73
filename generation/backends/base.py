"""The protocols of a backend, and the errors that workers handle (DESIGN §6).

A backend is one module of this package, named `<kind>_<name>.py` (`image_diffusers.py`,
`caption_visage.py`, `encode_open_clip.py`, `complete_openai.py`), with a docstring whose first line is shown
to people and a function `load(recipe, *, device) -> Model`. Import nothing heavier than numpy and pillow
before `load` is called: importing torch alone takes 11 s.

A model in the worker's process has a `batch`: how many images or texts it puts on its device at once; the
worker lowers it to what fits (jobs/services/batch_sizes.py). A model on a server has `in_flight` instead: how
many requests it takes at once (jobs/services/stream_session.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

Pixels = npt.NDArray[np.uint8]
"""An image that an encoder has prepared, shape (height, width, 3)."""


class BackendError(Exception):
    """An error that a person has to fix: names what was tried and the cure. Trying again does not help."""


class DeviceFailed(Exception):
    """The device of this process failed, not the job: a new process or another worker may succeed."""


_DEVICE_ERRORS = (
    *("CUDA error", "CUDA driver error", "cuDNN error", "CUDNN_STATUS", "CUBLAS_STATUS", "HIP error"),
    *("device-side assert", "illegal memory access", "unspecified launch failure"),
)
_FULL = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_device_error(error: BaseException) -> bool:
    """Whether an error of torch says that the device failed, other than by too little memory."""
    text = str(error)
    if any(full in text for full in _FULL):
        return False
    named = any(cls.__name__ == "AcceleratorError" for cls in type(error).__mro__)
    return named or any(part in text for part in _DEVICE_ERRORS)


class ServerAway(Exception):
    """A server gave no answer, or asks to wait for long. The job is not to blame and is asked again later:
    `seconds` later at least, if the server says how long."""

    def __init__(self, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


class Refused(Exception):
    """The server refused this request for good, for example since it is too long. The message says why."""


class OutOfMemory(Exception):
    """The batch did not fit on the device. The model that raised it has halved its `batch` if possible."""


@dataclass(frozen=True)
class About:
    """A loaded model, as exactly as needed to repeat its results. `libraries`: name -> version."""

    model: str
    revision: str
    device: str
    libraries: Mapping[str, str]


@dataclass(frozen=True)
class ImageRequest:
    """One image to generate. `initial`: what the model begins with, RGB, in the recipe's size; None: with
    noise. `strength`: how far it goes from there, above 0 and at most 1."""

    prompt: str
    seed: int
    initial: Image | None = None
    strength: float = 1.0


@dataclass(frozen=True)
class GeneratedImage:
    """`pixels`: RGB. `flagged`: the safety checker's verdict, None if it did not run."""

    pixels: Image
    flagged: bool | None = None


@dataclass(frozen=True)
class ScoredCaption:
    """`score`: the captioner's own, higher is better; None if it has none."""

    text: str
    score: float | None = None


@dataclass(frozen=True)
class Question:
    """One asking of a model that answers in text. `image`: what it is about, if it is about one."""

    prompt: str
    seed: int
    image: Image | None = None


FILTERED = "filter"
"""`Reply.ended` of an answer that a model's or a server's filter withheld or cut off."""


@dataclass(frozen=True)
class Reply:
    """An answer. `ended`: why: "stop" (by itself), "length" (at `max_tokens`), FILTERED, or a word of the
    server's own. Tokens: None if the server does not count them. `reason`: what the server says when it is
    FILTERED."""

    text: str
    ended: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class TextPair:
    """A text to classify, or a pair of texts, such as premise and hypothesis."""

    text: str
    pair: str = ""


class Answerer(Protocol):
    """A language model or vision-language model in this process."""

    about: About
    batch: int

    def answer(self, questions: Sequence[Question]) -> list[Reply]:
        """One reply per question, in order. With a repeatable recipe and on a CPU a reply does not depend on
        the other questions. Raises OutOfMemory, BackendError."""


class RemoteAnswerer(Protocol):
    """The same on a server."""

    about: About
    in_flight: int

    async def answer(self, question: Question) -> Reply:
        """Raises Refused, ServerAway, BackendError. Waits itself while the server is busy."""

    async def close(self) -> None:
        """Close the connections."""


class Classifier(Protocol):
    about: About
    batch: int
    labels: tuple[str, ...]

    def classify(self, texts: Sequence[TextPair]) -> list[tuple[float, ...]]:
        """For each text the probabilities of `labels`, in that order. Raises OutOfMemory, BackendError."""


class RemoteTextToImage(Protocol):
    """A text-to-image model on a server. It need not make the same image again."""

    about: About
    in_flight: int

    async def generate(self, request: ImageRequest) -> GeneratedImage:
        """Raises Refused, ServerAway, BackendError. Waits itself while the server is busy."""

    async def close(self) -> None:
        """Close the connections."""


class TextToImage(Protocol):
    about: About
    batch: int

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """One image per request, in order. With a repeatable recipe and on a CPU, its bytes do not depend on
        the other requests (with the same dtype, device, libraries and `batch`); else its last bits may.
        Raises OutOfMemory, BackendError."""


class Captioner(Protocol):
    about: About
    batch: int

    def caption(self, images: Sequence[Image], *, count: int, seed: int) -> list[list[ScoredCaption]]:
        """For each image 1 to `count` different captions, best first. With a repeatable recipe and on a CPU
        they do not depend on the other images. Raises OutOfMemory, BackendError."""


class Encoder(Protocol):
    about: About
    batch: int
    dim: int

    def prepare(self, image: Image) -> Pixels:
        """The image as `encode_images` takes it: small, and of the same shape for every image. It runs in
        the threads that read files, several at a time, while the device computes."""

    def encode_images(self, images: Sequence[Pixels]) -> npt.NDArray[np.float32]:
        """Unit vectors of prepared images, shape (len(images), dim). Raises OutOfMemory, BackendError."""

    def encode_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dim). Raises OutOfMemory, BackendError."""


LocalModel = TextToImage | Captioner | Encoder | Answerer | Classifier
RemoteModel = RemoteAnswerer | RemoteTextToImage
Model = LocalModel | RemoteModel


def is_remote(model: Model) -> TypeGuard[RemoteModel]:
    """Whether the model is on a server."""
    return hasattr(model, "in_flight")
