"""The weights in a checkpoint of PyTorch Lightning, read without Lightning and without running its code."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generation.backends import torch_support, weights
from generation.backends.base import BackendError

if TYPE_CHECKING:
    import torch

SUFFIX = ".ckpt"


def load_weights(path: Path, *, prefix: str) -> dict[str, torch.Tensor]:
    """The weights whose names begin with `prefix`, without it. They stay in the file until they are used.

    A checkpoint is a pickle, and unpickling can run any code. Here only tensors and plain values are made;
    whatever else the checkpoint names, such as Lightning's callbacks, becomes an empty dictionary. Raises
    BackendError if the file is missing or damaged, or if it has no such weights.
    """
    torch = torch_support.import_library("torch")
    if not path.is_file():
        raise BackendError(f"There is no file '{path}' on this machine. Give the path of the checkpoint.")
    with weights.require_complete(f"The checkpoint {path}", cure=weights.DAMAGED):
        unknown = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        with torch.serialization.safe_globals([(_Unread, name) for name in unknown]):
            stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    state = stored.get("state_dict") if isinstance(stored, dict) else None
    if not isinstance(state, dict):
        raise BackendError(f"{path} has no 'state_dict', so it is no checkpoint of PyTorch Lightning.")
    named = {str(name): one for name, one in state.items()}
    found = {name.removeprefix(prefix): one for name, one in named.items() if name.startswith(prefix)}
    if not found or not all(isinstance(one, torch.Tensor) for one in found.values()):
        names = ", ".join(list(named)[:3]) or "none"
        raise BackendError(f"{path} has no weights named '{prefix}...' (it has {names}).")
    return found


class _Unread:
    """Takes the place of every class and function that torch does not consider safe. A dictionary is what
    torch's unpickler can fill without calling anything."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return OrderedDict()
