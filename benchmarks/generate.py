"""Measure a worker against the bare models: images, embeddings and captions per second.

    python -m benchmarks.generate [--only images embeddings captions] [--images N] [--price PRICE] ...

All weights are random, which does not change the arithmetic. On a GPU the models have their published sizes:
Stable Diffusion 1.4 at 512x512 pixels in 50 steps, open_clip ViT-B/32 and ViT-L/14, BLIP. Without a GPU,
images and captions come from tiny models, which measure only the overhead; of the encoders, ViT-B/32 has its
published size. Then one thread computes, and "a second" is a second of this process's CPU time, on both sides
of each ratio: other work on the machine counts little, but waiting does not count either.

The worker is generation/jobs/services/work.py on a temporary SQLite database: claim, read and decode or
generate, encode as PNG, hash, store, complete. It is warm: an earlier run loaded and compiled the model. It
is compared, for images, with the best single process that runs the same pipeline without this program
(generate_baseline.py), with the same safety checker; for the others, with the model alone at its best batch,
on inputs that are on the device. On a GPU it also reports how busy the GPU was, and the hours for ViSAGe's
images, with --price (per hour of the machine, in any currency) also their cost. Prints the figures and writes
them to benchmarks/results/ under the device's name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.device import (  # noqa: E402
    best_by_batch,
    busy,
    clock,
    device_name,
    models_on_sqlite,
    percent_busy,
    rate,
    rounded,
)
from benchmarks.generate_baseline import PROMPT, SIZES, WAYS, each_way  # noqa: E402

_DIFFERENT = 64
VISAGE = {"detection": 2_025, "pull": 89_055}
"""Numbers of images, as in docs/generation.md."""


def pictures(
    root: Path, number: int, gpu: bool, *, ways: Collection[str] = tuple(WAYS), sizes: Collection[int] = SIZES
) -> dict[str, Any]:
    """The worker compared with processes that run the same pipeline without it, in each of `ways` with each
    of the batch `sizes`."""
    from benchmarks import full_size
    from generation.jobs.services.loaded_model import load, run_on_device
    from generation.recipes.recipes import ImageRecipe
    from tests.generation.backends import tiny
    from tests.generation.jobs.world import run_of_pictures

    if gpu:
        folder = full_size.stable_diffusion_14(root / "sd14")
        recipe = ImageRecipe(model=str(folder), compiled=True)
    else:
        folder = tiny.stable_diffusion(root / "tiny", safety="flags none")
        recipe = ImageRecipe(model=str(folder), steps=4, width=64, height=64)
    found: dict[str, Any] = {
        "recipe": f"{recipe.width}x{recipe.height}, {recipe.steps} steps, safety checker: {recipe.safety}",
        "without the program, by batch": each_way(folder, recipe, gpu=gpu, ways=ways, sizes=sizes),
    }
    for name, one in {"worker": recipe, "worker, repeatable": replace(recipe, repeatable=True)}.items():
        model: Any = run_on_device(load, one).result().model
        finish(run_of_pictures(model.batch, recipe=one))
        run = run_of_pictures(max(number // model.batch, 2) * model.batch, recipe=one)
        with busy() as percent:
            found[name] = finish(run)
        found[f"{name}: device"] = model.about.device
        found[f"{name}: gpu_busy_percent"] = percent_busy(percent)
    found["same_bytes_alone"] = same_alone(model, model.batch)
    rates = {way: max(by_batch.values()) for way, by_batch in found["without the program, by batch"].items()}
    found["best without the program"] = max(rates, key=lambda way: rates[way])
    found["worker / best without the program"] = found["worker"] / max(rates.values())
    if "documented loop" in rates:
        found["worker / documented loop"] = found["worker"] / rates["documented loop"]
    return found


def finish(run: Any) -> float:
    """Do a run's jobs as a worker does; returns jobs per second. Exits if a job was not done."""
    from generation.jobs.services.work import work

    began = clock()
    done = work(run_id=run.pk)
    taken = clock() - began
    run.refresh_from_db()
    if done != run.jobs.count():
        raise SystemExit(f"only {done} of {run.jobs.count()} jobs were done: {run.error}")
    return done / taken


