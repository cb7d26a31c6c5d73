"""The readings of a judge's answers, and its verdicts (PROTOCOL §16). Pure: no Django."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.machine_judges.design import BASE
from metrics.machine_judges.parsing import Corners, Problem


@dataclass(frozen=True)
class Readings:
    """The readable answers of a judge. An element for each judgement (M,): `answers`, the place of its answer
    in `units`, `variants` and `samples` (N,), the place of its option in `Items`, and its `values`, on the
    task's scale. `variants` (N,): places in `names`. Boxes (B,): the place of each one's judgement, and its
    `corners` (B, 4), pixels inside the image. `whole` (M,): visible in the image as a whole.

    `asked`: variant -> number of answers, readable or not. `problems`: (variant, problem) -> number.
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
    asked: Mapping[str, int]
    problems: Mapping[tuple[str, Problem], int]


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
    found = [_verdict(values[a:b].tolist()) for a, b in _spans(starts, len(order))]
    firsts = order[starts + np.array([first for *_, first in found], dtype=np.int64)] if found else starts
    of_verdict = {judgement: number for number, judgement in enumerate(firsts.tolist())}
    kept = [number for number, judgement in enumerate(readings.boxes.tolist()) if judgement in of_verdict]
    return Verdicts(
        options=options[starts],
        values=np.array([value for value, *_ in found], dtype=np.int64),
        samples=np.array([number for _, number, *_ in found], dtype=np.int64),
        alike=np.array([alike for _, _, alike, _ in found], dtype=np.int64),
        boxes=np.array([of_verdict[readings.boxes[number]] for number in kept], dtype=np.int64),
        corners=readings.corners[kept].reshape(-1, 4),
    )


def _spans(starts: Ints, length: int) -> Iterator[tuple[int, int]]:
    ends = [*starts.tolist()[1:], length]
    return zip(starts.tolist(), ends, strict=False)


def _verdict(values: Sequence[int]) -> tuple[int, int, int, int]:
    """The most frequent value, the number of values, how many are it, and the place of the first."""
    value, alike = Counter(values).most_common(1)[0]  # of equals, the one counted first
    return value, len(values), alike, values.index(value)


@dataclass
class ReadingsBuilder:
    """Collects the judgements of answers."""

    units: list[int] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    judgements: list[tuple[int, int, int, bool]] = field(default_factory=list)
    boxes: list[int] = field(default_factory=list)
    corners: list[Corners] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    problems: Counter[tuple[str, Problem]] = field(default_factory=Counter)

    def result(self, names: tuple[str, ...]) -> Readings:
        rows = np.array(self.judgements, dtype=np.int64).reshape(-1, 4)
        number = {name: place for place, name in enumerate(names)}
        return Readings(
            names=names,
            units=np.array(self.units, dtype=np.int64),
            variants=np.array([number[name] for name in self.variants], dtype=np.int64),
            samples=np.array(self.samples, dtype=np.int64),
            answers=rows[:, 0],
            options=rows[:, 1],
            values=rows[:, 2],
            whole=rows[:, 3].astype(np.bool_),
            boxes=np.array(self.boxes, dtype=np.int64),
            corners=np.array(self.corners, dtype=np.float64).reshape(-1, 4),
            asked=dict(self.asked),
            problems=dict(self.problems),
        )


def by_option(found: Verdicts) -> dict[int, int]:
    """Place in `Items` -> value."""
    return dict(zip(found.options.tolist(), found.values.tolist(), strict=True))


def counted_problems(readings: Readings, variants: Iterable[str] = (BASE,)) -> Counter[Problem]:
    """How many answers have each problem."""
    counted: Counter[Problem] = Counter()
    for (variant, problem), number in readings.problems.items():
        if variant in variants:
            counted[problem] += number
    return counted
