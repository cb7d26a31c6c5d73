"""Everybody, within groups of annotators, between them, and their differences: from ratings to rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from annotation.models import Study
from metrics.agreement.data.ratings import RatingFrame, has_region, read_ratings
from metrics.agreement.scores.differences import differences
from metrics.agreement.scores.draws import Draw
from metrics.agreement.scores.readings import Reading, read, readings
from metrics.agreement.scores.rows import AgreementRow, defined, intervals_of
from metrics.agreement.scores.subjects import PER, WHOLE, Subject, Subjects, drawn_boxes, subjects_of, whole
from metrics.agreement.stats import coefficients
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.annotator_groups import GROUPINGS, NOT_STATED
from metrics.core.answers import task_kinds
from metrics.core.fingerprints import snapshot
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Ints
from metrics.depiction.tallies import Tally


def evaluate_agreement(
    *,
    study: Study,
    by: str | None = None,
    per: Collection[str] = (),
    resamples: int = 0,
    seed: int = 0,
    given: Sequence[Tally] | None = None,
) -> list[AgreementRow]:
    """Rows for every task of `study` that has answers.

    With `by` ('gender', 'origin' or 'pool') also within and between the groups of annotators, and by how much
    agreement within them differs; tasks about no identity group have no pools and are left out of those.
    People who did not state what is asked are a group of their own within, and are compared with nobody.
    `per` ('attribute', 'identity' or both) adds a row of all annotators for each of those. `resamples` 0
    leaves the intervals out. `given`: the ratings of its images, if they were read already. Raises
    ValueError for another `by` or `per`.
    """
    if by is not None and by not in GROUPINGS:
        raise ValueError(f"Annotators can be compared by {', '.join(GROUPINGS)}; not by '{by}'.")
    for each in per:
        if each not in PER:
            raise ValueError(f"Agreement can be told apart per {' or '.join(PER)}; not per '{each}'.")
    draw = Draw(resamples, seed)
    rows: list[AgreementRow] = []
    with snapshot():
        for kind in task_kinds(study):
            split = by is not None and (by != "pool" or has_region(kind))
            frame = read_ratings(study, kind, by=by if split else None, given=given)
            drawn = drawn_boxes(study) if kind == "depiction" else None
            about = [whole(frame, drawn), *(subjects_of(frame, drawn, axis) for axis in PER if axis in per)]
            boxed = [None if drawn is None else drawn.each(subjects) for subjects in about]
            for reading in readings(kind):
                for subjects, cells in zip(about, boxed, strict=True):
                    rows += _all(frame, reading, subjects, cells, draw)
                if split:
                    rows += _compared(frame, reading, draw)
    return rows


def _all(
    frame: RatingFrame, reading: Reading, subjects: Subjects, boxed: list[Cells] | None, draw: Draw
) -> Iterator[AgreementRow]:
    """All annotators, one row for each of the subjects."""

    def named(subject: Subject) -> tuple[str, ...]:
        return frame.kind, reading.level, subject.name

    chosen = subjects.ratings >= 0
    # a large table is not copied for nothing
    rows = slice(None) if chosen.all() else np.flatnonzero(chosen)
    found = coefficients.within_each(
        read(frame, reading, rows),
        subjects.ratings[rows],
        reading.kept,
        parts=len(subjects.named),
        level=reading.level,
        resamples=draw.resamples,
        rng=lambda part: draw.generator(*named(subjects.named[part])),
    )
    for place, (subject, within) in enumerate(zip(subjects.named, found, strict=True)):
        row = _same(frame, reading, within, scope="all", subject=subject)
        if boxed is not None:
            row = _with_boxes(row, boxed[place], draw, ("boxes", *named(subject)))
        yield row


def _with_boxes(row: AgreementRow, cells: Cells, draw: Draw, name: tuple[str, ...]) -> AgreementRow:
    if not len(cells.sums):
        return replace(row, box_pairs=0)
    mean = coefficients.mean_over_pairs(cells, resamples=draw.resamples, rng=draw.generator(*name))
    intervals = {**row.intervals, **intervals_of(box_iou=mean)}
    return replace(row, box_iou=defined(mean.value), box_pairs=len(cells.sums), intervals=intervals)


def _compared(frame: RatingFrame, reading: Reading, draw: Draw) -> Iterator[AgreementRow]:
    """Within each group of annotators; between every two that stated what they are, and how those differ."""
    rows = {name: np.flatnonzero(frame.of_group == place) for place, name in enumerate(frame.groups)}
    apart: dict[str, AgreementRow] = {}
    for name, own in rows.items():
        found = coefficients.within(
            read(frame, reading, own),
            reading.kept,
            level=reading.level,
            resamples=draw.resamples,
            rng=draw.generator(frame.kind, reading.level, "within", name),
        )
        row = _same(frame, reading, found, scope="within", group=name)
        apart[name] = replace(row, annotators=_people(frame.table.raters[own]))
    yield from apart.values()
    stated = [name for name in rows if name != NOT_STATED]
    for pair in combinations(stated, 2):
        yield _across(frame, reading, rows, pair, draw)
    yield from differences(frame, reading, rows, apart, draw)


def _people(raters: Ints) -> int | None:
    """How many different annotators there are; None where some are not identified."""
    return None if (raters == UNKNOWN_ANNOTATOR).any() else len(np.unique(raters))


def _same(
    frame: RatingFrame,
    reading: Reading,
    found: coefficients.Within,
    *,
    scope: str,
    group: str = "",
    subject: Subject = WHOLE,
) -> AgreementRow:
    kappa = found.fleiss_kappa if reading.level == "nominal" else coefficients.Estimate(float("nan"))
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
        identity=subject.name if subject.identity_id else "",
        attribute=subject.name if subject.attribute_id else "",
        identity_id=subject.identity_id,
        attribute_id=subject.attribute_id,
        intervals=intervals_of(percentage=found.share, alpha=found.alpha, fleiss_kappa=kappa),
    )


def _across(
    frame: RatingFrame,
    reading: Reading,
    rows: Mapping[str, Ints],
    pair: tuple[str, str],
    draw: Draw,
) -> AgreementRow:
    both = np.sort(np.concatenate([rows[name] for name in pair]))
    second = frame.of_group[both] == frame.groups.index(pair[1])
    found = coefficients.between(
        read(frame, reading, both),
        second,
        reading.kept,
        level=reading.level,
        resamples=draw.resamples,
        rng=draw.generator(frame.kind, reading.level, "between", *pair),
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
