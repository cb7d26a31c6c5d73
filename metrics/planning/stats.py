r"""How wide the intervals of a planned study will be, and what difference it would find (PROTOCOL §17).

Studies are simulated (simulation.py), and their intervals and p come from the functions that the pages use.

The power for a difference :math:`\Delta` is the mean over simulated pairs of studies of

.. math:: \Phi\left(\frac{\Delta - t_s e_s}{\sigma}\right) + \Phi\left(\frac{-\Delta - t_s e_s}{\sigma}\right)

with e the standard error of a pair, t its quantile, and :math:`\sigma^2` the mean of e squared: the share of
pairs that would have p below 0.05, with less noise than by counting them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.agreement.stats import coefficients
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats import clustered, influence, spread
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import RATIO, SHARE
from metrics.depiction import stats as depiction
from metrics.depiction.likelihood_influences import likelihood_influences
from metrics.planning.simulation import Design, logits_of, searched, study, truth

MEASURES = ("l_stereo", "theta", "alpha", "difference")
POWER = "power"
Tendency = tuple[Floats, Influences]
"""L(stereo) and theta (2,), and the influences on them."""


@dataclass(frozen=True)
class Assumptions:
    """What is taken to be true: the shares of answers in which stereotypical and other attributes are
    selected, how many of each there are, by how much attributes of one kind differ (the standard deviation of
    their logits), and by how many points the L(stereo) of a second model is higher. `design` has the size
    of the study and how much images and annotators differ."""

    design: Design
    l_stereo: float = 0.2
    l_random: float = 0.1
    stereotypical: int = 6
    others: int = 6
    apart: float = 0.5
    difference: float = 0.05

    @property
    def kinds(self) -> Bools:
        """Which attributes are stereotypical, (A,).

        Examples
        --------
        >>> Assumptions(Design(), stereotypical=1, others=2).kinds.tolist()
        [True, False, False]
        """
        return np.arange(self.stereotypical + self.others) < self.stereotypical

    def logits(self) -> Floats:
        """Those of the attributes (A,), stereotypical ones first."""
        kinds = ((self.l_stereo, self.stereotypical), (self.l_random, self.others))
        return np.concatenate([logits_of(self.design, *each, apart=self.apart) for each in kinds])

    def of_second_model(self, logits: Floats) -> Floats:
        """The logits (A,) of the second model. Raises ValueError if no L(stereo) is so high."""
        wanted = self.l_stereo + self.difference
        if not 0 < wanted < 1:
            raise ValueError("The difference is too large: L(stereo) of the second model would reach 100 %.")
        kinds = self.kinds
        by = searched(
            lambda shift: truth(self.design, logits + shift * kinds, stereotypical=kinds)["l_stereo"],
            wanted,
            -10.0,
            20.0,
            steps=30,
        )
        return np.asarray(logits + by * kinds)

    def true_values(self) -> dict[str, float]:
        """The true L(stereo), theta and alpha, and the difference."""
        found = truth(self.design, self.logits(), stereotypical=self.kinds)
        return {name: found[name] for name in ("l_stereo", "theta", "alpha")} | {
            "difference": self.difference
        }


@dataclass(frozen=True)
class Expected:
    """What a design of the study can be expected to give.

    `widths`: half the width of the 95 % interval of each measure asked for, as a mean over simulated studies;
    of theta the factor by which both ends differ from the estimate. NaN if most studies have no such
    interval. `undefined`: the share of studies without one. `power`: None if no difference was asked for.
    """

    widths: dict[str, float]
    undefined: dict[str, float]
    power: float | None


def expected(plan: Assumptions, measures: Sequence[str], *, studies: int, seed: int) -> Expected:
    """Simulate `studies` studies of one design."""
    logits, kinds = plan.logits(), plan.kinds
    second = plan.of_second_model(logits) if "difference" in measures else None
    found: dict[str, list[float]] = {name: [] for name in measures}
    errors, margins = [], []
    for rng in np.random.default_rng([seed, 17]).spawn(studies):
        people = plan.design.of_people * rng.normal(size=plan.design.people)
        first = study(plan.design, rng, people=people, logits=logits)
        tendency = None if set(measures) == {"alpha"} else tendency_influences(first, kinds)
        for name, each in intervals(first, tendency, measures).items():
            found[name].append(half_width(name, each))
        if second is not None and tendency is not None:
            other = study(plan.design, rng, people=people, logits=second, first_image=plan.design.images)
            apart, se = difference(tendency, tendency_influences(other, kinds))
            found["difference"].append(half_width("difference", apart))
            errors.append(se)
            margins.append((apart.high - apart.low) / 2)
    undefined = {name: float(np.mean(np.isnan(each))) for name, each in found.items()}
    widths = {name: _mean(name, np.array(each)) for name, each in found.items()}
    power = power_of(plan.difference, np.array(errors), np.array(margins)) if second is not None else None
    return Expected(widths, undefined, power)


def intervals(side: AnswerSet, tendency: Tendency | None, measures: Sequence[str]) -> dict[str, Interval]:
    """The intervals of L(stereo), theta and alpha of one study, as far as they are among `measures`."""
    found = {}
    if tendency is not None and ("l_stereo" in measures or "theta" in measures):
        values, of_both = tendency
        found = dict(
            zip(("l_stereo", "theta"), clustered.intervals(values, of_both, (SHARE, RATIO)), strict=True)
        )
    if "alpha" in measures:
        agreed = coefficients.within(ratings(side), [0, 1], level="nominal", clustered=True)
        found["alpha"] = agreed.alpha.interval or clustered.NONE
    return {name: each for name, each in found.items() if name in measures}


def difference(first: Tendency, second: Tendency) -> tuple[Interval, float]:
    """The interval of the difference of L(stereo) of two models, and its standard error."""
    (x, of_x), (y, of_y) = [(values[:1], of_both.columns([0])) for values, of_both in (first, second)]
    [found] = spread.difference(x, y, (of_x, of_y), ((SHARE,), (SHARE,)))
    se, _ = influence.total([(1.0, of_x), (-1.0, of_y)]).standard_errors()
    return found.interval, float(se[0])


def tendency_influences(side: AnswerSet, kinds: Bools) -> Tendency:
    """L(stereo) and theta (2,), and the influences on them."""
    times = np.bincount(side.answers, minlength=len(side.k))
    point = depiction.tendency(times @ side.k, times @ side.n, kinds)
    stereo, random = kinds / kinds.sum(), ~kinds / (~kinds).sum()
    of_theta = np.zeros(len(kinds))
    if point.l_random:
        of_theta = stereo / point.l_random - random * point.theta / point.l_random
    found = likelihood_influences(
        side.k, side.n, answers=side.answers, images=side.images, annotators=side.annotators
    )
    theta = point.theta if np.isfinite(point.theta) else float("nan")
    return np.array([point.l_stereo, theta]), found.of(np.column_stack([stereo, of_theta]))


def ratings(side: AnswerSet) -> Ratings:
    """The answers as ratings, 0 or 1, of each attribute of each image."""
    attributes = side.k.shape[1]
    units = np.add.outer(side.images * attributes, np.arange(attributes)).ravel()
    order = np.argsort(units, kind="stable")
    return Ratings(
        np.eye(2, dtype=np.int64)[side.k[side.answers].ravel()][order],
        units=units[order],
        clusters=units[order] // attributes,
        raters=np.repeat(np.maximum(side.annotators, -1), attributes)[order],
    )


def half_width(name: str, interval: Interval) -> float:
    """Half the width of an interval; of theta the factor by which its ends differ from the middle.

    Examples
    --------
    >>> half_width("alpha", Interval(0.25, 0.75)), half_width("theta", Interval(0.5, 2.0))
    (0.25, 2.0)
    """
    if name != "theta":
        return (interval.high - interval.low) / 2
    return float(np.sqrt(interval.high / interval.low)) if interval.low > 0 else float("nan")


def power_of(size: float, errors: Floats, margins: Floats) -> float:
    """The share of pairs of studies that find a difference of this `size`, from the standard errors and half
    widths (S,) of their intervals; see above."""
    # imported here because it takes 0.2 s; scipy.stats, whose norm.cdf is this function, takes a second
    from scipy import special

    sigma = np.sqrt(np.mean(errors**2))
    tails = [special.ndtr((sign * size - margins) / sigma) for sign in (1, -1)]
    return float(np.mean(tails[0] + tails[1]))


def _mean(name: str, widths: Floats) -> float:
    """Over the studies that have an interval; NaN if fewer than half have."""
    known = widths[~np.isnan(widths)]
    if 2 * len(known) < len(widths):
        return float("nan")
    return float(np.exp(np.log(known).mean()) if name == "theta" else known.mean())
