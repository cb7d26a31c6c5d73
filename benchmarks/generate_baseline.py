"""What one process makes of a pipeline without this program: images per second, by batch size, as JSON.

    python -m benchmarks.generate_baseline \
        '{"way": "compiled", "folder": "...", "safety": "record", "sizes": [8, 16],
          "call": {"num_inference_steps": 50, "width": 512, "height": 512}}'

benchmarks/generate.py starts one for each way. None of our settings is in it: of this repository it imports
the clock only. The loop makes batch after batch in memory and stores nothing, which is in its favour; only
the documented loop makes one image at a time and saves it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.device import rate

ROOT = Path(__file__).resolve().parent.parent
PROMPT = "a photo of a Mexican person"


@dataclass(frozen=True)
class Way:
    """`documented`: the loop of diffusers' documentation, in float32. `fused`: one product for the
    projections of attention. `compiled`: a mode of torch.compile, for the denoiser and the decoder."""

    documented: bool = False
    fused: bool = False
    compiled: str = ""


WAYS = {
    "documented loop": Way(documented=True),
    "plain batches": Way(),
    "fused projections": Way(fused=True),
    "compiled": Way(fused=True, compiled="default"),
    "max-autotune": Way(fused=True, compiled="max-autotune-no-cudagraphs"),
    "max-autotune, CUDA graphs": Way(fused=True, compiled="max-autotune"),
}
"""Each a little slower to start and quicker to run. On a GPU, all but the first are in half precision."""
_kept: list[Any] = []  # torch forgets the operators that a Library declares when nothing holds it


SIZES = (4, 8, 16, 32, 64)


def each_way(
    folder: Path,
    recipe: Any,
    *,
    gpu: bool,
    ways: Collection[str] = tuple(WAYS),
    sizes: Collection[int] = SIZES,
) -> dict[str, dict[str, float]]:
    """Way -> batch size -> images per second of an ImageRecipe's pipeline, each in a process of its own.

    Ways that compile are measured on a GPU only, at the two batch sizes that were best with fused
    projections, which are therefore always measured; one that fails there is left out, and its error
    printed. Without a GPU the only size is 1.
    """
    found: dict[str, dict[str, float]] = {}
    sizes = sorted(sizes) if gpu else [1]
    env = {name: value for name, value in os.environ.items() if name != "CUBLAS_WORKSPACE_CONFIG"}  # ours
    call = {"num_inference_steps": recipe.steps, "width": recipe.width, "height": recipe.height}
    for name, way in WAYS.items():
        if (name not in ways and name != "fused projections") or (way.compiled and not gpu):
            continue
        if way.compiled:
            before = found["fused projections"]
            sizes = sorted(int(size) for size in sorted(before, key=lambda size: before[size])[-2:])
        asked = {"way": name, "folder": str(folder), "safety": recipe.safety, "sizes": sizes, "call": call}
        command = [sys.executable, "-m", "benchmarks.generate_baseline", json.dumps(asked)]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        print(f"{name}: {(done.stdout or done.stderr).strip()[-2000:]}", flush=True)
        if done.returncode == 0:
            found[name] = json.loads(done.stdout.splitlines()[-1])
        elif not way.compiled:
            raise SystemExit(f"The baseline '{name}' could not be measured.")
    return found


def measure(asked: dict[str, Any]) -> dict[int, float]:
    """Batch size -> images per second, from the smallest on until memory runs out."""
    import torch

    import_torchvision()
    import diffusers

    gpu, way = torch.cuda.is_available(), WAYS[asked["way"]]
    torch.backends.cudnn.benchmark = not way.documented
    torch.set_float32_matmul_precision("highest" if way.documented else "high")
    if not gpu:
        torch.set_num_threads(1)  # as benchmarks/generate.py
    dtype = torch.float32
    if gpu and not way.documented:
        dtype = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    without = {"safety_checker": None, "requires_safety_checker": False} if asked["safety"] == "off" else {}
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(asked["folder"], dtype=dtype, **without)
    pipeline.to("cuda" if gpu else "cpu").set_progress_bar_config(disable=True)
    if way.documented:
        return {1: documented_loop(pipeline, asked["call"])}
    if way.fused:
        pipeline.fuse_qkv_projections()
    pipeline.unet.to(memory_format=torch.channels_last)
    pipeline.vae.to(memory_format=torch.channels_last)
    if way.compiled:
        compile_parts(pipeline, way.compiled)

    def once(size: int) -> None:
        seeds = [torch.Generator("cpu").manual_seed(seed) for seed in range(size)]
        pipeline([PROMPT] * size, generator=seeds, **asked["call"])

    found: dict[int, float] = {}
    with torch.inference_mode():
        for size in asked["sizes"]:
            try:
                once(size)  # compiles, and chooses kernels
                found[size] = rate(size, lambda size=size: once(size))
            except torch.OutOfMemoryError:
                break
    return found


def compile_parts(pipeline: Any, mode: str) -> None:
    """As diffusers' documentation does."""
    inductor = importlib.import_module("torch._inductor.config")
    inductor.conv_1x1_as_mm = True
    inductor.coordinate_descent_tuning = True
    inductor.coordinate_descent_check_all_directions = True
    inductor.epilogue_fusion = False
    pipeline.unet.compile(mode=mode, fullgraph=True, dynamic=False)
    pipeline.vae.decode = importlib.import_module("torch").compile(
        pipeline.vae.decode, mode=mode, fullgraph=True, dynamic=False
    )


def documented_loop(pipeline: Any, call: dict[str, Any], images: int = 4) -> float:
    import torch

    with tempfile.TemporaryDirectory() as folder:

        def loop() -> None:
            for seed in range(images):
                generator = torch.Generator("cpu").manual_seed(seed)
                image = pipeline(PROMPT, generator=generator, **call).images[0]
                image.save(Path(folder) / f"{seed}.png")

        loop()
        return rate(images, loop)


def import_torchvision() -> None:
    """Import torchvision, also beside a CPU build of torch that it was not built for. As
    generation/backends/torch_support.py, which this process must not import."""
    import torch

    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        operators = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            operators.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept.append(operators)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
