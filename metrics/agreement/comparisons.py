"""Everybody, within groups of annotators and between them: from ratings to rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from annotation.models import Study
from metrics import frames
from metrics.agreement.readings import Reading, read, readings
from metrics.agreement.rows import AgreementRow, defined, intervals_of
from metrics.agreement.subjects import PER, WHOLE, DrawnBoxes, Subject, drawn_boxes, subjects_of
from metrics.stats import agreement
from metrics.stats.bootstrap import generator
from metrics.stats.checks import Ints


@dataclass(frozen=True)
class _Draw:
    """How intervals are made: every comparison draws by itself, from the seed and its own name."""

    resamples: int
    seed: int

    def of(self, *name: str) -> tuple[int, np.random.Generator | None]:
        return self.resamples, generator(self.seed, "; ".join(name)) if self.resamples else None


def evaluate(
    *,
    study: Study,
    by: str | None = None,
    per: Collection[str] = (),
    resamples: int = 0,
    seed: int = 0,
    given: Sequence[frames.Tally] | None = None,
) -> list[AgreementRow]:
    """Rows for every task of `study` that has answers.

    With `by` ('gender', 'origin' or 'pool') also within and between the groups of annotators; tasks about
    no identity group have no pools and are left out of those. People who did not state what is asked
    are a group of their own within, and are compared with nobody. `per` ('attribute', 'identity' or both)
    adds a row of all annotators for each of those. `resamples` 0 leaves the intervals out. `given`: the
    ratings of its images, if they were read already. Raises ValueError for another `by` or `per`.
    """
    if by is not None and by not in frames.BY:
        raise ValueError(f"Annotators can be compared by {', '.join(frames.BY)}; not by '{by}'.")
    for each in per:
        if each not in PER:
            raise ValueError(f"Agreement can be told apart per {' or '.join(PER)}; not per '{each}'.")
    draw = _Draw(resamples, seed)
    rows = []
    with frames.snapshot():
        for kind in frames.task_kinds(study):
            split = by is not None and (by != "pool" or frames.has_region(kind))
            frame = frames.ratings(study, kind, by=by if split else None, given=given)
            drawn = drawn_boxes(study) if kind == "depiction" else None
            subjects = [WHOLE]
            for axis in (axis for axis in PER if axis in per):
                subjects += subjects_of(frame, drawn, axis)
            for reading in readings(kind):
                rows += [_all(frame, drawn, reading, subject, draw) for subject in subjects]
                if split:
                    rows += _compared(frame, reading, draw)
    return rows


def _all(
    frame: frames.RatingFrame, drawn: DrawnBoxes | None, reading: Reading, subject: Subject, draw: _Draw
) -> AgreementRow:
    named = (frame.kind, reading.level, subject.name)
    found = _same(frame, reading, subject.rows, draw.of(*named), scope="all")
    iou, number = None, None
    intervals = dict(found.intervals)
    if drawn is not None:
        cells = drawn.of(subject.box_rows)
        resamples, rng = draw.of("boxes", *named)
        mean = agreement.mean_over_pairs(cells, resamples=resamples, rng=rng)
        iou, number = defined(mean.value), len(cells.sums)
        intervals |= intervals_of(box_iou=mean)
    return replace(
        found,
        identity=subject.name if subject.identity_id else "",
        attribute=subject.name if subject.attribute_id else "",
        identity_id=subject.identity_id,
        attribute_id=subject.attribute_id,
        box_iou=iou,
        box_pairs=number,
        intervals=intervals,
    )


def _compared(frame: frames.RatingFrame, reading: Reading, draw: _Draw) -> Iterator[AgreementRow]:
    """Within each group of annotators, and between every two that stated what they are."""
    rows = {name: np.flatnonzero(frame.of_group == place) for place, name in enumerate(frame.groups)}
    for name, own in rows.items():
        drawn = draw.of(frame.kind, reading.level, "within", name)
        yield _same(frame, reading, own, drawn, scope="within", group=name)
    stated = [name for name in rows if name != frames.NOT_STATED]
    for pair in combinations(stated, 2):
        yield _across(frame, reading, rows, pair, draw)


def _same(
    frame: frames.RatingFrame,
    reading: Reading,
    rows: Ints | slice,
    drawn: tuple[int, np.random.Generator | None],
    *,
    scope: str,
    group: str = "",
) -> AgreementRow:
    resamples, rng = drawn
    found = agreement.within(
        read(frame, reading, rows), reading.kept, level=reading.level, resamples=resamples, rng=rng
    )
    kappa = found.fleiss_kappa if reading.level == "nominal" else agreement.Estimate(float("nan"))
    return AgreementRow(
        task=frame.kind,
        labels=reading.labels,
        level=reading.level,
        scope=scope,
        group=group,
        other="",
        units=found.units,
        ratings=found.ratings,
        pairs=found.pairs,
        percentage=defined(100 * found.share.value),
        alpha=defined(found.alpha.value),
        fleiss_kappa=defined(kappa.value),
        cross_kappa=None,
        box_iou=None,
        box_pairs=None,
        agreeing=found.agreeing,
        intervals=intervals_of(percentage=found.share, alpha=found.alpha, fleiss_kappa=kappa),
    )


def _across(
    frame: frames.RatingFrame,
    reading: Reading,
    rows: Mapping[str, Ints],
    pair: tuple[str, str],
    draw: _Draw,
) -> AgreementRow:
    both = np.sort(np.concatenate([rows[name] for name in pair]))
    second = frame.of_group[both] == frame.groups.index(pair[1])
    resamples, rng = draw.of(frame.kind, reading.level, "between", *pair)
    found = agreement.between(
        read(frame, reading, both), second, reading.kept, level=reading.level, resamples=resamples, rng=rng
    )
    return AgreementRow(
        task=frame.kind,
        labels=reading.labels,
        level=reading.level,
        scope="between",
        group=pair[0],
        other=pair[1],
        units=found.units,
        ratings=found.ratings,
        pairs=found.pairs,
        percentage=defined(100 * found.share.value),
        alpha=None,
        fleiss_kappa=None,
        cross_kappa=defined(found.kappa.value),
        box_iou=None,
        box_pairs=None,
        agreeing=found.agreeing,
        intervals=intervals_of(percentage=found.share, cross_kappa=found.kappa),
    )
