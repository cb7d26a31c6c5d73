"""How much of a GPU's memory is used, if this process uses a GPU."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceMemory:
    """bytes; `used` by all processes. `device`: *cuda:0 NVIDIA H100 80GB HBM3*."""

    device: str
    used: int
    total: int


def device_memory(device: str = "") -> DeviceMemory | None:
    """The memory of the GPU that torch uses in this process: `device` (*cuda:1*), or the first.

    None without torch, without a GPU, for another kind of device, or before a model is on the GPU: this must
    neither import torch (11 s) nor allocate GPU memory itself.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not (device or "cuda").startswith("cuda"):
        return None
    number = int(device.partition(":")[2] or 0)
    free, total = torch.cuda.mem_get_info(number)
    name = f"cuda:{number} {torch.cuda.get_device_name(number)}"
    return DeviceMemory(device=name, used=int(total - free), total=int(total))
