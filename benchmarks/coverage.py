"""How often the 95 % intervals contain the true value, and how wide they are, in simulated studies.

    python -m benchmarks.coverage [--studies 1000] [--intervals clustered|bootstrap|both]

The studies are those of benchmarks/simulated.py; benchmarks/coverage_tables.py says what is measured.

Written to benchmarks/results/coverage.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import coverage_tables
from benchmarks.coverage_tables import Estimate, Table
from benchmarks.simulated import DESIGNS, RATINGS, SHIFT, STEREO, Design, pairs, truth
from metrics.agreement.stats import coefficients
from metrics.core.stats import bootstrap, differences, spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.differences import AnswerSet
from metrics.depiction import offensiveness, tendencies
from metrics.depiction.likelihood_influences import LikelihoodInfluences, likelihood_influences
from metrics.planning.stats import ratings

COMPARED = ("difference of l_stereo", "difference of l_random", "log ratio of theta", "difference of o")


def intervals(
    side: AnswerSet, *, resamples: int, rng: np.random.Generator, method: str = "bootstrap"
) -> dict[str, Estimate]:
    """Those of l_stereo, l_random, theta, O, the share of agreeing pairs, α and κ of one study."""
    k, n = side.k.sum(axis=0), side.n.sum(axis=0)
    likelihoods: Floats | LikelihoodInfluences
    selections = None
    if method == "clustered":
        likelihoods = influences_of(side)
    else:
        likelihoods, selections = bootstrap.resampled_likelihoods(
            side.k, side.n, side.images, side.annotators, resamples=resamples, rng=rng
        )
    found = tendencies.compute(k, n, STEREO, likelihoods)
    o, of_o, scale = offensiveness.compute(k, n, STEREO, RATINGS, likelihoods, selections)
    each = [*found.intervals(), *spread.intervals(of_o, [o.value], scale)]
    values = [*found.values.tolist(), o.value]
    estimates = {
        name: Estimate(value, interval)
        for name, value, interval in zip(("l_stereo", "l_random", "theta", "o"), values, each, strict=True)
    }
    way: dict[str, Any] = (
        {"clustered": True} if method == "clustered" else {"resamples": resamples, "rng": rng}
    )
    within = coefficients.within(ratings(side), [0, 1], level="nominal", **way)
    agreed = {"percentage": within.share, "alpha": within.alpha, "kappa": within.fleiss_kappa}
    return estimates | {
        name: Estimate(each.value, each.interval) for name, each in agreed.items() if within.pairs
    }


def influences_of(side: AnswerSet) -> LikelihoodInfluences:
    return likelihood_influences(
        side.k, side.n, answers=side.answers, images=side.images, annotators=side.annotators
    )


def compared(
    first: AnswerSet,
    second: AnswerSet,
    *,
    resamples: int,
    rng: np.random.Generator,
    method: str = "bootstrap",
) -> dict[str, differences.Difference]:
    """The differences of l_stereo, of l_random, of ln theta and of O."""
    drawn: Sequence[tuple[Floats | LikelihoodInfluences, Floats | None]]
    if method == "clustered":
        drawn = [(influences_of(side), None) for side in (first, second)]
    else:
        drawn = differences.paired_likelihoods(first, second, resamples=resamples, rng=rng)
    sides = []
    for side, (likelihoods, selections) in zip((first, second), drawn, strict=True):
        k, n = side.k.sum(axis=0), side.n.sum(axis=0)
        of_o = offensiveness.compute(k, n, STEREO, RATINGS, likelihoods, selections)
        sides.append((tendencies.compute(k, n, STEREO, likelihoods), *of_o))
    (one, o, of_one, scale), (two, other, of_two, other_scale) = sides
    apart = spread.difference([o.value], [other.value], (of_one, of_two), ([scale], [other_scale]))
    return dict(zip(COMPARED, [*tendencies.differences_of(one, two), *apart], strict=True))


def coverage(design: Design, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """Score -> share of simulated studies whose bootstrap interval contains the true value."""
    return coverage_tables.shares(
        measured(design, studies=studies, resamples=resamples, seed=seed, method="bootstrap")
    )


def everything(design: Design, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """`measured`, and what is found where nothing differs, in families of 20 groups."""
    way: dict[str, Any] = {"resamples": resamples, "seed": seed, "method": method}
    found = measured(design, studies=studies, **way)
    false = false_discoveries(design, families=max(1, studies // 8), groups=20, **way)
    return found | {f"nothing differs: {name}": {"found": share} for name, share in false.items()}


def measured(design: Design, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """Of the scores of simulated studies, and of their differences from those of a model whose stereotypes
    are less likely."""
    lower = design.logits - SHIFT * STEREO
    true, other = truth(design), truth(design, lower)
    for name in ("l_stereo", "l_random", "o"):
        true[f"difference of {name}"] = true[name] - other[name]
    true["log ratio of theta"] = float(np.log(true["theta"] / other["theta"]))
    found = []
    for first, second, rng in pairs(design, studies, shift=SHIFT, seed=seed):
        one = intervals(first, resamples=resamples, rng=rng, method=method)
        both = compared(first, second, resamples=resamples, rng=rng, method=method)
        one |= {name: Estimate(each.value, each.interval, each.p) for name, each in both.items()}
        found.append({name: [each] for name, each in one.items()})
    return coverage_tables.summaries(true, found, logarithmic=["theta"])


def false_discoveries(
    design: Design,
    *,
    families: int,
    groups: int,
    resamples: int,
    seed: int = 0,
    method: str = "bootstrap",
) -> dict[str, float]:
    """Two models that are the same, in families of `groups`: how often p is below 5 %, of each difference,
    and how often any q of l_stereo in a family is, which is the false discovery rate where nothing is there
    to be discovered."""
    found = [
        compared(first, second, resamples=resamples, rng=rng, method=method)
        for first, second, rng in pairs(design, families * groups, shift=0.0, seed=seed + 1)
    ]
    p: NDArray[Any] = np.array([[each[name].p for each in found] for name in COMPARED])
    q = np.array([differences.false_discovery(family) for family in p[0].reshape(families, groups)])
    with np.errstate(invalid="ignore"):
        below = [float((each < 0.05)[~np.isnan(each)].mean()) for each in p]
    return {
        **dict(zip(COMPARED, below, strict=True)),
        "any q": float((q < 0.05).any(axis=1).mean()),
    }


def main() -> None:
    coverage_tables.run(__doc__, everything, over=DESIGNS, results="coverage.json")


if __name__ == "__main__":
    main()
