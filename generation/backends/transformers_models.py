"""Load a complete transformers model with its tokenizer or processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends import weights as weight_files
from generation.backends.base import BackendError, OutOfMemory

if TYPE_CHECKING:
    import torch


def load_model(
    model_class: Any, processor_class: Any, *, model: str, revision: str, dtype: str, device: torch.device
) -> tuple[Any, Any, str]:
    """A `model_class` on `device`, its tokenizer or processor, and its weights' revision.

    `model`: a hub id or a local folder. Raises BackendError.
    """
    torch_support.import_library("transformers").utils.logging.disable_progress_bar()
    with weight_files.loading(model, revision):
        folder = weight_files.folder_of(model)
        source = {"local_files_only": True} if folder else {"revision": revision or None}
        path = folder or model
        processor = processor_class.from_pretrained(path, **source)
        # transformers loads a tokenizer without its vocabulary as an empty one.
        tokenizer = getattr(processor, "tokenizer", processor)
        if not set(tokenizer("a photo of a person").input_ids) - set(tokenizer.all_special_ids):
            raise ValueError("its tokenizer has lost its vocabulary")
        weights = model_class.from_pretrained(path, dtype=torch_support.dtype(dtype), **source).eval()
    loaded_revision = weight_files.revision_of(
        folder or weight_files.cached_folder(model, "config.json", revision)
    )
    try:
        with torch_support.memory_errors_translated():
            weights.to(device)
    except OutOfMemory as error:
        raise BackendError(
            f"The weights of '{model}' do not fit {torch_support.device_name(device)} in {dtype}: {error}"
        ) from error
    return weights, processor, loaded_revision
