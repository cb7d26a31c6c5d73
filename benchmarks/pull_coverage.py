"""How often the intervals of pull hold what was planted, and how wide they are (benchmarks/pull.py)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from metrics.core.stats import spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE
from metrics.core.stats.spread import Spread
from metrics.pull.stats import pull
from metrics.pull.stats.influences import SCALES, mean_influences, pull_influences
from metrics.pull.stats.paired import ImageVectors, paired_resampled

Sides = tuple[Floats, Floats, Floats]
IMAGES = 15
_COMPARED = ("x", "s_d_s", "s_d_ns")
_PLACES = [pull.COLUMNS.index(name) for name in _COMPARED]
_X = pull.COLUMNS.index("x")
ALONG = (0.8, 0.7, 0.4)
"""How far the default, the stereotypical and the other images lean to what they have in common."""
TURNED, SPREAD = np.radians(50), np.radians(20)
"""By what angle the default images of a group lean to the other side: mean and standard deviation."""


def planted(rng: np.random.Generator, mean: np.ndarray, strength: float, attributes: int) -> np.ndarray:
    """Unit vectors whose expectation is `strength` times the unit vector `mean`: what is left of their length
    points in directions without a mean, half of it the same for all images of an attribute."""

    def across(*number: int) -> np.ndarray:
        vectors = rng.normal(size=(*number, len(mean)))
        vectors -= (vectors @ mean)[..., None] * mean
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

    shared, own = across(attributes, 1), across(attributes, IMAGES)
    own -= (own * shared).sum(axis=-1, keepdims=True) * shared
    rest = np.sqrt(0.5) * (shared + own / np.linalg.norm(own, axis=-1, keepdims=True))
    return (strength * mean + np.sqrt(1 - strength**2) * rest).reshape(-1, len(mean))


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


def pictures(rng: np.random.Generator, attributes: int, angle: float = 0.0) -> Sides:
    """The vectors of the three sets of one planted group."""
    default, first, second = axes(angle)
    return (
        planted(rng, default, ALONG[0], IMAGES)[::IMAGES],  # an image of each
        planted(rng, first, ALONG[1], attributes),
        planted(rng, second, ALONG[2], attributes),
    )


Found = tuple[Floats, Spread]


def drawn(
    rng: np.random.Generator, sides: Sequence[Sides], attributes: int, intervals: str, resamples: int
) -> list[Found]:
    """The numbers of a planted group on each side, whose prompts are the same, with their influences or
    resamples. Of the default set each image is a cluster, as if it shared nothing with the others but their
    one prompt."""
    of = np.arange(attributes * IMAGES) // IMAGES
    labelled = [
        [
            ImageVectors(vectors, prompts, side * 10_000 + np.arange(len(vectors)))
            for vectors, prompts in zip(each, (np.zeros(IMAGES), of, of), strict=True)
        ]
        for side, each in enumerate(sides)
    ]
    seed = np.random.default_rng(int(rng.integers(2**60)))
    if intervals == "clustered":
        spreads: list[Spread] = [pull_influences("group", each) for each in labelled]
    elif len(sides) == 1:
        spreads = [
            pull.resampled(*sides[0], prompts=(of[:IMAGES] * 0, of, of), resamples=resamples, rng=seed)
        ]
    else:
        spreads = [*paired_resampled(*labelled, resamples=resamples, rng=seed)]
    points = [pull.pull(*each) for each in sides]
    values = [np.array([getattr(point, name) for name in pull.COLUMNS]) for point in points]
    return [(value[: _columns(each)], each) for value, each in zip(values, spreads, strict=True)]


def _columns(found: Spread) -> int:
    return len(found.step) if isinstance(found, Influences) else found.shape[1]


class Tally:
    """Whether intervals held the truth, how wide they were, and the estimates, of many studies."""

    def __init__(self, names: Sequence[str], truth: Sequence[float]) -> None:
        self.names, self.truth = names, np.array(truth)
        self.held: list[Floats] = []
        self.widths: list[Floats] = []
        self.values: list[Floats] = []
        self.rejected: list[Floats] = []

    def add(self, values: Sequence[float], found: Sequence[Interval | None], p: Sequence[float] = ()) -> None:
        ends = np.array([(np.nan, np.nan) if one is None else (one.low, one.high) for one in found])
        self.held.append((ends[:, 0] <= self.truth) & (self.truth <= ends[:, 1]))
        self.widths.append(ends[:, 1] - ends[:, 0])
        self.values.append(np.array(values))
        self.rejected.append(np.array(p) < 0.05)

    def figures(self) -> dict[str, object]:
        oracle = 2 * NormalDist().inv_cdf(0.975) * np.std(self.values, axis=0, ddof=1)
        widths = np.mean(self.widths, axis=0) / oracle
        found: dict[str, object] = {
            "held": dict(zip(self.names, np.mean(self.held, axis=0).tolist(), strict=True)),
            "width over the oracle's": dict(zip(self.names, widths.tolist(), strict=True)),
        }
        if len(self.rejected[0]):
            shares = np.mean(self.rejected, axis=0).tolist()
            found["p below 0.05"] = dict(zip(self.names, shares, strict=True))
        return found


def coverage(
    groups: int, intervals: str, resamples: int = 400, sizes: tuple[int, ...] = (3, 10, 15, 30)
) -> dict[str, object]:
    """Of the numbers of single groups, by number of attributes of each kind."""
    found: dict[str, object] = {}
    for attributes in sizes:
        true = truth(attributes)
        tally = Tally(list(true), list(true.values()))
        for number in range(groups):
            rng = np.random.default_rng([number, attributes])
            ((values, of_group),) = drawn(rng, [pictures(rng, attributes)], attributes, intervals, resamples)
            tally.add(values.tolist(), spread.intervals(of_group, values, SCALES))
        found[f"{attributes} attributes"] = tally.figures()
    return found


def coverage_of_differences(
    groups: int, intervals: str, resamples: int = 300, sizes: tuple[int, ...] = (3, 10, 15, 30)
) -> dict[str, object]:
    """Of what two models differ by, which were given the same prompts: the default images of the second are
    turned, or nothing differs."""
    found: dict[str, object] = {}
    for attributes in sizes:
        for label, turned in ((f"{attributes} attributes", TURNED), (f"{attributes}, nothing differs", 0.0)):
            ones, others = truth(attributes), truth(attributes, turned=turned)
            tally = Tally(_COMPARED, [ones[name] - others[name] for name in _COMPARED])
            for number in range(groups):
                rng = np.random.default_rng([number, attributes, 2])
                sides = [pictures(rng, attributes), pictures(rng, attributes, turned)]
                _compare(tally, *drawn(rng, sides, attributes, intervals, resamples))
            found[label] = tally.figures()
    return found


def coverage_of_means(
    studies: int,
    intervals: str,
    resamples: int = 300,
    sizes: tuple[int, ...] = (5, 12, 20),
    attributes: int = 10,
) -> dict[str, object]:
    """Of the means over the groups of a region, and of the share of groups that are pulled; the truth is that
    of all groups there could be."""
    true = truth(attributes, turned=TURNED, spread=SPREAD)
    found: dict[str, object] = {}
    for groups in sizes:
        tally = Tally(list(true), list(true.values()))
        for number in range(studies):
            rng = np.random.default_rng([number, groups])
            values, of_mean = _region(rng, groups, TURNED, attributes, intervals, resamples)
            tally.add(values.tolist(), spread.intervals(of_mean, values, (*SCALES, SHARE)))
        found[f"{groups} groups"] = tally.figures()
    return found


def coverage_of_contrasts(
    studies: int,
    intervals: str,
    resamples: int = 300,
    sizes: tuple[int, ...] = (5, 12, 20),
    attributes: int = 10,
) -> dict[str, object]:
    """Of what a region differs by from as many other groups, whose default images lean the other way, or
    lean as far."""
    found: dict[str, object] = {}
    for groups in sizes:
        for label, turned in ((f"{groups} groups", 0.0), (f"{groups}, nothing differs", TURNED)):
            one, other = (truth(attributes, turned=each, spread=SPREAD) for each in (TURNED, turned))
            tally = Tally(_COMPARED, [one[name] - other[name] for name in _COMPARED])
            for number in range(studies):
                rng = np.random.default_rng([number, groups, 3])
                sides = [
                    _region(rng, groups, each, attributes, intervals, resamples, side)
                    for side, each in zip("ab", (TURNED, turned), strict=True)
                ]
                _compare(tally, *sides)
            found[label] = tally.figures()
    return found


def _region(
    rng: np.random.Generator,
    groups: int,
    turned: float,
    attributes: int,
    intervals: str,
    resamples: int,
    name: str = "",
) -> Found:
    """The means over planted groups, and the share that is pulled."""
    each = []
    for _ in range(groups):
        sides = [pictures(rng, attributes, rng.normal(turned, SPREAD))]
        if intervals == "clustered":
            point = pull.pull(*sides[0])
            each.append((np.array([getattr(point, one) for one in pull.COLUMNS]), np.zeros((0, 8))))
        else:
            each.append(drawn(rng, sides, attributes, intervals, resamples)[0])
    values = np.array([[*value, value[_X] > 0] for value, _ in each])
    if intervals == "clustered":
        labels = [f"{name}{number}" for number in range(groups)]
        return values.mean(axis=0), mean_influences(labels, values)
    stacked = np.stack([np.column_stack([one, one[:, _X] > 0]) for _, one in each])
    return values.mean(axis=0), pull.resampled_mean(stacked, rng=np.random.default_rng(rng.integers(2**60)))


def _compare(tally: Tally, first: Found, second: Found) -> None:
    one, other = ((values[_PLACES], spread.columns(found, _PLACES)) for values, found in (first, second))
    apart = spread.difference(one[0], other[0], (one[1], other[1]))
    tally.add([each.value for each in apart], [each.interval for each in apart], [each.p for each in apart])
