"""How often intervals hold the truth if they are widened by how much annotators differ who are not known.

    python -m benchmarks.coverage_sensitivity [--studies 1000]

Nobody is identified in the studies of benchmarks/simulated.py. Intervals of l_stereo are widened by
metrics/core/stats/sensitivity.py, with the true deviation of annotators and their true number.

Written to benchmarks/results/coverage-sensitivity.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.coverage import influences_of
from benchmarks.coverage_tables import Estimate, Study, Table, run, summaries
from benchmarks.simulated import Design, truth
from metrics.core.stats import clustered, sensitivity
from metrics.core.stats.scales import SHARE
from metrics.planning.simulation import STEREO, expit, study

_STEREO = (STEREO / STEREO.sum())[:, None]
DESIGNS = {
    "15 images, 12 people": Design(identified=False),
    "15 images, 12 people who differ much": Design(identified=False, of_people=1.5),
    "60 images, 30 people who differ much": Design(identified=False, of_people=1.5, images=60, people=30),
    "60 images, 12 people who differ much": Design(identified=False, of_people=1.5, images=60),
    "15 images, 5 people": Design(identified=False, people=5),
    "15 images, 5 people who differ much": Design(identified=False, of_people=1.5, people=5),
    "5 images, 12 people who differ much": Design(identified=False, of_people=1.5, images=5),
}


def deviation(design: Design) -> float:
    """The true deviation of annotators in logits of l_stereo: that of their chances over all images, over
    p (1 - p)."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(61)
    mass = mass / mass.sum()
    logit = design.logits[STEREO, None, None] + design.of_images * nodes[:, None] + design.of_people * nodes
    of_person = np.einsum("aip,i->ap", expit(logit), mass).mean(axis=0)
    p = of_person @ mass
    return float(np.sqrt((of_person - p) ** 2 @ mass) / (p * (1 - p)))


def measured(design: Design, *, studies: int, seed: int = 0, **_: Any) -> Table:
    """Of l_stereo, as it is and widened."""
    differ = deviation(design)

    def simulated() -> Iterator[Study]:
        for rng in np.random.default_rng([seed, design.images, design.people]).spawn(studies):
            side = study(
                design, rng, people=design.of_people * rng.normal(size=design.people), logits=design.logits
            )
            plain = influences_of(side).of(_STEREO)
            value = (side.k.sum(axis=0) / side.n.sum(axis=0))[STEREO].mean()
            wider = sensitivity.with_annotators([value], plain, deviation=differ, people=design.people)
            yield {
                name: [Estimate(float(value), clustered.intervals([value], each, SHARE)[0])]
                for name, each in (("l_stereo", plain), ("l_stereo, widened", wider))
            }

    true = truth(design)["l_stereo"]
    return summaries({"l_stereo": true, "l_stereo, widened": true}, simulated())


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-sensitivity.json", methods=["clustered"])


if __name__ == "__main__":
    main()
