"""How often the 95 % intervals contain the true value, in simulated studies.

    python -m benchmarks.coverage [--studies 400] [--resamples 400]

Whether an annotator selects an attribute of an image is a coin whose logit is the attribute's own, plus a
normal effect of the image (for that attribute) and of the annotator. The truth is over all images and
annotators there could be, by Gauss-Hermite quadrature. A simulated study is one identity group, with six
stereotypical attributes and six others; the two models that are compared have images of their own and are
judged by the same people. Under the null both are the same in every group: whatever is found is false.

Written to benchmarks/results/coverage.json; docs/statistics.md has the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.agreement.stats import coefficients
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats import bootstrap, differences, percentiles
from metrics.core.stats.checks import Floats
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.percentiles import Interval
from metrics.depiction import stats

RESULTS = Path(__file__).resolve().parent / "results" / "coverage.json"
STEREO = np.arange(12) < 6
LOGITS = np.array([-1.5, -1.0, -0.5, -1.5, -1.0, -0.5, -2.0, -2.5, -1.5, -2.0, -2.5, -1.5])
RATINGS = np.array([1.0, 2.0, -1.0, 3.0, 0.0, 1.0])
SHIFT = 0.5  # by how much the second model's stereotypes are less likely, in logits


@dataclass(frozen=True)
class Design:
    """So many images, each judged by `overlap` of `people`; standard deviations of the effects in logits."""

    images: int = 15
    people: int = 12
    overlap: int = 3
    of_images: float = 1.0
    of_people: float = 0.5
    identified: bool = True


DESIGNS = {
    "as ViSAGe: 15 images, 12 people": Design(),
    "60 images, 30 people": Design(images=60, people=30),
    "people differ much": Design(of_people=1.5),
    "neither images nor people differ": Design(of_images=0.0, of_people=0.0),
    "people not identified": Design(identified=False),
    "people not identified, differ much": Design(identified=False, of_people=1.5),
}


def truth(design: Design, logits: Floats = LOGITS) -> dict[str, float]:
    """The true values under `design`."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(41)
    mass = mass / mass.sum()
    # given the image, over people; then over images
    logit = logits[:, None, None] + design.of_images * nodes[:, None] + design.of_people * nodes
    given = (1 / (1 + np.exp(-logit))) @ mass
    chosen = given @ mass
    apart = (2 * given * (1 - given)) @ mass
    mean = chosen.mean()
    stereo, random = chosen[STEREO].mean(), chosen[~STEREO].mean()
    return {
        "l_stereo": stereo,
        "l_random": random,
        "theta": stereo / random,
        "o": stereo * RATINGS.mean(),
        "percentage": 1 - apart.mean(),
        # of endless ratings alpha and kappa are the same number
        **dict.fromkeys(("alpha", "kappa"), 1 - apart.mean() / (2 * mean * (1 - mean))),
    }


def study(
    design: Design, rng: np.random.Generator, *, people: Floats, logits: Floats = LOGITS, first_image: int = 0
) -> AnswerSet:
    """The answers of one simulated study: `people` are the effects of those who judge."""
    of_images = design.of_images * rng.normal(size=(design.images, len(logits)))
    return judged(design, rng, logits + of_images, people=people, first_image=first_image)


def judged(
    design: Design,
    rng: np.random.Generator,
    seen: Floats,
    *,
    people: Floats,
    first_image: int = 0,
    first_person: int = 0,
) -> AnswerSet:
    """What `people` answer of images of which an attribute is `seen` (I, A) by so many logits."""
    attributes = seen.shape[1]
    who = np.array([rng.permutation(len(people))[: design.overlap] for _ in range(design.images)])
    logit = seen[:, None, :] + people[who][:, :, None]
    chosen = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).reshape(-1, attributes).astype(np.int64)
    images = first_image + np.repeat(np.arange(design.images), design.overlap)
    nobody = -1 - first_image - first_person - np.arange(len(chosen))
    annotators = first_person + who.ravel() if design.identified else nobody
    return AnswerSet(chosen, np.ones_like(chosen), np.arange(len(chosen)), images, annotators)


def intervals(side: AnswerSet, *, resamples: int, rng: np.random.Generator) -> dict[str, Interval]:
    """Those of l_stereo, l_random, theta, O, the share of agreeing pairs, α and κ of one study."""
    k, n = side.k.sum(axis=0), side.n.sum(axis=0)
    likelihoods, chosen = bootstrap.resampled_likelihoods(
        side.k, side.n, side.images, side.annotators, resamples=resamples, rng=rng
    )
    point = stats.tendency(k, n, STEREO)
    stereo, random = (stats.mean_over(likelihoods, which) for which in (STEREO, ~STEREO))
    o = stats.offensiveness(point.l_stereo, k[STEREO], RATINGS).value
    samples = [stereo, random, stats.ratio(stereo, random)]
    samples.append(stats.resampled_offensiveness(stereo, chosen[:, STEREO], RATINGS))
    values = [point.l_stereo, point.l_random, point.theta, o]
    found = percentiles.percentile_intervals(np.column_stack(samples), values)
    attributes = side.k.shape[1]
    units = np.add.outer(side.images * attributes, np.arange(attributes)).ravel()
    order = np.argsort(units, kind="stable")
    table = Ratings(
        np.eye(2, dtype=np.int64)[side.k.ravel()][order],
        units=units[order],
        clusters=units[order] // attributes,
        raters=np.repeat(np.maximum(side.annotators, -1), attributes)[order],
    )
    within = coefficients.within(table, [0, 1], level="nominal", resamples=resamples, rng=rng)
    agreed = {"percentage": within.share, "alpha": within.alpha, "kappa": within.fleiss_kappa}
    return {
        **dict(zip(("l_stereo", "l_random", "theta", "o"), found, strict=True)),
        **{name: each.interval for name, each in agreed.items() if each.interval is not None},
    }


