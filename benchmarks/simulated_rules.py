"""Rules by which an item is visual, and the mean score of one, for benchmarks/coverage_agreement.py."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy import special

from benchmarks.coverage_tables import Estimate, Study
from benchmarks.simulated_shares import EACH, Design
from metrics.core.stats import clustered, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE, Scale
from metrics.visual_nature import stats

BOUNDS = np.array([-1.2, -0.3, 0.2, 1.0])
SCORES = Scale(min(stats.SCALE), max(stats.SCALE))
AT_LEAST = 3.5  # of the rule by mean score
RULES = ("consensus", "by mean score")
ONE = "mean score of one item"


def labelled(items: Floats, spread: float) -> Floats:
    """The chance of each label, shape (..., 5), where `items` (...) is what the item has of its own and
    `spread` the standard deviation of everything else."""
    below = special.ndtr((BOUNDS - items[..., None]) / spread)
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)


def truth_of_rules(design: Design, above: float = 0.0) -> dict[str, float]:
    """The share of items on which two of three people say Agree, and whose mean score is AT_LEAST or more."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(101)
    mass = mass / mass.sum()
    chances = labelled(design.of_items * nodes + above, sqrt(design.of_people**2 + 1))
    agree = chances[:, 3]
    three = np.einsum("ia,ib,ic->iabc", chances, chances, chances)
    scores = np.array(stats.SCALE)
    total = scores[:, None, None] + scores[:, None] + scores
    return {
        RULES[0]: float(mass @ (3 * agree**2 * (1 - agree) + agree**3)),
        RULES[1]: float(mass @ three[:, total >= EACH * AT_LEAST].sum(axis=1)),
    }


def of_rules(labels: Ints, who: Ints, **method: Any) -> Study:
    """Those of `truth_of_rules`, from the labels of the first group."""
    items = len(labels)
    answers = (np.repeat(np.arange(items), EACH), labels.ravel() - 1, who.ravel())
    all_of: dict[str, Any] = {"items": np.arange(items), "number": len(stats.SCALE), "rule": _rules}
    table = passing_shares.count_labels(*answers[:2], shape=(items, 5))
    values = _rules(table)[0].mean(axis=0)
    found: list[Interval | None]
    if "clustered" in method:
        influences = passing_shares.share_influences(*answers, **all_of)
        found = [
            clustered.separate_intervals([value], [each], SHARE)[0]
            for value, each in zip(values, influences, strict=True)
        ]
    else:
        shares = passing_shares.resampled_shares(*answers, **all_of, **method)
        found = [*percentiles.percentile_intervals(shares, values)]
    return {
        name: [Estimate(value, interval)]
        for name, value, interval in zip(RULES, values.tolist(), found, strict=True)
    }


def _rules(table: Ints) -> tuple[Bools, Bools]:
    passed = np.column_stack([table[:, 3] >= 2, stats.is_visual_by_mean(table, at_least=AT_LEAST)])
    return passed, np.repeat(table.sum(axis=1)[:, None] > 0, passed.shape[1], axis=1)


def of_one(labels: Ints, who: Ints, true: float, **method: Any) -> Estimate:
    """The mean score of the first item, whose truth is its own. Its people are drawn, or its variance is
    taken to be that of all items (I, people)."""
    if "clustered" in method:
        items = np.repeat(np.arange(len(labels)), labels.shape[1])
        interval = means.item_intervals(labels.ravel().astype(np.float64), items, who.ravel(), SCORES)[0]
    else:
        scores, one = labels[0].astype(np.float64), np.zeros(labels.shape[1])
        drawn = means.resampled_means(scores, np.ones((len(one), 1), dtype=np.bool_), one, who[0], **method)
        interval = percentiles.percentile_intervals(drawn, [scores.mean()])[0]
    return Estimate(float(labels[0].mean()), interval, true=true)
