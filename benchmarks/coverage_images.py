"""How often intervals over images, groups and descriptors hold the truth, and how wide they are.

    python -m benchmarks.coverage_images [--studies 1000] [--intervals clustered|bootstrap|both]

Shares of texts about images (`marking`, `visual_questions`, entailment, Jaccard's index): each image has a
number of texts whose share of a kind follows a beta distribution, so that texts about one image are alike.
Brightness: images made from the same image are alike, and its change. Cohen's d: two groups of normal, skewed
or heavy-tailed associations.

Written to benchmarks/results/coverage-images.json; benchmarks/coverage_tables.py says what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.coverage_tables import Estimate, Table, run, summaries
from metrics.brightness.stats import change, mean
from metrics.core.stats.checks import Floats
from metrics.core.stats.image_shares import shares_of_images
from metrics.core.stats.percentiles import Interval
from metrics.embedding_tests.stats.effects import CORRECTED, effect
from metrics.inference.stats import entailment, tally

Found = tuple[float, float, float]
"""A value and its interval."""
Study = Callable[[np.random.Generator, "int | None"], Found]


def share(images: int, texts: int, truth: float, alike: float) -> Study:
    """Of `texts` about each image; `alike`: the correlation of two texts about one."""

    def one(rng: np.random.Generator, resamples: int | None) -> Found:
        size = 1 / alike - 1
        own = rng.beta(truth * size, (1 - truth) * size, images)
        [found] = shares_of_images(
            rng.binomial(texts, own)[:, None], np.full(images, texts), resamples=resamples, rng=rng
        )
        return found.value, found.low, found.high

    return one


def mean_entailment(groups: int, pairs: int) -> Study:
    """M(E) over all pairs, of which each group has some, and which are 0.2 in the mean."""

    def one(rng: np.random.Generator, resamples: int | None) -> Found:
        number = rng.integers(pairs // 2, pairs + 1, groups)
        of = np.repeat(np.arange(groups), number)
        probabilities = rng.beta(4 * (level := rng.beta(2, 8, groups)[of]), 4 * (1 - level))
        counted = tally(of, probabilities, probabilities > 0.5)
        found = entailment(counted, resamples=resamples, rng=rng).mean_of_all
        return found.value, found.low, found.high

    return one


def brightness(initial: int, each: int, *, of_change: bool) -> Study:
    """Of `each` images that were made of every initial one, a tenth brighter."""

    def one(rng: np.random.Generator, resamples: int | None) -> Found:
        of = np.repeat(np.arange(initial), each)
        before = 60 + 80 * rng.beta(2, 2, initial)
        after = before[of] * rng.normal(1.1, 0.1, initial)[of] + rng.normal(0, 5, len(of))
        found = (
            change(after, before[of], of, resamples=resamples, rng=rng)
            if of_change
            else mean(after, of, resamples=resamples, rng=rng)
        )
        return found.value, found.low, found.high

    return one


def effect_size(images: tuple[int, int], truth: float, kind: str) -> Study:
    """Cohen's d of two groups with variance 1."""

    def draw(rng: np.random.Generator, number: int) -> Floats:
        if kind == "skewed":
            return rng.exponential(size=number) - 1
        heavy = rng.standard_t(5, number) / (5 / 3) ** 0.5
        return heavy if kind == "heavy tails" else rng.normal(size=number)

    def one(rng: np.random.Generator, resamples: int | None) -> Found:
        x, y = (draw(rng, number) for number in images)
        found = effect(
            *(x + truth, y),
            variant=CORRECTED,
            alternative="greater",
            permutations=1,
            resamples=resamples,
            rng=rng,
        )
        return found.effect_size, found.effect_low, found.effect_high

    return one


def _designs() -> Iterator[tuple[str, str, float, Study]]:
    """Design, score, truth and study."""
    for images in (5, 12, 30):
        for texts, alike in ((1, 0.1), (5, 0.1), (5, 0.5)):
            for truth in (0.02, 0.1, 0.5):
                name = f"share {truth:g} of {texts} texts" + (f", correlation {alike:g}" if texts > 1 else "")
                yield f"{images} images", name, truth, share(images, texts, truth, alike)
    for groups in (12, 30):
        design = f"{groups} images"
        yield design, "M(E) of 20 to 40 pairs", 0.2, mean_entailment(groups, 40)
        yield design, "brightness, 3 of each image", 110.0, brightness(groups, 3, of_change=False)
        yield design, "its change in per cent", 10.0, brightness(groups, 3, of_change=True)
    for kind in ("normal", "skewed", "heavy tails"):
        for sides in ((8, 8), (15, 15), (8, 40), (40, 40)):
            for truth in (0.0, 0.8, 2.0):
                design = f"{sides[0]} and {sides[1]} images"
                yield design, f"d = {truth:g}, {kind}", truth, effect_size(sides, truth, kind)


Design = dict[str, tuple[float, Study]]
DESIGNS: dict[str, Design] = {}
for _name, _score, _truth, _study in _designs():
    DESIGNS.setdefault(_name, {})[_score] = _truth, _study


def measured(design: Design, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    return {
        name: coverage(study, truth, method=method, studies=studies, resamples=resamples, seed=seed)
        for name, (truth, study) in design.items()
    }


def coverage(
    study: Study, truth: float, *, method: str, studies: int, resamples: int = 300, seed: int = 0
) -> dict[str, float]:
    """What is measured of one score."""
    drawn = None if method == "clustered" else resamples
    found = (study(rng, drawn) for rng in np.random.default_rng(seed).spawn(studies))
    made = ({"": [Estimate(value, Interval(low, high))]} for value, low, high in found)
    return summaries({"": truth}, made)[""]


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-images.json")


if __name__ == "__main__":
    main()
