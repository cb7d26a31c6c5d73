"""How biased annotators find associations (PROTOCOL §11)."""

from dataclasses import replace

import numpy as np

from annotation.core import scales
from metrics.core.stats.checks import Ints
from metrics.core.stats.scales import SHARE, Scale
from metrics.score_runs.rows import Inputs, ScoreRow
from metrics.votes.data.own_answers import RatingRows, read_bias_levels
from metrics.votes.data.source import Pair
from metrics.votes.scores.offensiveness import count_row, intervals_of_one, mean_rows, pair_row
from metrics.votes.scores.subsets import Subset, subsets

LABELS = {label.name.lower().replace(" ", "_"): label for label in scales.ASSOCIATION}
"""The labels by the names of their scores: `not_at_all_biased` ... `unsure`."""
UNSURE = 0
"""No level: Unsure is left out of every mean."""
_SCALE = Scale(1.0, 5.0)


def bias_levels_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_bias_levels(inputs.study)
    places: dict[Pair, int] = {}
    items = np.array([places.setdefault(pair, len(places)) for pair in frame.pairs], dtype=np.int64)
    levels = np.where(frame.values == UNSURE, np.nan, frame.values)
    rows = []
    for subset in subsets(frame.pairs):
        index = subset.rows
        everything = np.ones((len(index), 1), dtype=np.bool_)
        rows += mean_rows(
            inputs,
            subset,
            [("mean", "")],
            levels[index],
            everything,
            items[index],
            frame.annotators[index],
            scale=_SCALE,
        )
    if not places:
        return rows
    whole = Subset(np.arange(len(items)))
    with_level = np.unique(items[~np.isnan(levels)])
    rows.append(count_row("associations", whole, len(with_level), len(places)))
    return rows + _label_rows(inputs, whole, frame, items) + _association_rows(inputs, frame)


def _label_rows(inputs: Inputs, whole: Subset, frame: RatingRows, items: Ints) -> list[ScoreRow]:
    """The share of each label among all answers."""
    rows = []
    for name, label in LABELS.items():
        given = frame.values == label.value
        (row,) = mean_rows(
            inputs,
            whole,
            [(name, "")],
            given.astype(np.float64),
            np.ones((len(given), 1), dtype=np.bool_),
            items,
            frame.annotators,
            scale=SHARE,
        )
        rows.append(replace(row, k=int(given.sum())))
    return rows


def _association_rows(inputs: Inputs, frame: RatingRows) -> list[ScoreRow]:
    """The mean level of each association, with intervals over its own annotators."""
    of_pair: dict[Pair, list[int]] = {}
    for position in np.flatnonzero(frame.values != UNSURE).tolist():
        of_pair.setdefault(frame.pairs[position], []).append(position)
    ordered = sorted(of_pair.items(), key=lambda item: (item[0].group, item[0].attribute))
    intervals = intervals_of_one(inputs, "association", ordered, frame, _SCALE)
    return [
        pair_row("association", pair, float(frame.values[found].mean()), len(found), None, interval)
        for (pair, found), interval in zip(ordered, intervals, strict=True)
    ]
