"""A model's weights: find them, load them whole, and identify them. The libraries replace missing weights
with random numbers and only log a warning; here they are an error."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends.base import BackendError, OutOfMemory
from generation.recipes.loras import Lora

if TYPE_CHECKING:
    import torch

DAMAGED = "The files are incomplete, damaged or of another kind: copy or download them again."
_LOCAL, _HUB = "local-dir:", "hf-hub:"
_FILE = "pretrained=/models/open_clip_model.safetensors"
_PRECISION = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_LIBRARIES = ("diffusers", "transformers")
_MISSING = "newly initialized"
_HASHED_BYTES = 2**20  # of each file: different weights differ in their first tensors already


class NotOnThisMachine(BackendError):
    """A local folder or file that is missing here."""


def folder_of(model: str) -> Path | None:
    """The local folder that `model` names; None for a hub id. Raises NotOnThisMachine."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if _is_path(model):
        raise NotOnThisMachine(
            f"There is no folder '{model}' on this machine. Name the folder that holds the model's files, "
            "or a hub id such as CompVis/stable-diffusion-v1-4."
        )
    return None


def lora_file(lora: Lora) -> Path | None:
    """The local file of a LoRA; None for one on the hub. Raises NotOnThisMachine."""
    path = Path(lora.source).expanduser()
    if not path.exists() and not _is_path(lora.source):
        return None
    file = path / lora.file if path.is_dir() else path
    if not file.is_file():
        raise NotOnThisMachine(
            f"There is no LoRA '{file}' on this machine. Name a folder and its file "
            "(FOLDER:FILE.safetensors), the file itself, or a hub id."
        )
    return file


def _is_path(name: str) -> bool:
    return Path(name).expanduser().is_absolute() or name.startswith((".", "~")) or name.count("/") > 1


def revision_of(path: Path) -> str:
    """Identify the weights in a file or folder: the hub's commit, or 'files-' and a hash of the files' names,
    sizes and first bytes."""
    if path.parent.name == "snapshots":
        return path.name
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    combined = hashlib.sha256()
    for file in files:
        name = file.relative_to(path.parent if path.is_file() else path)
        if name.parts[0].startswith("."):
            continue  # metadata of a download
        with file.open("rb") as opened:
            beginning = opened.read(_HASHED_BYTES)
        combined.update(
            f"{name.as_posix()} {file.stat().st_size} ".encode() + hashlib.sha256(beginning).digest()
        )
    return f"files-{combined.hexdigest()[:32]}"


def check_vocabulary(tokenizer: Any, what: str) -> None:
    """Raise ValueError for the empty tokenizer that the libraries load when its vocabulary is missing."""
    if not set(tokenizer("a photo of a person").input_ids) - set(tokenizer.all_special_ids):
        raise ValueError(f"{what} has lost its vocabulary")


def cached_folder(model: str, file: str, revision: str = "") -> Path:
    """The folder in the hub's cache, named by its commit, of a model that was just loaded.

    `file` is one that every such model has.
    """
    hub = importlib.import_module("huggingface_hub")
    return Path(hub.try_to_load_from_cache(model, file, revision=revision or None)).parent


def download_hint(model: str, *, prefix: str = "") -> str:
    """How to get the weights of a hub id. `prefix`: of a folder's name in a recipe."""
    return (
        f"On a machine with a network, run 'hf download {model} --local-dir FOLDER' (after 'hf auth login' "
        f"if the model asks for it) and name that folder as the model: {prefix}FOLDER."
    )


@contextlib.contextmanager
def loading(model: str, revision: str = "") -> Iterator[None]:
    """`require_complete` for a hub id or a local folder."""
    if folder_of(model) is not None:
        with require_complete(f"The model in the folder {model}", cure=DAMAGED):
            yield
        return
    named = f"'{model}'" + f", revision '{revision}'," * bool(revision)
    what = f"The model {named} (a hub id, searched in this machine's cache and on the hub)"
    with require_complete(what, cure=download_hint(model)):
        _reach_hub(model)
        yield


