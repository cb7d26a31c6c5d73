"""Compile a model when it is loaded, and try it once: what is missing is one error then, not one per job."""

from typing import Any

from generation.backends import torch_support
from generation.backends.base import BackendError, ImageRequest, OutOfMemory, TextToImage, is_device_error

TRIAL_STEPS = 2
"""Of the image that is made to try a compiled model. Some schedulers cannot do one step."""


_TRIAL = ImageRequest("a photo of a person", 0)


def compile_and_try(part: Any, trial: TextToImage, request: ImageRequest = _TRIAL) -> int:
    """Compile `part`, the one that runs at each step of `trial`, and make one batch for `request`: torch
    compiles at the first call. Returns the size of the batch that fits into memory.

    Raises BackendError if there is no such part (None) or if it cannot be compiled here, OutOfMemory if not
    even one image fits.
    """
    if part is None:
        raise BackendError(
            f"'{trial.about.model}' has no part that could be compiled. Choose a recipe without 'compiled'."
        )
    # Models that this process had before count towards a limit, after which torch compiles nothing more.
    torch_support.import_library("torch").compiler.reset()
    part.compile(dynamic=False)
    while True:
        tried = trial.batch
        try:
            trial.generate([request])
            return trial.batch
        except OutOfMemory:
            if tried == 1:
                raise
        except BackendError:
            raise
        except Exception as error:  # torch and Triton raise their own
            if is_device_error(error):
                raise
            cause = " ".join(f"{type(error).__name__}: {error}".split())[:600]
            raise BackendError(
                f"The model cannot be compiled on this machine ({cause}). Install a C++ compiler and "
                "Python's headers (apt-get install g++ python3-dev), and let TORCHINDUCTOR_CACHE_DIR and "
                "TRITON_CACHE_DIR name folders that the worker may write to and run programs from; or "
                "choose a recipe without 'compiled'."
            ) from error
