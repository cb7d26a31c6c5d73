"""The readings of a judge's answers, and its verdicts (PROTOCOL §16). Pure: no Django."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.machine_judges.design import BASE
from metrics.machine_judges.parsing import Corners, Problem

PROBLEMS = tuple(Problem)


class Judged(NamedTuple):
    """What one answer says of one option: its `place` in `Items`, the value, whether it is visible in the
    image as a whole, and its boxes in pixels inside the image."""

    place: int
    value: int
    whole: bool = False
    boxes: Sequence[Corners] = ()


@dataclass(frozen=True)
class Readings:
    """The readable answers of a judge. An element for each judgement (M,): `answers`, the place of its answer
    in `units`, `variants` and `samples` (N,), the place of its option in `Items`, and its `values`, on the
    task's scale. `variants` (N,): places in `names`. Boxes (B,): the place of each one's judgement, and its
    `corners` (B, 4), pixels inside the image. `whole` (M,): visible in the image as a whole.

    Unusable answers (U,): `unusable_units`, `unusable_variants` (places in `names`), `unusable_samples` and
    `unusable_problems` (places in PROBLEMS). `asked`: variant -> number of answers, readable or not.
    """

    names: tuple[str, ...]
    units: Ints
    variants: Ints
    samples: Ints
    answers: Ints
    options: Ints
    values: Ints
    whole: Bools
    boxes: Ints
    corners: Floats
    unusable_units: Ints
    unusable_variants: Ints
    unusable_samples: Ints
    unusable_problems: Ints
    asked: Mapping[str, int]

    def about(self, options: Ints) -> Readings:
        """Only the judgements of these options."""
        chosen = np.isin(self.options, options)
        kept = chosen[self.boxes]
        return replace(
            self,
            answers=self.answers[chosen],
            options=self.options[chosen],
            values=self.values[chosen],
            whole=self.whole[chosen],
            boxes=(np.cumsum(chosen) - 1)[self.boxes[kept]],
            corners=self.corners[kept],
        )

    @property
    def problems(self) -> Counter[tuple[str, Problem]]:
        """(variant, problem) -> number of answers."""
        pairs = zip(self.unusable_variants.tolist(), self.unusable_problems.tolist(), strict=True)
        counted = Counter(pairs)
        return Counter({(self.names[at], PROBLEMS[kind]): number for (at, kind), number in counted.items()})


@dataclass(frozen=True)
class Verdicts:
    """What the judge answered in one variant: for each option that it judged (V,), its place in `Items` and
    the most frequent value of its samples; of equally frequent ones the one that came first. `samples` (V,):
    how many answers it is of; `alike` (V,): how many have this value. Boxes (B,) as in Readings, each of a
    place in the verdicts: those of the first sample with this value."""

    options: Ints
    values: Ints
    samples: Ints
    alike: Ints
    boxes: Ints
    corners: Floats


def verdicts(readings: Readings, variant: str = BASE) -> Verdicts:
    """The verdicts of a variant; empty if the judge was not asked in it."""
    place = readings.names.index(variant) if variant in readings.names else -1
    chosen = np.flatnonzero(readings.variants[readings.answers] == place)
    # by option, then by sample, so that the first of equally frequent values is the earliest
    order = chosen[np.lexsort((readings.samples[readings.answers[chosen]], readings.options[chosen]))]
    options, values = readings.options[order], readings.values[order]
    starts = np.flatnonzero(np.r_[True, options[1:] != options[:-1]]) if len(order) else np.zeros(0, int)
    samples = np.diff(np.r_[starts, len(order)])
    found, alike, first = values[starts], samples.copy(), starts.copy()
    for at in np.flatnonzero(_differ(values, starts)).tolist():
        start = starts[at]
        found[at], alike[at], place = _verdict(values[start : start + samples[at]].tolist())
        first[at] = start + place
    verdict_of = np.full(len(readings.values), -1)
    verdict_of[order[first]] = np.arange(len(starts))
    kept = verdict_of[readings.boxes] >= 0
    return Verdicts(
        options=options[starts],
        values=found,
        samples=samples,
        alike=alike,
        boxes=verdict_of[readings.boxes[kept]],
        corners=readings.corners[kept],
    )


def _differ(values: Ints, starts: Ints) -> Bools:
    """Which of the stretches that begin at `starts` have more than one value."""
    if not len(starts):
        return np.zeros(0, dtype=np.bool_)
    return np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)


def _verdict(values: Sequence[int]) -> tuple[int, int, int]:
    """The most frequent value, how many are it, and the place of the first."""
    value, alike = Counter(values).most_common(1)[0]  # of equals, the one counted first
    return value, alike, values.index(value)


def _integers() -> array[int]:
    return array("q")


@dataclass
class ReadingsBuilder:
    """Collects answers. `names`: the variants."""

    names: tuple[str, ...]
    answers: array[int] = field(default_factory=_integers)
    judgements: array[int] = field(default_factory=_integers)
    boxes: array[int] = field(default_factory=_integers)
    corners: array[float] = field(default_factory=lambda: array("d"))
    unusable: array[int] = field(default_factory=_integers)
    asked: Counter[str] = field(default_factory=Counter)

    def add(self, unit: int, variant: str, sample: int, found: Sequence[Judged] | Problem) -> None:
        """An answer about `unit`, or why it cannot be used."""
        self.asked[variant] += 1
        name = self.names.index(variant)
        if isinstance(found, Problem):
            self.unusable.extend((unit, name, sample, PROBLEMS.index(found)))
            return
        answer = len(self.answers) // 3
        self.answers.extend((unit, name, sample))
        for place, value, whole, boxes in found:
            for box in boxes:
                self.boxes.append(len(self.judgements) // 4)
                self.corners.extend(box)
            self.judgements.extend((answer, place, value, whole))

    def result(self) -> Readings:
        units, variants, samples = _columns(self.answers, 3)
        answers, options, values, whole = _columns(self.judgements, 4)
        unusable = _columns(self.unusable, 4)
        return Readings(
            names=self.names,
            units=units,
            variants=variants,
            samples=samples,
            answers=answers,
            options=options,
            values=values,
            whole=whole.astype(np.bool_),
            boxes=np.array(self.boxes, dtype=np.int64),
            corners=np.array(self.corners, dtype=np.float64).reshape(-1, 4),
            unusable_units=unusable[0],
            unusable_variants=unusable[1],
            unusable_samples=unusable[2],
            unusable_problems=unusable[3],
            asked=dict(self.asked),
        )


def _columns(numbers: array[int], width: int) -> Ints:
    return np.ascontiguousarray(np.array(numbers, dtype=np.int64).reshape(-1, width).T)


def counted_problems(readings: Readings, variants: Iterable[str] = (BASE,)) -> Counter[Problem]:
    """How many answers have each problem."""
    counted: Counter[Problem] = Counter()
    for (variant, problem), number in readings.problems.items():
        if variant in variants:
            counted[problem] += number
    return counted
