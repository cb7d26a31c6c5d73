"""Load a complete open_clip model with its preprocessing and its tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends import weights as weight_files
from generation.backends.base import BackendError, OutOfMemory

if TYPE_CHECKING:
    import torch

_LOCAL, _HUB = "local-dir:", "hf-hub:"
_PRECISION = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


def load_model(model: str, pretrained: str, *, dtype: str, device: torch.device) -> tuple[Any, Any, Any, str]:
    """The model on `device`, its preprocessing for one image, its tokenizer, and its weights' revision.

    `model`: an architecture (ViT-B-32), with `pretrained` as the tag or file of its weights; or
    `local-dir:/folder` or `hf-hub:owner/name`, which include their weights. Raises BackendError.
    """
    open_clip = torch_support.import_library("open_clip")
    name, weights, path, cure = _find(open_clip, model, pretrained)
    tried = f"The model '{model}'" + f" with the weights '{weights}'" * bool(weights)
    options = {"precision": _PRECISION[dtype], "device": device, "require_pretrained": True}
    tag = open_clip.get_pretrained_cfg(name, weights) if weights else None
    if tag and tag.get("quick_gelu"):
        # open_clip only warns if the weights were trained with another activation, but the results are wrong.
        options["force_quick_gelu"] = True
    try:
        with torch_support.memory_errors_translated(), weight_files.require_complete(tried, cure=cure):
            loaded, _, preprocess = open_clip.create_model_and_transforms(name, weights or None, **options)
            tokenizer = open_clip.get_tokenizer(name)
    except OutOfMemory as error:
        raise BackendError(
            f"{tried} does not fit into {torch_support.device_name(device)}: {error}"
        ) from error
    if name.startswith(_HUB):
        path = weight_files.cached_folder(name.removeprefix(_HUB), "open_clip_config.json")
    return loaded.eval(), preprocess, tokenizer, weight_files.revision_of(path) if path else weights


def _find(open_clip: Any, model: str, pretrained: str) -> tuple[str, str, Path | None, str]:
    """open_clip's name for the model, its `pretrained`, the local path of the weights, and the cure."""
    if model.startswith(_LOCAL):
        folder = Path(model.removeprefix(_LOCAL)).expanduser()
        if not folder.is_dir():
            raise BackendError(
                f"There is no folder {folder} on this machine. Name the one with open_clip_config.json."
            )
        return f"{_LOCAL}{folder}", "", folder, weight_files.DAMAGED
    if model.startswith(_HUB):
        return model, "", None, weight_files.download_hint(model.removeprefix(_HUB))
    name = model.replace("/", "-")
    if name not in open_clip.list_models():
        known = ", ".join(open_clip.list_models())
        raise BackendError(f"open_clip has no model '{model}'. It has: {known}.")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if pretrained in tags:
        cure = (
            "It is downloaded at the first use if there is a network; or give the path of its weights file."
        )
        return name, pretrained, None, cure
    file = Path(pretrained).expanduser()
    if not pretrained or not file.is_file():
        raise BackendError(
            f"'{pretrained}' is neither a file of weights on this machine nor a tag of {name}. "
            f"Its tags: {', '.join(tags) or 'none'}."
        )
    return name, str(file), file, weight_files.DAMAGED