def same_alone(model: Any, batch: int) -> str:
    """How many images of two full batches have the same bytes when generated alone."""
    from generation.backends.base import ImageRequest

    requests = [ImageRequest(PROMPT, seed) for seed in range(2 * batch)]
    together = [one.pixels.tobytes() for one in model.generate(requests)]
    sample = range(0, 2 * batch, max(1, batch // 4))
    same = sum(model.generate([requests[i]])[0].pixels.tobytes() == together[i] for i in sample)
    return f"{same} of {len(sample)}"


def stored_images(number: int, name: str) -> list[Any]:
    """Image rows with files of 512x512 pixels that compress like photographs. At most 64 differ, since
    making one takes several times as long as reading it."""
    import numpy as np
    from PIL import Image as PillowImage

    from annotation.images import files as image_files
    from annotation.models import Image
    from generation.jobs import png
    from tests import factories

    dice = np.random.default_rng(0)
    image_set, group = factories.image_set(name), factories.group("Mexican")
    files = []
    for index in range(1, min(number, _DIFFERENT) + 1):
        coarse = dice.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        smooth = np.asarray(PillowImage.fromarray(coarse).resize((512, 512), PillowImage.Resampling.BICUBIC))
        noisy = np.clip(smooth + dice.normal(0, 3, smooth.shape), 0, 255).astype(np.uint8)
        origin = png.Origin(PROMPT, index, "0" * 64, "noise", "1", {}, "cpu", "benchmark")
        files.append(image_files.store(png.encode(PillowImage.fromarray(noisy), origin)))
    rows = [
        Image(image_set=image_set, group=group, index=index, width=512, height=512, file=file, sha256=sha256)
        for index, (file, sha256) in enumerate(islice(cycle(files), number), 1)
    ]
    return list(Image.objects.bulk_create(rows))


def over_images(recipe: Any, number: int, name: str) -> dict[str, Any]:
    """Jobs per second of a warm worker on stored images, and how busy the GPU was."""
    from tests.generation.jobs.world import run_over

    finish(run_over(stored_images(8, f"{name} warm"), recipe))
    run = run_over(stored_images(number, name), recipe)
    with busy() as percent:
        done = finish(run)
    return {"worker": done, "gpu_busy_percent": percent_busy(percent)}


def embeddings(root: Path, number: int, gpu: bool) -> dict[str, Any]:
    """The worker, including reading and decoding files, compared with the forward pass at its best batch."""
    from benchmarks import full_size
    from generation.jobs.services.loaded_model import load, run_on_device
    from generation.recipes.recipes import EmbeddingRecipe

    found: dict[str, Any] = {}
    for name in ("ViT-B-32", "ViT-L-14") if gpu else ("ViT-B-32",):
        folder = full_size.open_clip_model(root / name, name)
        recipe = EmbeddingRecipe(model=f"local-dir:{folder}")
        worker = over_images(recipe, number, name)
        model: Any = run_on_device(load, recipe).result().model
        sizes = (64, 128, 256, 512, 1024) if gpu else (1, 8, 32, 64)
        alone = best_by_batch(sizes, partial(forward, model._model))
        found[name] = {
            "device": model.about.device,
            **worker,
            "forward alone, by batch": alone,
            "worker / forward": worker["worker"] / max(alone.values()),
        }
    return found


def forward(model: Any, size: int) -> float:
    """Images per second of the forward pass, from pixels that are on the device."""
    import torch

    weights = model.visual.conv1.weight
    pixels = torch.randn(size, 3, 224, 224, dtype=weights.dtype, device=weights.device)
    with torch.inference_mode():
        model.encode_image(pixels)
        return rate(size, lambda: model.encode_image(pixels))


def captions(root: Path, number: int, gpu: bool) -> dict[str, Any]:
    """The worker compared with the captioner alone on decoded images."""
    from PIL import Image as PillowImage

    from benchmarks import full_size
    from generation.jobs.services.loaded_model import load, run_on_device
    from generation.recipes.recipes import CaptionRecipe
    from tests.generation.backends import tiny_captions

    folder = full_size.blip(root / "blip") if gpu else tiny_captions.blip(root / "blip")
    recipe = CaptionRecipe(backend="blip", model=str(folder), count=10)
    worker = over_images(recipe, number, "captions")
    model: Any = run_on_device(load, recipe).result().model
    images = [PillowImage.effect_noise((512, 512), 40 + i).convert("RGB") for i in range(model.batch)]
    alone = rate(len(images), lambda: model.caption(images, count=recipe.count, seed=0))
    return {
        "count": 10,
        "device": model.about.device,
        **worker,
        "alone": alone,
        "worker / alone": worker["worker"] / alone,
    }


def of_visage(rate: float, price: float | None) -> dict[str, dict[str, float]]:
    """Hours for ViSAGe's images at `rate` per second, and their cost at `price` per hour."""
    hours = {name: number / rate / 3600 for name, number in VISAGE.items()}
    estimate = {"hours": hours}
    if price is not None:
        estimate["cost"] = {name: taken * price for name, taken in hours.items()}
    return estimate


KINDS: dict[str, tuple[Callable[..., dict[str, Any]], int, int]] = {
    "images": (pictures, 256, 64),
    "embeddings": (embeddings, 4096, 128),
    "captions": (captions, 256, 64),
}
"""Kind -> benchmark function, number of jobs with a GPU, and without."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for kind, (_, on_gpu, without) in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, help=f"how many (with a GPU {on_gpu}, else {without})")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument(
        "--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="to make images without the program"
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=list(SIZES), help="of their batches, on a GPU"
    )
    parser.add_argument("--price", type=float, help="what an hour of this machine costs (with a GPU)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    with models_on_sqlite() as (torch, folder):
        from django.core.management import call_command

        from generation.backends.torch_support import import_library

        call_command("migrate", verbosity=0)
        gpu = torch.cuda.is_available()
        if not gpu:
            torch.set_num_threads(1)  # several threads wait for each other when the machine has other work
        figures: dict[str, Any] = {
            "device": device_name(),
            "what": "models of published size"
            if gpu
            else "no GPU: plumbing only, with tiny models; ViT-B-32 in its published size",
            "rates": "a second" if gpu else "a second of this process's processor time",
            "libraries": {
                name: import_library(name).__version__ for name in ("torch", "diffusers", "open_clip")
            },
        }
        print(json.dumps(figures, indent=2), flush=True)
        for kind in options.only:
            measure, on_gpu, without = KINDS[kind]
            number = getattr(options, kind) or (on_gpu if gpu else without)
            some = {"ways": options.ways, "sizes": options.sizes} if kind == "images" else {}
            measured = measure(folder, number, gpu, **some)
            if gpu and kind == "images":
                measured["of ViSAGe"] = of_visage(measured["worker"], options.price)
            figures[kind] = rounded(measured)
            print(json.dumps({kind: figures[kind]}, indent=2), flush=True)
    slug = re.sub(r"[^a-z0-9]+", "-", figures["device"].lower()).strip("-")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"generate-{slug}.json").write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