def compared(
    first: AnswerSet, second: AnswerSet, *, resamples: int, rng: np.random.Generator
) -> dict[str, differences.Difference]:
    """The differences of l_stereo, of l_random and of ln theta."""
    drawn = differences.paired_likelihoods(first, second, resamples=resamples, rng=rng)
    points = [stats.tendency(side.k.sum(axis=0), side.n.sum(axis=0), STEREO) for side in (first, second)]
    stereo, random = ([stats.mean_over(one, which) for one, _ in drawn] for which in (STEREO, ~STEREO))
    theta = [stats.ratio(*each) for each in zip(stereo, random, strict=True)]
    return {
        "difference of l_stereo": differences.difference(
            points[0].l_stereo, points[1].l_stereo, first_samples=stereo[0], second_samples=stereo[1]
        ),
        "difference of l_random": differences.difference(
            points[0].l_random, points[1].l_random, first_samples=random[0], second_samples=random[1]
        ),
        "log ratio of theta": differences.log_ratio(
            points[0].theta, points[1].theta, first_samples=theta[0], second_samples=theta[1]
        ),
    }


def pairs(
    design: Design, number: int, *, shift: float, seed: int
) -> Iterator[tuple[AnswerSet, AnswerSet, np.random.Generator]]:
    """So many pairs of studies, one of each model, judged by the same people."""
    lower = LOGITS - shift * STEREO
    for rng in np.random.default_rng([seed, design.images, design.people]).spawn(number):
        people = design.of_people * rng.normal(size=design.people)
        first = study(design, rng, people=people)
        yield first, study(design, rng, people=people, logits=lower, first_image=1000), rng


def coverage(design: Design, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """Score -> share of simulated studies whose interval contains the true value."""
    true, other = truth(design), truth(design, LOGITS - SHIFT * STEREO)
    for name in ("l_stereo", "l_random"):
        true[f"difference of {name}"] = true[name] - other[name]
    true["log ratio of theta"] = float(np.log(true["theta"] / other["theta"]))
    held: dict[str, list[bool]] = {}
    for first, second, rng in pairs(design, studies, shift=SHIFT, seed=seed):
        found = intervals(first, resamples=resamples, rng=rng)
        both = compared(first, second, resamples=resamples, rng=rng)
        found |= {name: each.interval for name, each in both.items()}
        for name, each in found.items():
            held.setdefault(name, []).append(each.low <= true[name] <= each.high)
    return {name: float(np.mean(values)) for name, values in held.items()}


def false_discoveries(
    design: Design, *, families: int, groups: int, resamples: int, seed: int = 0
) -> dict[str, float]:
    """Two models that are the same, in families of `groups`: how often p is below 5 %, and how often any q of
    a family is, which is the false discovery rate where nothing is there to be discovered."""
    p: NDArray[Any] = np.array(
        [
            compared(first, second, resamples=resamples, rng=rng)["difference of l_stereo"].p
            for first, second, rng in pairs(design, families * groups, shift=0.0, seed=seed + 1)
        ]
    ).reshape(families, groups)
    q = np.array([differences.false_discovery(family) for family in p])
    return {"p below 5 %": float((p < 0.05).mean()), "any q below 5 %": float((q < 0.05).any(axis=1).mean())}


def as_table(found: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(found.values())))
    lines = [f"| design | {' | '.join(names)} |", "| --- |" + " --: |" * len(names)]
    for design, row in found.items():
        lines.append(f"| {design} | " + " | ".join(f"{100 * row[name]:.1f}" for name in names) + " |")
    return "\n".join(lines)


def simulate(
    about: str, coverage: Callable[..., dict[str, float]], *, over: Mapping[str, Any], results: str
) -> None:
    """What the simulations beside this one do when they are run: `coverage` of each of the designs `over`,
    as many studies and resamples as the command line says, as a table and in a file of `results`.

    `about`: the docstring of who asks."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    options = parser.parse_args()
    size: dict[str, int] = {"studies": options.studies, "resamples": options.resamples}
    found = {name: coverage(design, **size) for name, design in over.items()}
    print(as_table(found))
    text = json.dumps({**size, "coverage": found}, indent=1) + "\n"
    RESULTS.with_name(results).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=400)
    options = parser.parse_args()
    size: dict[str, int] = {"resamples": options.resamples}
    held = {name: coverage(design, studies=options.studies, **size) for name, design in DESIGNS.items()}
    print(as_table(held), flush=True)
    false = {
        name: false_discoveries(design, families=max(1, options.studies // 8), groups=20, **size)
        for name, design in DESIGNS.items()
    }
    print(as_table(false))
    result = {"studies": options.studies, **size, "coverage": held, "false_discoveries": false}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
