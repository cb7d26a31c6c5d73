"""Permutation tests and image rankings (PROTOCOL §12) against plain loops, and the coverage of d's intervals.

    python -m benchmarks.embedding_tests [--permutations 1000000] [--drawings 1000] [--pairs 200]

*permutations*: two groups of 200 images, with 8 and 8 texts; the p of sampled splits, by tables of block
sums, by a loop over the formula (s(w, A, B) of the shuffled images, from their cosines), by a loop that
shuffles the associations and takes two means, and by scipy.stats.permutation_test, the last three with fewer
splits, multiplied.
*ranking*: four groups of 109, 197, 108 and 183 images (those of the Chicago Face Database) and 51 prompts;
the plain way draws, sorts and counts one prompt at a time, with fewer drawings, multiplied. *coverage*: pairs
of simulated groups whose effect is known; how often the program's intervals, and plain percentiles, hold it.

Times are of the clock; each part runs alone. Written to benchmarks/results/embedding-tests.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before numpy: its own threads would be counted as the program's.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from benchmarks.annotate import machine  # noqa: E402
from metrics.embedding_tests.stats.effects import CORRECTED, GREATER, PUBLISHED, effect  # noqa: E402
from metrics.embedding_tests.stats.permutations import permutation_test  # noqa: E402
from metrics.embedding_tests.stats.ranking import shares  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
SIZES = (109, 197, 108, 183)
PROMPTS = 51
Result = dict[str, Any]


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def permutations(number: int, plain: int) -> Result:
    rng = np.random.default_rng(0)
    cosines = rng.normal(size=(400, 16))
    cosines[:200, :8] += 0.03
    associations = cosines[:, :8].mean(axis=1) - cosines[:, 8:].mean(axis=1)
    x, y = associations[:200], associations[200:]
    before = memory()
    runs = [
        timed(lambda seed=seed: permutation_test(x, y, permutations=number, rng=np.random.default_rng(seed)))
        for seed in range(5)
    ]
    seconds = sorted(each for each, _ in runs)[2]
    more = memory() - before

    def formula() -> float:
        reached = 0
        for _ in range(plain):
            split = cosines[rng.permutation(400)]
            s = split[:, :8].mean(axis=1) - split[:, 8:].mean(axis=1)
            reached += s[:200].mean() - s[200:].mean() >= observed
        return (reached + 1) / (plain + 1)

    def loop() -> float:
        both, reached = np.concatenate([x, y]), 0
        for _ in range(plain):
            rng.shuffle(both)
            reached += both[:200].mean() - both[200:].mean() >= observed
        return (reached + 1) / (plain + 1)

    def of_scipy() -> float:
        found = stats.permutation_test(
            (x, y),
            lambda a, b, axis: a.mean(axis) - b.mean(axis),
            vectorized=True,
            alternative="greater",
            n_resamples=plain,
            batch=1000,
            rng=rng,
        )
        return float(found.pvalue)

    observed = x.mean() - y.mean()
    formula_seconds, formula_p = timed(formula)
    loop_seconds, loop_p = timed(loop)
    scipy_seconds, scipy_p = timed(of_scipy)
    return {
        "splits": number,
        "seconds (median of five)": round(seconds, 2),
        "p": runs[0][1].p,
        "memory, MiB": more,
        "formula": {
            "splits": plain,
            "p": formula_p,
            "seconds, multiplied": round(formula_seconds * number / plain, 1),
        },
        "loop": {
            "splits": plain,
            "p": loop_p,
            "seconds, multiplied": round(loop_seconds * number / plain, 1),
        },
        "scipy": {
            "splits": plain,
            "p": scipy_p,
            "seconds, multiplied": round(scipy_seconds * number / plain, 1),
        },
        "formula / program": round(formula_seconds * number / plain / seconds, 1),
        "loop / program": round(loop_seconds * number / plain / seconds, 1),
        "scipy / program": round(scipy_seconds * number / plain / seconds, 1),
    }


def ranking(drawings: int, plain: int) -> Result:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(4), SIZES)
    cosines = rng.normal(size=(PROMPTS, len(groups))) + 0.5 * rng.normal(size=(PROMPTS, 4))[:, groups]
    seconds, found = timed(lambda: shares(cosines, groups, drawings=drawings, top=0, rng=rng))

    def loop() -> np.ndarray:
        members = [np.flatnonzero(groups == group) for group in range(4)]
        counts = np.zeros((PROMPTS, 4))
        for _ in range(plain):
            drawn = np.concatenate([rng.choice(each, min(SIZES), replace=False) for each in members])
            for prompt, row in enumerate(cosines):
                for image in sorted(drawn, key=lambda image: -row[image])[: min(SIZES)]:
                    counts[prompt, groups[image]] += 1
        return counts / (plain * min(SIZES))

    loop_seconds, of_loop = timed(loop)
    scaled = loop_seconds * drawings / plain
    return {
        "drawings": drawings,
        "seconds": round(seconds, 3),
        "shares of the first prompt": found[0].round(4).tolist(),
        "loop": {
            "drawings": plain,
            "shares of the first prompt": of_loop[0].round(4).tolist(),
            "seconds, multiplied": round(scaled, 1),
        },
        "largest difference": round(float(np.abs(found - of_loop).max()), 4),
        "loop / program": round(scaled / seconds, 1),
    }


def coverage(pairs: int) -> list[Result]:
    """Of 95 % intervals, of groups of one distribution and a difference of `d` standard deviations."""
    found = []
    shapes = {
        "normal": lambda rng, n: rng.normal(size=n),
        "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    }
    for shape, draw in shapes.items():
        for n, m in ((20, 20), (50, 50), (100, 100)):
            for d in (0.0, 1.6):
                row: Result = {"distribution": shape, "n_x": n, "n_y": m, "d": d}
                for variant in (CORRECTED, PUBLISHED):
                    rng = np.random.default_rng([n, m, int(10 * d)])
                    ours = percentile = 0
                    for _ in range(pairs):
                        x, y = draw(rng, n) + d, draw(rng, m)
                        one = effect(
                            *(x, y),
                            variant=variant,
                            alternative=GREATER,
                            permutations=1,
                            resamples=1000,
                            rng=rng,
                        )
                        ours += one.effect_low <= d <= one.effect_high
                        low, high = _percentiles(x, y, variant, rng)
                        percentile += low <= d <= high
                    row[variant] = {"program": ours / pairs, "percentiles": percentile / pairs}
                found.append(row)
    return found


def _percentiles(x: np.ndarray, y: np.ndarray, variant: str, rng: np.random.Generator) -> tuple[float, float]:
    n, m = len(x), len(y)
    a, b = x[rng.integers(0, n, (1000, n))], y[rng.integers(0, m, (1000, m))]
    ddof = 0 if variant == PUBLISHED else 1
    pooled = ((n - 1) * a.var(axis=1, ddof=ddof) + (m - 1) * b.var(axis=1, ddof=ddof)) / (n + m - 2)
    low, high = np.quantile((a.mean(axis=1) - b.mean(axis=1)) / np.sqrt(pooled), [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=1_000_000)
    parser.add_argument("--drawings", type=int, default=1000)
    parser.add_argument("--plain-permutations", type=int, default=50_000)
    parser.add_argument("--plain-drawings", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    found = {
        "machine": machine(),
        "permutations": permutations(options.permutations, options.plain_permutations),
        "ranking": ranking(options.drawings, options.plain_drawings),
        "coverage": {
            "pairs": options.pairs,
            "standard error at 95 %": round(math.sqrt(0.95 * 0.05 / options.pairs), 4),
            "rows": coverage(options.pairs),
        },
    }
    print(json.dumps(found, indent=1))
    path = ROOT / "benchmarks" / "results" / "embedding-tests.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
