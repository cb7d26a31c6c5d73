"""Make `import torchvision` work beside a torch that its compiled part was not built for.

The ordinary torchvision wheel beside a CPU build of torch fails at import ("operator torchvision::nms does
not exist"): its compiled operators cannot be loaded, and its own registrations then miss two schemas. No
backend calls those operators, but diffusers, transformers and open_clip import torchvision and fail with
it. The cure: declare the two schemas and import again. Where torchvision imports as it is, nothing is done.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_SIGN = "operator torchvision::nms does not exist"
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []  # a torch.library.Library withdraws its schemas when it is collected


def make_importable() -> None:
    """Import torchvision. Raises what its import raises, but for the error above."""
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if _SIGN not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half-imported: a second import would find them and fail elsewhere
    library = importlib.import_module("torch.library").Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        library.define(schema)
    _declared.append(library)
    importlib.import_module("torchvision")


__all__ = ["make_importable"]