def _reach_hub(model: str) -> None:
    """Fail at once if the hub does not answer and nothing of the model is in this machine's cache: the
    libraries would try for minutes before they say so."""
    constants = importlib.import_module("huggingface_hub.constants")
    name = f"models--{model.replace('/', '--')}"
    if constants.HF_HUB_OFFLINE or (Path(constants.HF_HUB_CACHE) / name).is_dir():
        return
    try:
        session = importlib.import_module("huggingface_hub.utils").get_session()
        session.head(constants.ENDPOINT, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except Exception as error:  # of the library that the hub's library uses
        raise OSError(f"{constants.ENDPOINT} does not answer: {error}") from error


@contextlib.contextmanager
def require_complete(what: str, *, cure: str) -> Iterator[None]:
    """Raise BackendError with the `cure` if a library fails to load `what`, or logs that weights are
    missing."""
    handler = _MissingWeights()
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
    try:
        yield
    except (BackendError, OutOfMemory):
        raise
    except (
        Exception
    ) as error:  # each library raises its own: SafetensorError, OSError, KeyError, RuntimeError ...
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        raise BackendError(f"{what} cannot be loaded ({cause}). {cure}") from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
    if handler.messages:
        raise BackendError(f"{what} lacks weights ({' '.join(handler.messages[0].split())[:600]}). {cure}")


class _MissingWeights(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if _MISSING in (message := record.getMessage()):
            self.messages.append(message)


def load_transformers(
    model_class: Any, processor_class: Any, *, model: str, revision: str, dtype: str, device: torch.device
) -> tuple[Any, Any, str]:
    """A `model_class` on `device`, its tokenizer or processor, and its weights' revision.

    `model`: a hub id or a local folder. Raises BackendError.
    """
    torch_support.import_library("transformers").utils.logging.disable_progress_bar()
    with loading(model, revision):
        folder = folder_of(model)
        source = {"local_files_only": True} if folder else {"revision": revision or None}
        path = folder or model
        processor = processor_class.from_pretrained(path, **source)
        check_vocabulary(getattr(processor, "tokenizer", processor), "its tokenizer")
        weights = model_class.from_pretrained(path, dtype=torch_support.dtype(dtype), **source).eval()
    loaded_revision = revision_of(folder or cached_folder(model, "config.json", revision))
    with torch_support.must_fit(f"'{model}' in {dtype}", device):
        weights.to(device)
    return weights, processor, loaded_revision


def model_type(model: str, revision: str) -> str:
    """The type of a hub id or local folder in its config.json, such as clip. Raises BackendError."""
    transformers = torch_support.import_library("transformers")
    with loading(model, revision):
        folder = folder_of(model)
        source = {"local_files_only": True} if folder else {"revision": revision or None}
        return str(transformers.AutoConfig.from_pretrained(folder or model, **source).model_type)


def load_open_clip(
    model: str, pretrained: str, *, dtype: str, device: torch.device
) -> tuple[Any, Any, Any, str]:
    """The model on `device`, its preprocessing for one image, its tokenizer, and its weights' revision.

    `model`: an architecture (ViT-B-32), with `pretrained` as the tag or file of its weights; or
    `local-dir:/folder` or `hf-hub:owner/name`, which include their weights. Raises BackendError.
    """
    open_clip = torch_support.import_library("open_clip")
    name, weights, path, cure = _find_open_clip(open_clip, model, pretrained)
    tried = f"The model '{model}'" + f" with the weights '{weights}'" * bool(weights)
    options = {"precision": _PRECISION[dtype], "device": device, "require_pretrained": True}
    tag = open_clip.get_pretrained_cfg(name, weights) if weights else None
    if tag and tag.get("quick_gelu"):
        # open_clip only warns if the weights were trained with another activation, but the results are wrong.
        options["force_quick_gelu"] = True
    with torch_support.must_fit(tried, device), require_complete(tried, cure=cure):
        if name.startswith(_HUB):
            _reach_hub(name.removeprefix(_HUB))
        loaded, _, preprocess = open_clip.create_model_and_transforms(name, weights or None, **options)
        tokenizer = open_clip.get_tokenizer(name)
    if name.startswith(_HUB):
        path = cached_folder(name.removeprefix(_HUB), "open_clip_config.json")
    return loaded.eval(), preprocess, tokenizer, revision_of(path) if path else weights


def _find_open_clip(open_clip: Any, model: str, pretrained: str) -> tuple[str, str, Path | None, str]:
    """open_clip's name for the model, its `pretrained`, the local path of the weights, and the cure."""
    if model.startswith(_LOCAL):
        folder = Path(model.removeprefix(_LOCAL)).expanduser()
        if not folder.is_dir():
            raise BackendError(
                f"There is no folder {folder} on this machine. Name the one with open_clip_config.json."
            )
        cure = f"It needs open_clip_config.json and its weights, {folder / 'open_clip_model.safetensors'}. "
        return f"{_LOCAL}{folder}", "", folder, cure + DAMAGED
    if model.startswith(_HUB):
        return model, "", None, download_hint(model.removeprefix(_HUB), prefix=_LOCAL)
    name = model.replace("/", "-")
    if name not in open_clip.list_models():
        known = ", ".join(open_clip.list_models())
        raise BackendError(f"open_clip has no model '{model}'. It has: {known}.")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if pretrained in tags:
        hub = open_clip.get_pretrained_cfg(name, pretrained).get("hf_hub", "").rstrip("/")
        is_folder = hub.count("/") == 1  # some tags name one file of a repository
        hint = download_hint(hub, prefix=_LOCAL) if is_folder else f"Or give a file of its weights: {_FILE}."
        return name, pretrained, None, f"It is downloaded at the first use if there is a network. {hint}"
    file = Path(pretrained).expanduser()
    if not pretrained or not file.is_file():
        tag = f"a tag, for example pretrained={tags[0]} (there are {', '.join(tags)}), or " if tags else ""
        raise BackendError(
            f"'{pretrained}' is neither a file of weights on this machine nor a tag of {name}. "
            f"Give {tag}a file of its weights, for example {_FILE}."
        )
    return name, str(file), file, DAMAGED
