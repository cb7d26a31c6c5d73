"""Stereotypical pull of 135 groups x 60 prompts x 15 images x 768 dimensions against the pairwise way.

    python -m benchmarks.pull [--groups 135] [--only memory stored]

A group has 1 default prompt, 30 stereotypical and 29 other described ones. Three ways to its three numbers:

- ours: products of the means of unit vectors (metrics/pull/stats/pull.py), and with 1,000 resamples;
- pairwise matrix: numpy's matrix of all cosines of two sets, and its mean;
- pairwise loop: two nested loops over the images, one product of two vectors at a time, measured for one
  group and multiplied by the number of groups.

*stored* writes the embeddings into a new SQLite database and computes the metric from there, as a worker
does, in a process of its own whose peak memory is told. Times are processor time of one thread, because other
work on the machine disturbs it least. Written to benchmarks/results/pull.json, where the part that was not
asked for stays.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Before numpy: threads that wait for one another would be counted too.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

from benchmarks.coverage_pull import IMAGES  # noqa: E402
from metrics.core.stats.bootstrap import generator  # noqa: E402
from metrics.pull.stats import pull  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PROMPTS = {"default": 1, "stereotypical": 30, "non_stereotypical": 29}
DIM, RESAMPLES = 768, 1000
_LEAN = {"default": (0.6, 0.4), "stereotypical": (1.0, 0.0), "non_stereotypical": (0.0, 1.0)}

Group = dict[str, np.ndarray]


def made(groups: int) -> Iterator[Group]:
    """Unit vectors in float32, as they are stored; default ones lean to the stereotypical side."""
    for number in range(groups):
        rng = np.random.default_rng(number)
        axes = rng.normal(size=(2, DIM)) / np.sqrt(DIM)
        found = {}
        for name, prompts in PROMPTS.items():
            centre = np.array(_LEAN[name]) @ axes
            shared = np.repeat(rng.normal(size=(prompts, DIM)) / np.sqrt(DIM), IMAGES, axis=0)
            own = rng.normal(size=(prompts * IMAGES, DIM)) / np.sqrt(DIM)
            vectors = centre + 0.5 * shared + 0.5 * own
            found[name] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        yield found


def by_means(group: Group) -> list[float]:
    found = pull.pull(group["default"], group["stereotypical"], group["non_stereotypical"])
    return [found.s_d_s, found.s_d_ns, found.s_s_ns]


def with_resamples(group: Group) -> None:
    of = {name: np.arange(len(vectors)) // IMAGES for name, vectors in group.items()}
    prompts = (of["default"], of["stereotypical"], of["non_stereotypical"])
    pull.resampled(*group.values(), prompts=prompts, resamples=RESAMPLES, rng=generator(0, "bench"))


def by_matrix(group: Group) -> list[float]:
    d, s, ns = group.values()
    return [float((one @ other.T).mean(dtype=np.float64)) for one, other in ((d, s), (d, ns), (s, ns))]


def by_loop(group: Group) -> list[float]:
    d, s, ns = (vectors.astype(np.float64) for vectors in group.values())
    found = []
    for one, other in ((d, s), (d, ns), (s, ns)):
        total = 0.0
        for a in one:
            for b in other:
                total += float(a @ b)
        found.append(total / (len(one) * len(other)))
    return found


def measured(groups: int) -> dict[str, object]:
    """Seconds of each way over all groups, and how far apart what they give is."""
    for warm in made(1):
        by_means(warm), by_matrix(warm)
    seconds = dict.fromkeys(("means", "matrix", "resamples"), 0.0)
    apart = loop = 0.0
    for number, group in enumerate(made(groups)):
        began = time.process_time()
        ours = by_means(group)
        means = time.process_time()
        matrix = by_matrix(group)
        pairs = time.process_time()
        with_resamples(group)
        seconds["means"] += means - began
        seconds["matrix"] += pairs - means
        seconds["resamples"] += time.process_time() - pairs
        apart = max(apart, float(np.abs(np.subtract(ours, matrix)).max()))
        if number == 0:
            began = time.process_time()
            apart = max(apart, float(np.abs(np.subtract(ours, by_loop(group))).max()))
            loop = (time.process_time() - began) * groups
    if apart > 1e-6:
        raise SystemExit(f"the three ways differ by {apart:g}")
    return {
        "groups": groups,
        "vectors": groups * sum(PROMPTS.values()) * IMAGES,
        "dimensions": DIM,
        "means, s": seconds["means"],
        "pairwise matrix, s": seconds["matrix"],
        "pairwise loop, s (one group, multiplied)": loop,
        "pairwise matrix / means": seconds["matrix"] / seconds["means"],
        "pairwise loop / means": loop / seconds["means"],
        "largest difference": apart,
        f"means with {RESAMPLES} resamples, s": seconds["means"] + seconds["resamples"],
    }


def fill(groups: int) -> None:
    """The rows that runs leave behind, in bulk."""
    from django.db import transaction
    from django.utils import timezone

    from annotation.models import IdentityGroup, Image, ImageSet, Region, Study, Task
    from generation.models import Embedding, Provenance, Run
    from generation.recipes.recipes import EmbeddingRecipe, as_json

    image_set = ImageSet.objects.create(name="bench-pull", title="bench")
    study = Study.objects.create(name="bench", title="bench")
    Task.objects.create(study=study, kind="depiction", wording="?", image_set=image_set)
    now = timezone.now()
    run = Run.objects.create(
        kind="embeddings",
        state="done",
        image_set=image_set,
        backend="fake",
        recipe=as_json(EmbeddingRecipe(backend="fake", model="bench")),
        recipe_hash="0" * 64,
        started_at=now,
        finished_at=now,
    )
    for number, vectors in enumerate(made(groups)):
        with transaction.atomic():
            group = IdentityGroup.objects.create(
                name=f"Group {number}",
                demonym=f"G{number}",
                region=Region.values[number % len(Region.values)],
            )
            images, kinds = [], []
            for name, prompts in PROMPTS.items():
                for prompt in range(prompts):
                    for _ in range(IMAGES):
                        text = f"a G{number} person described as {name} {prompt}"
                        index = len(images) + 1
                        images.append(
                            Image(
                                image_set=image_set,
                                group=group,
                                prompt=text,
                                index=index,
                                width=8,
                                height=8,
                                reference=f"{number}-{index}.png",
                            )
                        )
                        kinds.append(name)
            Image.objects.bulk_create(images)
            Provenance.objects.bulk_create(
                Provenance(image=image, prompt_set=kind) for image, kind in zip(images, kinds, strict=True)
            )
            stacked = np.concatenate(list(vectors.values()))
            Embedding.objects.bulk_create(
                Embedding(run=run, image=image, dim=DIM, vector=vector.astype("<f4").tobytes())
                for image, vector in zip(images, stacked, strict=True)
            )


def from_the_database(part: str, groups: int) -> None:
    """What a child process does: 'fill', or 'score' and tell how it was."""
    import django

    django.setup()
    if part == "fill":
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        fill(groups)
        return
    from annotation.models import Study
    from metrics.score_runs.evaluation import evaluate

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, wall = time.process_time(), time.perf_counter()
    found = evaluate(
        study=Study.objects.get(), metric="pull", variant="corrected", resamples=RESAMPLES, seed=0
    )
    told = {
        "processor, s": time.process_time() - began,
        "wall, s": time.perf_counter() - wall,
        "rows": len(found.rows),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "memory before, MB": before / 1024,
    }
    print(json.dumps(told))


def stored(groups: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="visage-bench-") as folder:
        environ = os.environ | {
            "VAR_DIR": folder,
            "STATIC_MANIFEST": "no",
            "CELERY_BROKER_URL": "",
            "DJANGO_SETTINGS_MODULE": "visage_app.settings",
            "LOG_LEVEL": "ERROR",
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        }
        asked = [sys.executable, "-m", "benchmarks.pull", "--groups", str(groups), "--part"]
        subprocess.run([*asked, "fill"], cwd=ROOT, env=environ, check=True)
        size = Path(folder, "bench.sqlite3").stat().st_size / 1e6
        done = subprocess.run(
            [*asked, "score"], cwd=ROOT, env=environ, check=True, capture_output=True, text=True
        )
        told: dict[str, object] = json.loads(done.stdout)
        return {"database, MB": size, "resamples": RESAMPLES, **told}


def rounded(figures: dict[str, object]) -> dict[str, object]:
    return {
        name: rounded(value)
        if isinstance(value, dict)
        else float(f"{value:.3g}")
        if isinstance(value, float)
        else value
        for name, value in figures.items()
    }


PARTS = ("memory", "stored")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=135)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--part", choices=("fill", "score"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        from_the_database(options.part, options.groups)
        return
    results = ROOT / "benchmarks" / "results" / "pull.json"
    figures = json.loads(results.read_text()) if results.is_file() else {}
    figures["what"] = "benchmarks/pull.py; processor time of one thread"
    if "memory" in options.only:
        figures["in memory"] = measured(options.groups)
    if "stored" in options.only:
        figures["from SQLite, one group at a time"] = stored(options.groups)
    told = json.dumps(rounded(figures), indent=2)
    print(told)
    results.write_text(told + "\n")


if __name__ == "__main__":
    main()
