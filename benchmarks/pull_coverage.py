"""How often the intervals of pull hold what was planted (benchmarks/pull.py)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from metrics.core.stats import differences
from metrics.core.stats.bootstrap import generator
from metrics.core.stats.checks import Floats
from metrics.core.stats.percentiles import percentile_intervals
from metrics.pull.stats import paired, pull

IMAGES = 15
ALONG = (0.8, 0.7, 0.4)
"""How far the default, the stereotypical and the other images lean to what they have in common."""
TURNED, SPREAD = np.radians(50), np.radians(20)
"""By what angle the default images of a group lean to the other side: mean and standard deviation."""


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


def axes(angle: float) -> tuple[Floats, Floats, Floats]:
    """The unit vectors that default, stereotypical and other images lean to."""
    plane = np.eye(24)[:2]
    other = plane.sum(axis=0) / np.sqrt(2)
    return np.cos(angle) * plane[0] + np.sin(angle) * plane[1], plane[0], other


def truth(attributes: int, *, turned: float = 0.0, spread: float = 0.0) -> dict[str, float]:
    """What studies with so many attributes of each kind find on average, of groups whose default images are
    turned by a normal angle; `pulled` is the share of all groups whose default images are more like the
    stereotypical ones."""
    d, s, ns = ALONG
    # the mean cosine of a normal angle
    cosines = [np.cos(turned - at) * np.exp(-(spread**2) / 2) for at in (0.0, np.pi / 4)]
    found = {"s_d_s": d * s * cosines[0], "s_d_ns": d * ns * cosines[1], "s_s_ns": s * ns / np.sqrt(2)}
    found["s_mean"] = sum(found.values()) / 3
    found["x"] = found["s_d_s"] - found["s_d_ns"]
    # two images of one attribute share half of what they do not lean by
    same = (IMAGES - 1) / (IMAGES * attributes - 1) / 2
    found |= {"s_d_d": d**2, "s_s_s": s**2 + (1 - s**2) * same, "s_ns_ns": ns**2 + (1 - ns**2) * same}
    if spread:
        # x is 0 where s cos(angle) = ns cos(angle - 45 degrees)
        even = np.arctan2(s * np.sqrt(2) - ns, ns)
        found["pulled"] = NormalDist(turned, spread).cdf(even)
    return {name: float(value) for name, value in found.items()}


def pictures(rng: np.random.Generator, attributes: int, angle: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """The vectors of the three sets of one planted group."""
    default, first, second = axes(angle)
    return (
        np.concatenate([planted(rng, default, ALONG[0], 1)[:1] for _ in range(IMAGES)]),
        planted(rng, first, ALONG[1], attributes),
        planted(rng, second, ALONG[2], attributes),
    )


def drawn(
    rng: np.random.Generator, attributes: int, resamples: int, seed: int, angle: float = 0.0
) -> tuple[Floats, Floats]:
    """The numbers of one planted group and those of its resamples, (K,) and (B, K)."""
    d, s, ns = pictures(rng, attributes, angle)
    of = np.arange(len(s)) // IMAGES
    point = pull.pull(d, s, ns)
    samples = pull.resampled(
        *(d, s, ns),
        prompts=(np.zeros(len(d)), of, of),
        resamples=resamples,
        rng=generator(seed, "bench"),
    )
    return np.array([getattr(point, name) for name in pull.COLUMNS]), samples


def coverage(groups: int, resamples: int = 400, sizes: tuple[int, ...] = (3, 10, 30)) -> dict[str, object]:
    """The share of groups whose intervals hold what was planted, by number of attributes of each kind. Of the
    default set each image is a cluster, as if it shared nothing with the others but their one prompt."""
    found: dict[str, object] = {"groups": groups, "resamples": resamples}
    for attributes in sizes:
        true = truth(attributes)
        held = dict.fromkeys(true, 0)
        for number in range(groups):
            rng = np.random.default_rng([number, attributes])
            values, samples = drawn(rng, attributes, resamples, number)
            intervals = percentile_intervals(samples, values)
            for name, value in true.items():
                one = intervals[pull.COLUMNS.index(name)]
                held[name] += one.low <= value <= one.high
        found[f"{attributes} attributes"] = {name: number / groups for name, number in held.items()}
    return found


def coverage_of_differences(
    groups: int, resamples: int = 300, sizes: tuple[int, ...] = (3, 10, 30)
) -> dict[str, object]:
    """The share of groups whose intervals of what two models differ by hold what was planted: both were given
    the same prompts, and the default images of the second are turned."""
    found: dict[str, object] = {"groups": groups, "resamples": resamples}
    for attributes in sizes:
        ones, others = truth(attributes), truth(attributes, turned=TURNED)
        held = dict.fromkeys(("x", "s_d_s", "s_d_ns"), 0)
        for number in range(groups):
            rng = np.random.default_rng([number, attributes, 2])
            sides = [pictures(rng, attributes), pictures(rng, attributes, TURNED)]
            points = [pull.pull(*each) for each in sides]
            of = np.arange(attributes * IMAGES) // IMAGES
            prompts = (np.zeros(IMAGES), of, of)
            both = paired.paired_resampled(
                *(
                    [
                        paired.ImageVectors(vectors, of_set, side * 10_000 + np.arange(len(vectors)))
                        for vectors, of_set in zip(each, prompts, strict=True)
                    ]
                    for side, each in enumerate(sides)
                ),
                resamples=resamples,
                rng=generator(number, "bench"),
            )
            for name in held:
                place = pull.COLUMNS.index(name)
                one = differences.difference(
                    *(getattr(point, name) for point in points),
                    first_samples=both[0][:, place],
                    second_samples=both[1][:, place],
                ).interval
                held[name] += one.low <= ones[name] - others[name] <= one.high
        found[f"{attributes} attributes"] = {name: number / groups for name, number in held.items()}
    return found


def coverage_of_means(
    studies: int, resamples: int = 300, sizes: tuple[int, ...] = (5, 20), attributes: int = 10
) -> dict[str, object]:
    """The share of simulated regions of so many groups whose intervals of the means over groups, and of the
    share of groups that are pulled, hold the truth of all groups there could be."""
    true = truth(attributes, turned=TURNED, spread=SPREAD)
    found: dict[str, object] = {"studies": studies, "resamples": resamples, "attributes": attributes}
    place = pull.COLUMNS.index("x")
    for groups in sizes:
        held = dict.fromkeys(true, 0)
        for number in range(studies):
            rng = np.random.default_rng([number, groups])
            each = [
                drawn(rng, attributes, resamples, number * groups + group, rng.normal(TURNED, SPREAD))
                for group in range(groups)
            ]
            values = np.array([[*value, value[place] > 0] for value, _ in each])
            samples = np.stack([np.column_stack([one, one[:, place] > 0]) for _, one in each])
            means = pull.resampled_mean(samples, rng=generator(number, "bench"))
            intervals = percentile_intervals(means, values.mean(axis=0))
            for name, one in zip((*pull.COLUMNS, "pulled"), intervals, strict=True):
                held[name] += one.low <= true[name] <= one.high
        found[f"{groups} groups"] = {name: number / studies for name, number in held.items()}
    return found


def coverage_of_contrasts(
    studies: int, resamples: int = 300, sizes: tuple[int, ...] = (5, 20), attributes: int = 10
) -> dict[str, object]:
    """The share of simulated regions whose intervals of what they differ by from as many other groups, whose
    default images lean the other way no more than chance has it, hold the truth of all groups there could
    be."""
    names = ("x", "s_d_s", "s_d_ns")
    places = [pull.COLUMNS.index(name) for name in names]
    true = [truth(attributes, turned=turned, spread=SPREAD) for turned in (TURNED, 0.0)]
    found: dict[str, object] = {"studies": studies, "resamples": resamples, "attributes": attributes}
    for groups in sizes:
        held = dict.fromkeys(names, 0)
        for number in range(studies):
            rng, means, values = np.random.default_rng([number, groups, 3]), [], []
            draws = generator(number, "bench")
            for side, turned in enumerate((TURNED, 0.0)):
                each = [
                    drawn(
                        *(rng, attributes, resamples, (2 * number + side) * groups + group),
                        rng.normal(turned, SPREAD),
                    )
                    for group in range(groups)
                ]
                values.append(np.mean([value[places] for value, _ in each], axis=0))
                means.append(pull.resampled_mean(np.stack([one[:, places] for _, one in each]), rng=draws))
            for place, name in enumerate(names):
                one = differences.difference(
                    *(float(value[place]) for value in values),
                    first_samples=means[0][:, place],
                    second_samples=means[1][:, place],
                ).interval
                held[name] += one.low <= true[0][name] - true[1][name] <= one.high
        found[f"{groups} groups"] = {name: number / studies for name, number in held.items()}
    return found
