"""How often the 95 % intervals contain the true value, and how wide they are, in simulated studies.

    python -m benchmarks.coverage [--studies 400] [--resamples 300] [--intervals clustered|bootstrap|both]

Widths are compared with those of an oracle that knows the standard deviation of the estimate, and its z-test
with p (benchmarks/coverage_tables.py). The studies are those of benchmarks/simulated.py.

Written to benchmarks/results/coverage.json; docs/statistics.md has the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_tables import Estimate, Table, arguments, as_table, print_columns, summary
from benchmarks.simulated import DESIGNS, RATINGS, SHIFT, STEREO, Design, pairs, truth
from metrics.agreement.stats import coefficients
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats import bootstrap, differences, spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.clustered import NONE
from metrics.core.stats.differences import AnswerSet
from metrics.depiction import offensiveness, tendencies
from metrics.depiction.likelihood_influences import LikelihoodInfluences, likelihood_influences

RESULTS = Path(__file__).resolve().parent / "results" / "coverage.json"
COMPARED = ("difference of l_stereo", "difference of l_random", "log ratio of theta")


def intervals(
    side: AnswerSet, *, resamples: int, rng: np.random.Generator, method: str = "bootstrap"
) -> dict[str, Estimate]:
    """Those of l_stereo, l_random, theta and O of one study; of the bootstrap also those of the share of
    agreeing pairs, α and κ."""
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
        name: Estimate(value, interval or NONE)
        for name, value, interval in zip(("l_stereo", "l_random", "theta", "o"), values, each, strict=True)
    }
    return estimates if method == "clustered" else estimates | agreement(side, resamples=resamples, rng=rng)


def influences_of(side: AnswerSet) -> LikelihoodInfluences:
    return likelihood_influences(
        side.k, side.n, answers=side.answers, images=side.images, annotators=side.annotators
    )


def agreement(side: AnswerSet, *, resamples: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """The share of agreeing pairs, α and κ, with bootstrap intervals."""
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
        name: Estimate(each.value, each.interval)
        for name, each in agreed.items()
        if each.interval is not None
    }


def compared(
    first: AnswerSet,
    second: AnswerSet,
    *,
    resamples: int,
    rng: np.random.Generator,
    method: str = "bootstrap",
) -> dict[str, differences.Difference]:
    """The differences of l_stereo, of l_random and of ln theta."""
    sides = (first, second)
    likelihoods: list[Floats | LikelihoodInfluences]
    if method == "clustered":
        likelihoods = [influences_of(side) for side in sides]
    else:
        drawn = differences.paired_likelihoods(first, second, resamples=resamples, rng=rng)
        likelihoods = [values for values, _ in drawn]
    one, two = (
        tendencies.compute(side.k.sum(axis=0), side.n.sum(axis=0), STEREO, each)
        for side, each in zip(sides, likelihoods, strict=True)
    )
    return dict(zip(COMPARED, tendencies.differences_of(one, two), strict=True))


def coverage(design: Design, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """Score -> share of simulated studies whose bootstrap interval contains the true value."""
    found = measured(design, studies=studies, resamples=resamples, seed=seed, method="bootstrap")
    return {name: row["coverage"] for name, row in found.items() if "coverage" in row}


def measured(design: Design, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """`coverage_tables.summary` of the scores of simulated studies and of their differences from those of a
    model whose stereotypes are less likely."""
    lower = design.logits - SHIFT * STEREO
    true, other = truth(design), truth(design, lower)
    for name in ("l_stereo", "l_random"):
        true[f"difference of {name}"] = true[name] - other[name]
    true["log ratio of theta"] = float(np.log(true["theta"] / other["theta"]))
    found = []
    for first, second, rng in pairs(design, studies, shift=SHIFT, seed=seed):
        one = intervals(first, resamples=resamples, rng=rng, method=method)
        both = compared(first, second, resamples=resamples, rng=rng, method=method)
        one |= {name: Estimate(each.value, each.interval, each.p) for name, each in both.items()}
        found.append({name: [each] for name, each in one.items()})
    return summary(found, {name: np.array([value]) for name, value in true.items()}, logarithmic=["theta"])


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
    and how often any q of a family is, which is the false discovery rate where nothing is there
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
        "p below 5 %": below[0],
        **{f"p of {name} below 5 %": share for name, share in zip(COMPARED[1:], below[1:], strict=True)},
        "any q below 5 %": float((q < 0.05).any(axis=1).mean()),
    }


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
    options = arguments(__doc__)
    size: dict[str, int] = {"resamples": options.resamples}
    result: dict[str, Any] = {"studies": options.studies, **size}
    for method in options.methods:
        table = {
            name: measured(design, studies=options.studies, method=method, **size)
            for name, design in DESIGNS.items()
        }
        print_columns(table, method)
        families = max(1, options.studies // 8)
        false = {
            name: false_discoveries(design, families=families, groups=20, method=method, **size)
            for name, design in DESIGNS.items()
        }
        print(f"\n{method}: where nothing differs\n{as_table(false)}", flush=True)
        result[method] = {"scores": table, "false_discoveries": false}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
