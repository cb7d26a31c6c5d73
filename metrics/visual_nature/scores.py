"""Scores of whether attributes can be seen (PROTOCOL §2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from annotation.models import Study
from metrics.core.stats import bootstrap, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined
from metrics.visual_nature import stats, visual_rule
from metrics.visual_nature.data import VisualFrame, read_visual_nature

MEAN_SCORES = (3.5, 4.0, 4.5, 5.0)
"""The rules by mean score that are compared with the study's own; 5 asks everybody for Strongly agree."""
_SAME = 2  # so many chose the same label, for the consensus (ViSAGe, figure 6)
_Passed = Callable[[Ints], Bools]


def visual_nature_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    passed = visual_rule.passed(inputs.study, frame.ratings)
    units: dict[int, list[int]] = {}
    for place, attribute in enumerate(frame.attribute_ids):
        units.setdefault(attribute, []).append(place)
    rows = []
    for attribute, places in units.items():
        pooled = frame.ratings[places].sum(axis=0)[None, :]
        n, k = int(pooled.sum()), int(stats.agreeing(pooled)[0])
        # An attribute asked twice must pass each time: no answer overrules another.
        text = frame.attributes[places[0]]
        visual = float(passed[places].all())
        rows.append(ScoreRow("visual", visual, n, k, attribute_id=attribute, attribute=text))
        mean = float(stats.mean_scores(pooled)[0])
        interval = _of_mean(inputs, frame, places, mean)
        rows.append(
            ScoreRow("mean_score", mean, n, attribute_id=attribute, attribute=text, **bounds(interval))
        )
    return sorted(rows, key=lambda row: (row.attribute, row.name != "visual"))


def _of_mean(
    inputs: Inputs, frame: VisualFrame, units: list[int], mean: float
) -> percentiles.Interval | None:
    """The interval of the mean score of one attribute: its annotators are drawn, and there is one item."""
    if not inputs.resamples:
        return None
    # answers stand in the order of their units
    ends = [np.searchsorted(frame.unit_of, [unit, unit + 1]) for unit in units]
    given = np.concatenate([np.arange(*each) for each in ends])
    drawn = means.resampled_means(
        frame.labels[given] + stats.SCALE[0],
        np.ones((len(given), 1), dtype=np.bool_),
        np.zeros(len(given)),
        frame.annotators[given],
        resamples=inputs.resamples,
        rng=bootstrap.generator(inputs.seed, f"mean score {frame.attributes[units[0]]}"),
    )
    return percentiles.percentile_intervals(drawn, [mean])[0]


def consensus_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    found = stats.consensus(frame.ratings, at_least=_SAME)
    intervals: list[percentiles.Interval | None] = [None] * len(found.percent)
    if inputs.resamples and found.units:
        shares = _resampled(inputs, frame, "consensus", lambda table: table >= _SAME)
        intervals = [*percentiles.percentile_intervals(100 * shares, found.percent)]
    # the order of the labels in ViSAGe's figure 6
    order = (("strongly_agree", 4), ("agree", 3), ("disagree", 1), ("strongly_disagree", 0), ("unsure", 2))
    return [
        ScoreRow(
            name=name,
            value=defined(found.percent[place]),
            n=found.units,
            k=found.attributes[place],
            **bounds(intervals[place]),
        )
        for name, place in order
    ]


def visual_rules_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    if not frame.attribute_ids:
        return []
    rules = _rules(frame, inputs.study)

    def of_all(table: Ints) -> Bools:
        return np.column_stack([rule(table) for rule in rules.values()])

    attributes, place = np.unique(frame.attribute_ids, return_inverse=True)
    # An attribute asked twice must pass each time, by every rule.
    failed = np.zeros((len(attributes), len(rules)), dtype=np.int64)
    np.add.at(failed, place.ravel(), ~of_all(frame.ratings))
    n, numbers = len(attributes), (failed == 0).sum(axis=0).tolist()
    intervals: list[percentiles.Interval | None] = [None] * len(rules)
    if inputs.resamples:
        drawn = _resampled(inputs, frame, "visual rules", of_all, require_all_units=True)
        intervals = [*percentiles.percentile_intervals(drawn, [k / n for k in numbers])]
    used = visual_rule.part_of(inputs.study)
    rows = []
    for rule, k, interval in zip(rules, numbers, intervals, strict=True):
        rows.append(ScoreRow("selected", float(k), n, k, part=rule))
        rows.append(ScoreRow("share", k / n, n, k, part=rule, **bounds(interval)))
        rows.append(ScoreRow("in_use", float(rule == used), n, part=rule))
    return rows


def _resampled(
    inputs: Inputs, frame: VisualFrame, name: str, passed: _Passed, *, require_all_units: bool = False
) -> Floats:
    """Shares of the attributes that pass, in each resample of attributes and annotators."""

    def rule(table: Ints) -> tuple[Bools, Bools]:
        fits = passed(table)
        return fits, np.repeat(table.sum(axis=1)[:, None] > 0, fits.shape[1], axis=1)

    return passing_shares.resampled_shares(
        frame.unit_of,
        frame.labels,
        frame.annotators,
        items=frame.attribute_ids,
        number=len(stats.SCALE),
        rule=rule,
        require_all_units=require_all_units,
        resamples=inputs.resamples,
        rng=bootstrap.generator(inputs.seed, name),
    )


def _rules(frame: VisualFrame, study: Study) -> dict[str, _Passed]:
    """Which units each rule takes for visual: by how many agreed, then by the mean score; that of `study` is
    among them."""
    most = max(int(frame.ratings.sum(axis=1).max()), study.visual_rule or 1)
    rules: dict[str, _Passed] = {
        visual_rule.part_by_agreement(number): partial(stats.is_visual, at_least=number)
        for number in (None, *range(most, 0, -1))
    }
    own = () if study.visual_mean is None else (study.visual_mean,)
    for score in sorted({*MEAN_SCORES, *own}):
        rules[visual_rule.part_by_mean(score)] = partial(stats.by_mean, at_least=score)
    return rules
