"""Load a model of open_clip with its preprocessing and its tokenizer, whole or not at all."""

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


def loaded(model: str, pretrained: str, *, dtype: str, device: torch.device) -> tuple[Any, Any, Any, str]:
    """The model on `device`, its preprocessing of one image, its tokenizer, and its weights' revision.

    `model`: an architecture (ViT-B-32) with `pretrained` its weights' tag or a file; or `local-dir:/folder`
    or `hf-hub:owner/name`, which bring their own. Raises BackendError.
    """
    open_clip = torch_support.library("open_clip")
    name, weights, place, cure = _found(open_clip, model, pretrained)
    tried = f"The model '{model}'" + f" with the weights '{weights}'" * bool(weights)
    given = {"precision": _PRECISION[dtype], "device": device, "require_pretrained": True}
    tag = open_clip.get_pretrained_cfg(name, weights) if weights else None
    if tag and tag.get("quick_gelu"):
        # open_clip only warns that weights were trained with another activation; the numbers are wrong then.
        given["force_quick_gelu"] = True
    try:
        with torch_support.memory_watched(), weight_files.complete(tried, cure=cure):
            made, _, preprocess = open_clip.create_model_and_transforms(name, weights or None, **given)
            tokenizer = open_clip.get_tokenizer(name)
    except OutOfMemory as error:
        raise BackendError(
            f"{tried} does not fit into {torch_support.device_name(device)}: {error}"
        ) from error
    if name.startswith(_HUB):
        place = weight_files.fetched(name.removeprefix(_HUB), "open_clip_config.json")
    return made.eval(), preprocess, tokenizer, weight_files.revision_of(place) if place else weights


def _found(open_clip: Any, model: str, pretrained: str) -> tuple[str, str, Path | None, str]:
    """open_clip's name for the model, its `pretrained`, the weights' place if it is local, and the cure."""
    if model.startswith(_LOCAL):
        folder = Path(model.removeprefix(_LOCAL)).expanduser()
        if not folder.is_dir():
            raise BackendError(
                f"There is no folder {folder} on this machine. It holds open_clip_config.json."
            )
        return f"{_LOCAL}{folder}", "", folder, weight_files.DAMAGED
    if model.startswith(_HUB):
        return model, "", None, weight_files.from_hub(model.removeprefix(_HUB))
    name = model.replace("/", "-")
    if name not in open_clip.list_models():
        known = ", ".join(open_clip.list_models())
        raise BackendError(f"open_clip knows no model '{model}'. It knows: {known}.")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if pretrained in tags:
        cure = (
            "Where there is a network it is fetched at the first use; or give the path of its weights file."
        )
        return name, pretrained, None, cure
    file = Path(pretrained).expanduser()
    if not pretrained or not file.is_file():
        raise BackendError(
            f"'{pretrained}' is neither a file of weights on this machine nor a tag of {name}. "
            f"Its tags: {', '.join(tags) or 'none'}."
        )
    return name, str(file), file, weight_files.DAMAGED


__all__ = ["loaded"]
