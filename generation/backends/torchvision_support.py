"""Make `import torchvision` work with a torch that its compiled part was not built for.

The ordinary torchvision wheel with a CPU build of torch fails at import ("operator torchvision::nms does not
exist"): its compiled operators cannot be loaded, and two schemas are missing. No backend calls those
operators, but diffusers, transformers and open_clip import torchvision and fail with it. So the two schemas
are declared and torchvision is imported again. If torchvision imports without this, nothing is done.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_ERROR = "operator torchvision::nms does not exist"
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []  # torch drops a Library's schemas when the object is garbage-collected


def make_importable() -> None:
    """Import torchvision. Raises whatever its import raises, except the error above."""
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if _ERROR not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half-imported modules would make the second import fail
    library = importlib.import_module("torch.library").Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        library.define(schema)
    _declared.append(library)
    importlib.import_module("torchvision")
