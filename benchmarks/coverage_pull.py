"""How often the 95 % intervals of pull hold what was planted, and how wide they are.

    python -m benchmarks.coverage_pull [--studies 1000] [--intervals clustered|bootstrap|both]

The images of a group are unit vectors whose mean is planted, so that the similarities of the three sets are
known. Groups of a region have default images that are turned by an angle of their own, normal.

Written to benchmarks/results/coverage-pull.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from benchmarks.coverage_tables import Estimate, Study, Table, run, summaries
from metrics.core.stats import spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
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


@dataclass(frozen=True)
class Design:
    """The numbers of a group with so many attributes of each kind, or means over so many `groups` of a
    region; or by how much they differ from those of another model or region, whose default images are turned
    by the angle `other`."""

    attributes: int = 10
    groups: int | None = None
    other: float | None = None

    @property
    def turned(self) -> float:
        return 0.0 if self.groups is None else TURNED

    @property
    def kind(self) -> int:
        """A number of what is measured, of which the studies depend."""
        if self.other is None:
            return 0
        return 2 if self.groups is None else 3

    def truth(self) -> dict[str, float]:
        spread = 0.0 if self.groups is None else SPREAD
        found = truth(self.attributes, turned=self.turned, spread=spread)
        if self.other is None:
            return found
        other = truth(self.attributes, turned=self.other, spread=spread)
        return {name: found[name] - other[name] for name in _COMPARED}


def _designs() -> Iterator[tuple[str, Design]]:
    for attributes in (3, 10, 15, 30):
        one = f"{attributes} attributes"
        yield one, Design(attributes)
        yield f"two models, {one}", Design(attributes, other=TURNED)
        yield f"two models, {one}, nothing differs", Design(attributes, other=0.0)
    for groups in (5, 12, 20):
        yield f"means over {groups} groups", Design(groups=groups)
        yield f"{groups} groups against others", Design(groups=groups, other=0.0)
        yield f"{groups} groups against others, nothing differs", Design(groups=groups, other=TURNED)


DESIGNS = dict(_designs())


def measured(design: Design, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """Of the numbers, of the share of groups that are pulled, or of differences."""
    true = design.truth()
    size = (design.attributes, method, resamples)

    def simulated() -> Iterator[Study]:
        for number in range(studies):
            rng = np.random.default_rng([number, design.groups or design.attributes, design.kind, seed])
            angles = [design.turned] if design.other is None else [design.turned, design.other]
            if design.groups is None:
                sides = drawn(rng, [pictures(rng, design.attributes, each) for each in angles], *size)
            else:
                sides = [
                    _region(rng, design.groups, each, *size, name)
                    for name, each in zip("ab", angles, strict=False)
                ]
            yield _compared(*sides) if len(sides) > 1 else _alone([*true], *sides[0])

    return summaries(true, simulated())


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
        return values.mean(axis=0), mean_influences(labels, values, [*SCALES, SHARE])
    stacked = np.stack([np.column_stack([one, one[:, _X] > 0]) for _, one in each])
    return values.mean(axis=0), pull.resampled_mean(stacked, rng=np.random.default_rng(rng.integers(2**60)))


def _alone(names: Sequence[str], values: Floats, found: Spread) -> Study:
    intervals = spread.intervals(found, values, (*SCALES, SHARE)[: len(names)])
    return {
        name: [Estimate(value, interval)]
        for name, value, interval in zip(names, values.tolist(), intervals, strict=True)
    }


def _compared(first: Found, second: Found) -> Study:
    one, other = ((values[_PLACES], spread.columns(found, _PLACES)) for values, found in (first, second))
    apart = spread.difference(one[0], other[0], (one[1], other[1]))
    return {
        name: [Estimate(each.value, each.interval, each.p)]
        for name, each in zip(_COMPARED, apart, strict=True)
    }


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-pull.json")


if __name__ == "__main__":
    main()
