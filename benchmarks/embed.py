"""Measure what the processor does for an embedding, before and after, and for a preview of an image.

    python -m benchmarks.embed [--images 48] [--rounds 5] [--out FOLDER]

*Before*, as workers did: decode the file, open_clip's own preprocessing of each image (resize, crop,
ToTensor, Normalize), one tensor of the chunk. *After*, as they do: decode and `Encoder.prepare` in the
threads that read files, one array of the chunk's 8-bit pixels; then the device normalizes them. Without a
GPU the processor is the device, so that part is measured too, separately. The pixels of both ways are
compared: embeddings must not change.

The files are PNG files of 512x512 pixels as workers write them, and the same images as JPEG. A preview is the
JPEG in the figure of an annotated image. Times are this process's processor time with one thread of torch,
and the ways take turns, so other work on the machine counts little. Threads and processes are compared by
the clock, each in its best round. Writes `embed-DEVICE.json` to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.device import device_name, models_on_sqlite, rounded  # noqa: E402

SIDE = 224


def pictures(folder: Path, number: int) -> list[Path]:
    """PNG files of 512x512 that compress like photographs, each with a JPEG of the same name beside it."""
    from generation.jobs import png

    dice, paths = np.random.default_rng(0), []
    for index in range(number):
        coarse = Image.fromarray(dice.integers(0, 256, (32, 32, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((512, 512), Image.Resampling.BICUBIC))
        noisy = np.clip(smooth + dice.normal(0, 3, smooth.shape), 0, 255).astype(np.uint8)
        origin = png.Origin("a person", index, "0" * 64, "noise", "1", {}, "cpu", "benchmark")
        path = folder / f"{index}.png"
        path.write_bytes(png.encode(Image.fromarray(noisy), origin))
        Image.fromarray(noisy).save(path.with_suffix(".jpg"), quality=92)
        paths.append(path)
    return paths


def kilobytes(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths) // len(paths) // 1000


def decoded(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB")


def resized(path: Path) -> np.ndarray[Any, Any]:
    """As `Encoder.prepare` makes a square image, without torch: for processes that start fast."""
    return np.asarray(decoded(path).resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def milliseconds(ways: dict[str, Callable[[], object]], number: int, rounds: int) -> dict[str, float]:
    """Processor time of each way for one of `number` images: the median of rounds with all ways in turn."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for counted in [False, *[True] * rounds]:
        for name, do in ways.items():
            began = time.process_time()
            do()
            if counted:
                taken[name].append(1000 * (time.process_time() - began) / number)
    return {name: statistics.median(each) for name, each in taken.items()}


def embeddings(encoder: Any, preprocess: Any, paths: list[Path], rounds: int) -> dict[str, Any]:
    import torch

    def before() -> torch.Tensor:
        return torch.stack([preprocess(decoded(path)) for path in paths])

    def prepared() -> list[Any]:
        return [encoder.prepare(decoded(path)) for path in paths]

    images = [decoded(path) for path in paths]
    small = [encoder.prepare(image) for image in images]
    tensors = [preprocess(image) for image in images]
    ways: dict[str, Callable[[], object]] = {
        "before": before,
        "after": lambda: np.stack(prepared()),
        "after with the device's part": lambda: encoder._normalize(prepared()),
        "decode": lambda: [decoded(path) for path in paths],
        "resize and crop": lambda: [encoder.prepare(image) for image in images],
        "resize, crop, ToTensor, Normalize": lambda: [preprocess(image) for image in images],
        "stack floats": lambda: torch.stack(tensors),
        "stack 8-bit pixels": lambda: np.stack(small),
    }
    took = milliseconds(ways, len(paths), rounds)
    rates = {name: 1000 / took[name] for name in list(ways)[:3]}
    return {
        "ms an image": took,
        "images a second of one core": rates,
        "after / before": rates["after"] / rates["before"],
        "after with the device's part / before": rates["after with the device's part"] / rates["before"],
        "largest difference of a pixel": float((encoder._normalize(small).cpu() - before()).abs().max()),
    }


def previews(paths: list[Path], rounds: int) -> float:
    """Previews a second of one core."""
    from metrics.depiction.figures.annotated_image import _data_url

    images: list[Any] = [SimpleNamespace(file=path, pk=0) for path in paths]
    took = milliseconds({"all": lambda: [_data_url(image) for image in images]}, len(paths), rounds)
    return 1000 / took["all"]


def threads_and_processes(paths: list[Path]) -> dict[str, float]:
    """Images decoded and resized in a second of the clock by as many of each as there are cores.

    The best of many short rounds: one in which other work did not disturb.
    """
    cores = os.cpu_count() or 1
    few = paths[: 4 * cores]
    best = {"one thread": float("inf"), "threads": float("inf"), "processes": float("inf")}
    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(cores) as threads,
        ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as processes,
    ):
        pools: dict[str, Executor] = dict(zip(best, (one, threads, processes), strict=True))
        for _ in range(50):
            for name, pool in pools.items():
                began = time.perf_counter()
                list(pool.map(resized, few))
                best[name] = min(best[name], time.perf_counter() - began)
    return {name: len(few) / seconds for name, seconds in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    with models_on_sqlite() as (torch, folder):
        from benchmarks import full_size
        from generation import backends
        from generation.backends.torch_support import import_library
        from generation.recipes.recipes import EmbeddingRecipe

        torch.set_num_threads(1)
        paths = pictures(folder, options.images)
        in_jpeg = [path.with_suffix(".jpg") for path in paths]
        model = f"local-dir:{full_size.open_clip_model(folder / 'clip', 'ViT-B-32')}"
        encoder = backends.load(EmbeddingRecipe(model=model))
        _, _, preprocess = import_library("open_clip").create_model_and_transforms(model)
        found: dict[str, Any] = {
            "device": device_name(),
            "load_before": [round(load, 1) for load in os.getloadavg()],
            "files": f"512x512; a PNG has {kilobytes(paths)} kB, a JPEG {kilobytes(in_jpeg)}",
            "embeddings": {
                "PNG": embeddings(encoder, preprocess, paths, options.rounds),
                "JPEG": embeddings(encoder, preprocess, in_jpeg, options.rounds),
            },
            "previews a second of one core": {
                "PNG": previews(paths, options.rounds),
                "JPEG": previews(in_jpeg, options.rounds),
            },
            "images a second of the clock": threads_and_processes(paths),
        }
    found = rounded(found)
    print(json.dumps(found, indent=2))
    slug = re.sub(r"[^a-z0-9]+", "-", found["device"].lower()).strip("-")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"embed-{slug}.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
