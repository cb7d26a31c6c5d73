"""How often the test that all studies of a league are equal errs, and how often their places hold.

    python -m benchmarks.coverage_league_answers --studies 200 [--designs "3 studies, the same people" ...]

So many studies ask three of twelve people about each of the same 100 associations, 20 of each of five
identity groups, once all alike, once with shifts of the answers from -0.5 to 0.5 beside them. Associations
and people differ as in benchmarks/simulated_shares.py; the people are the same in all studies, or others in
each.
Measured is what benchmarks/coverage_league.py measures of models: of the mean share of associations that two
of the three call stereotypes, of the mean rating over the groups, of the mean rating over the associations as
if they were attributes of no group, and of the p of the rating of one of these.

Written to benchmarks/results/coverage-league-answers.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.coverage_league import Scores, leagues
from benchmarks.coverage_tables import Table, run
from benchmarks.simulated_shares import EACH, MIDDLE, RATINGS, rated
from metrics.core.stats.checks import Floats
from metrics.core.stats.scales import SHARE
from metrics.league import stats
from metrics.league.stats import Number

APART = 0.5
GROUPS = 5
_ATTRIBUTE = "one attribute"


@dataclass(frozen=True)
class Studies:
    """So many studies; standard deviations of the effects of associations and of people, in logits or points
    of the scale."""

    number: int
    people: int = 12
    items: int = 20
    of_items: float = 1.0
    of_people: float = 0.5
    same_people: bool = True
    identified: bool = True


DESIGNS = {
    "2 studies, the same people": Studies(2),
    "3 studies, the same people": Studies(3),
    "6 studies, the same people": Studies(6),
    "3 studies, people differ much": Studies(3, of_people=1.5),
    "3 studies, other people each": Studies(3, same_people=False),
    "3 studies, other people each, who differ much": Studies(3, of_people=1.5, same_people=False),
    "3 studies, people not identified": Studies(3, identified=False),
    "3 studies, 5 associations of a group": Studies(3, items=5),
}


def scores(design: Studies, shifts: Floats, rng: np.random.Generator) -> Scores:
    """Of each score the values of all studies, and the influences on them; `shifts` (M,)."""
    number = design.items * GROUPS
    of_items = design.of_items * rng.normal(size=number)
    of_people = design.of_people * rng.normal(size=design.people)
    found: dict[str, list[Number]] = {}
    for study, shift in enumerate(shifts.tolist()):
        if not design.same_people:
            of_people = design.of_people * rng.normal(size=design.people)
        who = np.argsort(rng.random((number, design.people)), axis=1)[:, :EACH]
        effect = shift + of_items[:, None] + of_people[who]
        labels = (rng.random(who.shape) > 1 / (1 + np.exp(-MIDDLE - effect))).astype(np.int64)
        values = rated(effect + rng.normal(size=who.shape))
        people = who + (0 if design.same_people else 1000 * study)
        if not design.identified:
            people = -1 - (np.arange(who.size).reshape(who.shape) + 1000 * study)
        items = np.repeat(np.arange(number), EACH).reshape(who.shape)
        groups = np.array_split(np.arange(number), GROUPS)
        shares, means = [], []
        for group in groups:
            about = items[group].ravel(), people[group].ravel()
            shares.append(stats.share(labels[group].ravel(), *about, at_least=2))
            means.append(stats.mean_rating(values[group].ravel(), *about, RATINGS))
        everything = values.ravel(), items.ravel(), people.ravel(), RATINGS
        for name, one in (
            ("share", stats.mean(shares, SHARE)),
            ("mean rating", stats.mean(means, RATINGS)),
            ("mean over attributes", stats.mean_of_items(*everything)),
            (_ATTRIBUTE, stats.mean_ratings(*everything)[0]),
        ):
            found.setdefault(name, []).append(one)
    return {
        name: (np.array([one.value for one in each]), [one.influences for one in each])
        for name, each in found.items()
    }


def measured(design: Studies, *, studies: int, seed: int = 0, **_: Any) -> Table:
    """Of equal studies, and of studies apart. Single attributes have a p and no places."""
    found = leagues(partial(scores, design), design.number, apart=APART, studies=studies, seed=seed)
    return {
        name: {"found": row["found"]} if name.startswith(_ATTRIBUTE) else row for name, row in found.items()
    }


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-league-answers.json", methods=["clustered"])


if __name__ == "__main__":
    main()
