"""Ratings of depiction tasks, computed from the frames of the scores so that one read serves both."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Study
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Ints
from metrics.depiction.data import GroupFrame, read_depiction


@dataclass(frozen=True)
class Tally:
    """The judgements of the images of `group_id`. `counts` (R, 2): how often an attribute of an image was not
    selected, and selected. For each row (R,): `images`, `attributes`, `raters` (UNKNOWN_ANNOTATOR if not
    identified) and `stratum`, the index in `strata` of what the slots were reserved for.
    """

    group_id: int
    counts: Ints
    images: Ints
    attributes: Ints
    raters: Ints
    stratum: Ints
    strata: tuple[str, ...]


def tallies(study: Study, *, one_by_one: bool, by_stratum: bool) -> list[Tally]:
    """One tally for each identity group. `one_by_one`: a row for each judgement; otherwise a row for each
    attribute of an image, or for each of its strata if `by_stratum`."""
    return [
        tally_each(frame) if one_by_one else tally_by_image(frame, by_stratum=by_stratum)
        for frame in read_depiction(study, by_response=True)
    ]


def tally_each(frame: GroupFrame) -> Tally:
    """A row for each judgement."""
    frame = frame.without_none_of_above()
    row, column = np.nonzero(frame.shown)
    raters = frame.annotators[row]
    chosen = frame.selected[row, column].astype(np.int8)
    return Tally(
        group_id=frame.group_id,
        counts=np.stack([1 - chosen, chosen], axis=1),
        images=frame.images[row],
        attributes=np.array(frame.attribute_ids, dtype=np.int64)[column],
        raters=np.where(raters < 0, UNKNOWN_ANNOTATOR, raters),
        stratum=frame.stratum_of[row],
        strata=frame.strata,
    )


def tally_by_image(frame: GroupFrame, *, by_stratum: bool = False) -> Tally:
    """One row for each attribute of an image, or one for each of its strata."""
    frame = frame.without_none_of_above()
    strata = frame.stratum_of if by_stratum else np.zeros_like(frame.stratum_of)
    order = np.lexsort((strata, frame.images))
    keys = np.stack([frame.images, strata])[:, order]
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(keys) != 0).any(axis=0)]))
    times = _times_given(frame.answers[order], starts, len(frame.n))
    shown, selected = (times @ of.astype(np.int32) for of in (frame.n, frame.k))
    row, column = np.nonzero(shown)
    return Tally(
        group_id=frame.group_id,
        # small: a large study has millions of rows
        counts=np.stack([(shown - selected)[row, column], selected[row, column]], axis=1),
        images=keys[0, starts[row]],
        attributes=np.array(frame.attribute_ids, dtype=np.int64)[column],
        raters=np.full(len(row), UNKNOWN_ANNOTATOR, dtype=np.int8),
        stratum=keys[1, starts[row]].astype(np.int32),
        strata=frame.strata,
    )


def _times_given(answers: Ints, starts: Ints, different: int) -> Any:
    """How often each of the `different` answers was given in each block of `answers`, which begin at
    `starts`, as a sparse matrix (blocks, different)."""
    from scipy.sparse import csr_array

    ends = np.append(starts, len(answers))
    return csr_array((np.ones(len(answers), dtype=np.int32), answers, ends), shape=(len(starts), different))
