"""LoRAs as a recipe writes them: SOURCE[:FILE][@SCALE]. Pure: no Django."""

import contextlib
from dataclasses import dataclass

_DEFAULT_FILE = "pytorch_lora_weights.safetensors"  # what diffusers and its training scripts save
_SUFFIX = ".safetensors"
_LARGEST_SCALE = 10


@dataclass(frozen=True)
class Lora:
    """`source`: a hub id, a local folder or a local file. `file`: within a hub id or folder. `scale`: 1 as it
    was trained, 0 as without."""

    source: str
    file: str
    scale: float


def parse(text: str) -> Lora:
    """For example 'someone/style', '/loras:ink.safetensors@0.8', '/loras/ink.safetensors'.

    Raises ValueError with the cure.
    """
    source, scale = text.strip(), 1.0
    before, at, after = source.rpartition("@")
    if at:
        with contextlib.suppress(ValueError):  # an @ within a path
            source, scale = before.strip(), float(after)
    file = _DEFAULT_FILE
    before, _, after = source.rpartition(":")
    if before and after.endswith(_SUFFIX):
        source, file = before, after
    if not source:
        raise ValueError(f"'{text}' names no file: write SOURCE[:FILE][@SCALE]")
    if not abs(scale) <= _LARGEST_SCALE:  # also of nan
        raise ValueError(f"'{text}': choose a scale from -{_LARGEST_SCALE} to {_LARGEST_SCALE}")
    return Lora(source, file, scale)
