"""How often the intervals of pull hold what was planted (benchmarks/pull.py)."""

from __future__ import annotations

import numpy as np

from metrics.stats import pull
from metrics.stats.bootstrap import generator
from metrics.stats.percentiles import percentile_intervals

IMAGES = 15


def planted(rng: np.random.Generator, mean: np.ndarray, strength: float, attributes: int) -> np.ndarray:
    """Unit vectors whose expectation is `strength` times the unit vector `mean`: what is left of their length
    points in directions without a mean, half of it the same for all images of an attribute."""

    def across() -> np.ndarray:
        vector = rng.normal(size=len(mean))
        vector -= (vector @ mean) * mean
        return vector / np.linalg.norm(vector)

    found = []
    for _ in range(attributes):
        shared = across()
        for _ in range(IMAGES):
            own = across()
            own -= (own @ shared) * shared
            rest = np.sqrt(0.5) * (shared + own / np.linalg.norm(own))
            found.append(strength * mean + np.sqrt(1 - strength**2) * rest)
    return np.array(found)


def coverage(groups: int, resamples: int = 400) -> dict[str, object]:
    """The share of groups whose intervals hold what was planted, by number of attributes of each kind. Of the
    default set each image is a cluster, as if it shared nothing with the others but their one prompt."""
    first, second = np.eye(24)[0], np.eye(24)[:2].sum(axis=0) / np.sqrt(2)
    truth = {"s_d_s": 0.8 * 0.7, "s_d_ns": 0.8 * 0.4 / np.sqrt(2), "s_s_ns": 0.7 * 0.4 / np.sqrt(2)}
    truth["x"] = truth["s_d_s"] - truth["s_d_ns"]
    found: dict[str, object] = {"groups": groups, "resamples": resamples}
    for attributes in (3, 10, 30):
        held = dict.fromkeys(truth, 0)
        for number in range(groups):
            rng = np.random.default_rng([number, attributes])
            d = np.concatenate([planted(rng, first, 0.8, 1)[:1] for _ in range(IMAGES)])
            s = planted(rng, first, 0.7, attributes)
            ns = planted(rng, second, 0.4, attributes)
            of = np.arange(len(s)) // IMAGES
            point = pull.pull(d, s, ns)
            samples = pull.resampled(
                *(d, s, ns),
                prompts=(np.zeros(len(d)), of, of),
                resamples=resamples,
                rng=generator(number, "bench"),
            )
            intervals = percentile_intervals(samples, [getattr(point, name) for name in pull.COLUMNS])
            for name, value in truth.items():
                one = intervals[pull.COLUMNS.index(name)]
                held[name] += one.low <= value <= one.high
        found[f"{attributes} attributes"] = {name: number / groups for name, number in held.items()}
    return found
