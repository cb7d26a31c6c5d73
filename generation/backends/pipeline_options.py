"""LoRAs, quantised weights and offloading of diffusers' pipelines."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generation.backends import torch_support, weights
from generation.backends.base import BackendError
from generation.recipes import loras
from generation.recipes.loras import Lora
from generation.recipes.recipes import ImageRecipe

if TYPE_CHECKING:
    import torch

LORA = "lora "
"""Begins the name of a LoRA among the libraries in the history."""
_PACKAGES = {
    "bitsandbytes_4bit": "bitsandbytes",
    "bitsandbytes_8bit": "bitsandbytes",
    "torchao_int8": "torchao",
}
_OFFLOADING = {"model": "enable_model_cpu_offload", "sequential": "enable_sequential_cpu_offload"}


def check_device(recipe: ImageRecipe, device: torch.device) -> None:
    """Raises BackendError for options that need a GPU."""
    if device.type != "cpu":
        return
    for name in ("offload", "quantisation"):
        value = getattr(recipe, name)
        if value and value != "torchao_int8":
            raise BackendError(
                f"recipe: {name}: '{value}' needs a GPU, and this worker computes on the CPU. Leave {name} "
                "empty, or let a worker with a GPU do it."
            )


def libraries(recipe: ImageRecipe) -> list[str]:
    """The packages that the options use, for the history."""
    package = _PACKAGES.get(recipe.quantisation)
    return ["peft"] * bool(recipe.lora) + ([package] if package else [])


def quantisation(recipe: ImageRecipe, parts: Mapping[str, tuple[str, str]]) -> Any:
    """diffusers' configuration; None without quantisation. Raises BackendError.

    `parts`: name -> library and class. The denoiser and the large text encoders are quantised: CLIP's are
    small, and the decoder's errors would be seen.
    """
    if not recipe.quantisation:
        return None
    package = _PACKAGES[recipe.quantisation]
    try:
        importlib.import_module(package)
    except (ImportError, OSError) as error:
        raise BackendError(
            f"recipe: quantisation: '{recipe.quantisation}' needs the package {package}, which cannot be "
            f"imported on this machine ({error}). Install it there (pip install {package}), or leave "
            "quantisation empty."
        ) from error
    mapping = {
        name: _part_config(recipe, library)
        for name, (library, kind) in parts.items()
        if name.startswith(("unet", "transformer", "text_encoder")) and not kind.startswith("CLIP")
    }
    return torch_support.import_library("diffusers").PipelineQuantizationConfig(quant_mapping=mapping)


def _part_config(recipe: ImageRecipe, library: str) -> Any:
    """The configuration of a part: diffusers and transformers each have classes of their own."""
    classes = torch_support.import_library(library)
    if recipe.quantisation == "torchao_int8":
        int8 = importlib.import_module("torchao.quantization").Int8WeightOnlyConfig()
        return classes.TorchAoConfig(int8)
    if recipe.quantisation == "bitsandbytes_8bit":
        return classes.BitsAndBytesConfig(load_in_8bit=True)
    return classes.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch_support.dtype(recipe.dtype),
    )


def add_loras(pipeline: Any, recipe: ImageRecipe) -> dict[str, str]:
    """Put the recipe's LoRAs on the pipeline. Returns what the history says of each: name -> its file's hash.

    Raises BackendError.
    """
    if not recipe.lora:
        return {}
    if not hasattr(pipeline, "load_lora_weights"):
        raise BackendError(f"recipe: lora: {type(pipeline).__name__} takes no LoRA. Leave lora empty.")
    torch_support.import_library("peft")
    files, scales = {}, []
    for number, text in enumerate(recipe.lora):
        lora = loras.parse(text)
        with weights.require_complete(f"The LoRA '{text}'", cure=_lora_cure(lora)):
            file = weights.lora_file(lora) or _download(lora)
            pipeline.load_lora_weights(
                file.parent, weight_name=file.name, adapter_name=f"lora_{number}", local_files_only=True
            )
            scales.append(lora.scale)
            # Fails if the file has no weights for this pipeline, which was only logged before.
            pipeline.set_adapters([f"lora_{each}" for each in range(number + 1)], scales)
        files[f"{LORA}{text}"] = weights.revision_of(file)
    return files


def _download(lora: Lora) -> Path:
    hub = importlib.import_module("huggingface_hub")
    return Path(hub.hf_hub_download(lora.source, lora.file))


def _lora_cure(lora: Lora) -> str:
    return (
        "Choose one that was trained for this model. If it is on the hub: on a machine with a network, run "
        f"'hf download {lora.source} {lora.file} --local-dir FOLDER' and write FOLDER:{lora.file}."
    )


def offload(pipeline: Any, how: str, device: torch.device) -> None:
    """Keep in the machine's memory what does not compute now (`how`: as in the recipe)."""
    getattr(pipeline, _OFFLOADING[how])(device=device)
