"""Agreement rows from ratings: overall, within and between groups of annotators, and differences."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from annotation.models import Study
from metrics.agreement.data.ratings import RatingFrame, has_region, read_ratings
from metrics.agreement.scores.differences import differences
from metrics.agreement.scores.rows import AgreementRow, Reading, Resampling, intervals_of, read, readings
from metrics.agreement.scores.subjects import (
    PER,
    WHOLE,
    Subject,
    Subjects,
    read_box_agreement,
    subjects_of,
    whole,
)
from metrics.agreement.stats import coefficients
from metrics.agreement.stats.estimates import Estimate
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.annotator_groups import GROUPINGS, NOT_STATED
from metrics.core.answers import task_kinds
from metrics.core.fingerprints import snapshot
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Ints
from metrics.depiction.tallies import Tally
from metrics.score_runs.rows import defined


def evaluate_agreement(
    *,
    study: Study,
    by: str | None = None,
    per: Collection[str] = (),
    resamples: int = 0,
    seed: int = 0,
    clustered: bool = False,
    known_tallies: Sequence[Tally] | None = None,
) -> list[AgreementRow]:
    """Rows for every task of `study` that has answers.

    `by` ('gender', 'origin' or 'pool') adds rows within and between groups of annotators and their
    differences; tasks without identity groups have no pools. People who did not state the characteristic form
    a group of their own that is not compared with others. `per` ('attribute', 'identity' or both) adds a row
    of all annotators for each of those. `clustered`: intervals from influences; otherwise from `resamples`,
    0 for none. `known_tallies`: the tallies of the images, if they were already read. Raises ValueError for
    another `by` or `per`.
    """
    if by is not None and by not in GROUPINGS:
        raise ValueError(f"Annotators can be compared by {', '.join(GROUPINGS)}; not by '{by}'.")
    for each in per:
        if each not in PER:
            raise ValueError(f"Agreement can be computed per {' or '.join(PER)}; not per '{each}'.")
    resampling = Resampling(resamples, seed, clustered)
    rows: list[AgreementRow] = []
    with snapshot():
        for kind in task_kinds(study):
            split = by is not None and (by != "pool" or has_region(kind))
            frame = read_ratings(study, kind, by=by if split else None, known_tallies=known_tallies)
            boxes = read_box_agreement(study) if kind == "depiction" else None
            subjects_of_rows = [
                whole(frame, boxes),
                *(subjects_of(frame, boxes, axis) for axis in PER if axis in per),
            ]
            box_cells = [
                None if boxes is None else boxes.cells_by_subject(subjects) for subjects in subjects_of_rows
            ]
            for reading in readings(kind):
                for subjects, cells in zip(subjects_of_rows, box_cells, strict=True):
                    rows += _rows_of_all(frame, reading, subjects, cells, resampling)
                if split:
                    rows += _rows_of_groups(frame, reading, resampling)
    return rows


def _rows_of_all(
    frame: RatingFrame,
    reading: Reading,
    subjects: Subjects,
    box_cells: list[Cells] | None,
    resampling: Resampling,
) -> Iterator[AgreementRow]:
    """A row of all annotators for each of the subjects."""

    def draw_name(subject: Subject) -> tuple[str, ...]:
        return frame.kind, reading.level, subject.name

    chosen = subjects.ratings >= 0
    # a slice does not copy a large table
    rows = slice(None) if chosen.all() else np.flatnonzero(chosen)
    found = coefficients.within_each(
        read(frame, reading, rows),
        subjects.ratings[rows],
        reading.kept,
        parts=len(subjects.entries),
        level=reading.level,
        resamples=resampling.resamples,
        rng=lambda part: resampling.generator(*draw_name(subjects.entries[part])),
        clustered=resampling.clustered,
    )
    for place, (subject, within) in enumerate(zip(subjects.entries, found, strict=True)):
        row = _within_row(frame, reading, within, scope="all", subject=subject)
        if box_cells is not None:
            row = _with_boxes(row, box_cells[place], resampling, ("boxes", *draw_name(subject)))
        yield row


def _with_boxes(
    row: AgreementRow, cells: Cells, resampling: Resampling, name: tuple[str, ...]
) -> AgreementRow:
    mean = coefficients.mean_over_pairs(
        cells,
        resamples=resampling.resamples,
        rng=resampling.generator(*name),
        clustered=resampling.clustered,
    )
    intervals = {**row.intervals, **intervals_of(box_iou=mean)}
    return replace(row, box_iou=defined(mean.value), box_pairs=len(cells.sums), intervals=intervals)


def _rows_of_groups(frame: RatingFrame, reading: Reading, resampling: Resampling) -> Iterator[AgreementRow]:
    """Rows within each group of annotators, and between and for differences of groups that are stated."""
    rows = {name: np.flatnonzero(frame.group_of_row == place) for place, name in enumerate(frame.groups)}
    within_groups: dict[str, AgreementRow] = {}
    for name, own in rows.items():
        found = coefficients.within(
            read(frame, reading, own),
            reading.kept,
            level=reading.level,
            resamples=resampling.resamples,
            rng=resampling.generator(frame.kind, reading.level, "within", name),
            clustered=resampling.clustered,
        )
        row = _within_row(frame, reading, found, scope="within", group=name)
        within_groups[name] = replace(row, annotators=_count_people(frame.table.raters[own]))
    yield from within_groups.values()
    stated = [name for name in rows if name != NOT_STATED]
    for pair in combinations(stated, 2):
        yield _between_row(frame, reading, rows, pair, resampling)
    yield from differences(frame, reading, rows, within_groups, resampling)


def _count_people(raters: Ints) -> int | None:
    """Number of annotators; None if some are not identified."""
    return None if (raters == UNKNOWN_ANNOTATOR).any() else len(np.unique(raters))


def _within_row(
    frame: RatingFrame,
    reading: Reading,
    found: coefficients.Within,
    *,
    scope: str,
    group: str = "",
    subject: Subject = WHOLE,
) -> AgreementRow:
    kappa = found.fleiss_kappa if reading.level == "nominal" else Estimate(float("nan"))
    return AgreementRow(
        task=frame.kind,
        labels=reading.labels,
        level=reading.level,
        scope=scope,
        group=group,
        units=found.units,
        ratings=found.ratings,
        pairs=found.pairs,
        percentage=defined(100 * found.share.value),
        alpha=defined(found.alpha.value),
        fleiss_kappa=defined(kappa.value),
        agreeing=found.agreeing,
        identity=subject.name if subject.identity_id else "",
        attribute=subject.name if subject.attribute_id else "",
        identity_id=subject.identity_id,
        attribute_id=subject.attribute_id,
        intervals=intervals_of(percentage=found.share, alpha=found.alpha, fleiss_kappa=kappa),
    )


def _between_row(
    frame: RatingFrame,
    reading: Reading,
    rows: Mapping[str, Ints],
    pair: tuple[str, str],
    resampling: Resampling,
) -> AgreementRow:
    both = np.sort(np.concatenate([rows[name] for name in pair]))
    second = frame.group_of_row[both] == frame.groups.index(pair[1])
    found = coefficients.between(
        read(frame, reading, both),
        second,
        reading.kept,
        level=reading.level,
        resamples=resampling.resamples,
        rng=resampling.generator(frame.kind, reading.level, "between", *pair),
        clustered=resampling.clustered,
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
        cross_kappa=defined(found.kappa.value),
        agreeing=found.agreeing,
        intervals=intervals_of(percentage=found.share, cross_kappa=found.kappa),
    )
