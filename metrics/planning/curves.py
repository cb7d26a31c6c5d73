"""A plan as a whole: what is expected of the chosen design, and with more or fewer images, annotators and
answers for each image; hours and cost (PROTOCOL §17). Pure: no Django."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from metrics.core.stats.checks import Floats
from metrics.planning.simulation import Design
from metrics.planning.stats import MEASURES, POWER, Assumptions, Expected, expected

VARIED = ("images", "people", "overlap")
STUDIES = 200
"""Simulated studies of the chosen design, if nobody asks for another number."""
FEWEST_IMAGES = 3
LARGEST_SECONDS = 0.06
"""A page simulates no design of which a single study takes longer."""
_MAIN_SECONDS, _CURVE_SECONDS = 1.0, 1.0
_FACTORS = (0.5, 0.7, 1.5, 2.0)
_OVERLAPS = (-2, -1, 1, 2)
_CLOSE = 1e-4  # a power of 0 or 1 has no place on the scale it is smoothed on


@dataclass(frozen=True)
class Costs:
    """For `groups` identity groups; `page_size`: options on a page, with 'none of the above'; `pay`: an
    hour."""

    groups: int = 1
    page_size: int = 5
    seconds: float = 20.0
    pay: float = 15.0


@dataclass(frozen=True)
class Work:
    """The answers that a design asks for, the hours that they take, also for each annotator, and the cost."""

    slots: int
    hours: float
    hours_each: float
    cost: float


@dataclass(frozen=True)
class Point:
    """One design, what is varied in its curve (empty outside of one), and what it gives.
    `values`: measure -> half-width as in `stats.Expected`, and `power`."""

    varied: str
    design: Design
    values: dict[str, float]
    work: Work
    is_chosen: bool = False

    @property
    def x(self) -> int:
        """The number that is varied."""
        return int(getattr(self.design, self.varied))


@dataclass(frozen=True)
class PlanResult:
    """The chosen design, and the curves: varied -> points with the chosen design among them, in order.
    `studies`: how many were simulated of the chosen design, and of each of the others."""

    plan: Assumptions
    costs: Costs
    measures: tuple[str, ...]
    seed: int
    studies: tuple[int, int]
    true_values: dict[str, float]
    chosen: Point
    undefined: dict[str, float]
    curves: dict[str, tuple[Point, ...]]


def work(plan: Assumptions, costs: Costs, measures: Sequence[str]) -> Work:
    """Images x pages x overlap, for each identity group, and for both models if two are compared.

    Examples
    --------
    >>> work(Assumptions(Design(images=15, overlap=3)), Costs(seconds=20), ["l_stereo"]).slots
    135
    """
    pages = -(-(plan.stereotypical + plan.others) // max(costs.page_size - 1, 1))
    models = 2 if "difference" in measures else 1
    slots = models * costs.groups * plan.design.images * pages * plan.design.overlap
    hours = slots * costs.seconds / 3600
    return Work(slots, hours, hours / plan.design.people, hours * costs.pay)


def seconds_of(plan: Assumptions, measures: Sequence[str]) -> float:
    """About how long the simulation of one study takes."""
    design = plan.design
    units = design.images * (plan.stereotypical + plan.others)
    sides = 2 if "difference" in measures else 1
    found = 0.003 + sides * 1.5e-7 * units * design.overlap
    return found + ("alpha" in measures) * (0.002 + 6e-7 * units * design.overlap * (design.overlap - 1) / 2)


def make_plan(
    plan: Assumptions, costs: Costs, measures: Sequence[str], *, seed: int = 0, studies: int | None = None
) -> PlanResult:
    """Simulate the chosen design and the curves; the same input gives the same output.

    `studies`: of the chosen design, and a quarter as many of each of the others; by default as many as a page
    can wait for. Raises ValueError for what is not possible.
    """
    check(plan, measures)
    designs = {varied: _designs(plan.design, varied) for varied in VARIED}
    others = [replace(plan, design=each) for one in designs.values() for each in one]
    if studies is None:
        whole = sum(seconds_of(other, measures) for other in others)
        main = round(min(max(_MAIN_SECONDS / seconds_of(plan, measures), 20), STUDIES))
        few = round(min(max(_CURVE_SECONDS / max(whole, 1e-9), 5), 40))
    else:
        main, few = studies, max(5, studies // 4)
    found = expected(plan, measures, studies=main, seed=seed)
    chosen = Point("", plan.design, _values(found), work(plan, costs, measures), is_chosen=True)
    curves = {}
    for varied, each in designs.items():
        points = [replace(chosen, varied=varied)]
        for design in each:
            changed = replace(plan, design=design)
            values = _values(expected(changed, measures, studies=few, seed=seed))
            points.append(Point(varied, design, values, work(changed, costs, measures)))
        curves[varied] = _smoothed(points)
    return PlanResult(
        plan, costs, tuple(measures), seed, (main, few), plan.true_values(), chosen, found.undefined, curves
    )


def check(plan: Assumptions, measures: Sequence[str]) -> None:
    """Raise ValueError if such a study is not possible, or nothing was asked for."""
    design = plan.design
    if not measures or not set(measures) <= set(MEASURES):
        raise ValueError(f"Choose at least one of {', '.join(MEASURES)}.")
    if design.images < FEWEST_IMAGES or design.people < 2:
        raise ValueError(f"Intervals need at least {FEWEST_IMAGES} images and 2 annotators.")
    if design.overlap > design.people:
        raise ValueError(
            f"An image cannot be judged by {design.overlap} of {design.people} annotators. Lower the number "
            "of answers for each image, or plan with more annotators."
        )


def _designs(chosen: Design, varied: str) -> list[Design]:
    """The chosen design with a few other numbers of images, annotators or answers."""
    number = int(getattr(chosen, varied))
    if varied == "overlap":
        wanted = {number + by for by in _OVERLAPS}
        possible = sorted(one for one in wanted if 1 <= one <= chosen.people)
    else:
        fewest = FEWEST_IMAGES if varied == "images" else max(2, chosen.overlap)
        possible = sorted({max(round(number * by), fewest) for by in _FACTORS} - {number})
    return [_with(chosen, varied, one) for one in possible]


def _with(design: Design, varied: str, number: int) -> Design:
    if varied == "images":
        return replace(design, images=number)
    return replace(design, people=number) if varied == "people" else replace(design, overlap=number)


def _values(found: Expected) -> dict[str, float]:
    return found.widths if found.power is None else {**found.widths, POWER: found.power}


def _smoothed(points: Sequence[Point]) -> tuple[Point, ...]:
    """In order, with values on a quadratic of ln x through those of the chosen design, which is the first:
    widths on the logarithmic scale (theta's factor twice so), power on that of the normal distribution."""
    x = np.log([point.x for point in points])
    values: list[dict[str, float]] = [{} for _ in points]
    for name in points[0].values:
        there, back = _SCALES.get(name, (np.log, np.exp))
        y = np.asarray(there(np.array([point.values[name] for point in points])))
        smooth = back(_quadratic(x, y))
        for place, value in enumerate(smooth.tolist()):
            values[place][name] = value
    values[0] = points[0].values
    found = [replace(point, values=each) for point, each in zip(points, values, strict=True)]
    return tuple(sorted(found, key=lambda point: point.x))


def _quadratic(x: Floats, y: Floats) -> Floats:
    """A quadratic of `x` nearest to `y`, through the first point; as they are where too few are known."""
    known = np.isfinite(y)
    if known.sum() < 4 or not known[0]:
        return y
    away = x - x[0]
    terms = np.column_stack([away, away**2])
    solved, *_ = np.linalg.lstsq(terms[known], y[known] - y[0], rcond=None)
    return np.where(known, y[0] + terms @ solved, np.nan)


def _probit(shares: Floats) -> Floats:
    inside = np.clip(shares, _CLOSE, 1 - _CLOSE)
    return np.array([NormalDist().inv_cdf(one) for one in inside.tolist()])


def _chances(values: Floats) -> Floats:
    return np.array([NormalDist().cdf(one) for one in values.tolist()])


def _log_log(factors: Floats) -> Floats:
    return np.asarray(np.log(np.log(factors)))


def _exp_exp(values: Floats) -> Floats:
    return np.asarray(np.exp(np.exp(values)))


_SCALES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    POWER: (_probit, _chances),
    "theta": (_log_log, _exp_exp),
}
