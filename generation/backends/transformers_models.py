"""Load a model of transformers with its tokenizer or processor, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends import weights as weight_files
from generation.backends.base import BackendError, OutOfMemory

if TYPE_CHECKING:
    import torch


def loaded(
    kind: Any, reader: Any, *, model: str, revision: str, dtype: str, device: torch.device
) -> tuple[Any, Any, str]:
    """A `kind` (a model's class) on `device`, its `reader` (the class of its tokenizer or processor), and its
    weights' revision. `model`: a hub id or a local folder. Raises BackendError."""
    torch_support.library("transformers").utils.logging.disable_progress_bar()
    with weight_files.loading(model, revision):
        folder = weight_files.folder_of(model)
        asked = {"local_files_only": True} if folder else {"revision": revision or None}
        place = folder or model
        reads = reader.from_pretrained(place, **asked)
        # transformers loads a tokenizer without its vocabulary as an empty one: it reads nothing then.
        tokenizer = getattr(reads, "tokenizer", reads)
        if not set(tokenizer("a photo of a person").input_ids) - set(tokenizer.all_special_ids):
            raise ValueError("its tokenizer has lost its vocabulary")
        weights = kind.from_pretrained(place, dtype=torch_support.dtype(dtype), **asked).eval()
    found = weight_files.revision_of(folder or weight_files.fetched(model, "config.json", revision))
    try:
        with torch_support.memory_watched():
            weights.to(device)
    except OutOfMemory as error:
        raise BackendError(
            f"The weights of '{model}' do not fit {torch_support.device_name(device)} in {dtype}: {error}"
        ) from error
    return weights, reads, found


__all__ = ["loaded"]
