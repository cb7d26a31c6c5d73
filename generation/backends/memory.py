"""What of an accelerator's memory is used, as far as a process has one in use."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceMemory:
    """bytes; `used` by all processes. `device`: *cuda:0 NVIDIA H100 80GB HBM3*."""

    device: str
    used: int
    total: int


def device_memory(asked: str = "") -> DeviceMemory | None:
    """Of the GPU that torch works with in this process: `asked` (*cuda:1*), or the first.

    None without torch, without a GPU, where something else was asked for, or before a model was put on it:
    looking must not import torch (11 s) nor take memory of a card by itself.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not (asked or "cuda").startswith("cuda"):
        return None
    number = int(asked.partition(":")[2] or 0)
    free, total = torch.cuda.mem_get_info(number)
    name = f"cuda:{number} {torch.cuda.get_device_name(number)}"
    return DeviceMemory(device=name, used=int(total - free), total=int(total))


__all__ = ["DeviceMemory", "device_memory"]
