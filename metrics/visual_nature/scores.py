"""Scores of whether attributes can be seen (PROTOCOL §2)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from annotation.models import Study
from metrics.core.stats import bootstrap, clustered, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Ints
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import PER_CENT, SHARE, Scale
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, intervals_or_none, score_row
from metrics.visual_nature import stats, visual_rule
from metrics.visual_nature.data import VisualFrame, read_visual_nature

MEAN_SCORES = (3.5, 4.0, 4.5, 5.0)
"""The rules by mean score to compare with the study's own; 5 requires Strongly agree from everybody."""
_CONSENSUS = 2  # annotators with the same label (ViSAGe, figure 6)
_SCORES = Scale(stats.SCALE[0], stats.SCALE[-1])
_Rule = Callable[[Ints], Bools]


def visual_nature_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    passed = visual_rule.is_visual(inputs.study, frame.ratings)
    units: dict[int, list[int]] = {}
    for position, attribute in enumerate(frame.attribute_ids):
        units.setdefault(attribute, []).append(position)
    intervals = _mean_intervals(inputs, frame, units)
    rows = []
    for (attribute, places), interval in zip(units.items(), intervals, strict=True):
        pooled = frame.ratings[places].sum(axis=0)[None, :]
        n, k = int(pooled.sum()), int(stats.agree_counts(pooled)[0])
        # an attribute with several units must pass in each of them
        text = frame.attributes[places[0]]
        visual = float(passed[places].all())
        rows.append(ScoreRow("visual", visual, n, k, attribute_id=attribute, attribute=text))
        mean = float(stats.mean_scores(pooled)[0])
        rows.append(
            ScoreRow("mean_score", mean, n, attribute_id=attribute, attribute=text, **bounds(interval))
        )
    return sorted(rows, key=lambda row: (row.attribute, row.name != "visual"))


def _mean_intervals(
    inputs: Inputs, frame: VisualFrame, units: dict[int, list[int]]
) -> Sequence[Interval | None]:
    """The intervals of the mean scores of attributes, {attribute: its units}: of each only its annotators are
    resampled; clustered intervals share the variance within attributes."""
    scores = frame.labels + stats.SCALE[0]
    if inputs.clustered and units:
        item_of_unit = np.empty(len(frame.attribute_ids), dtype=np.int64)
        for item, places in enumerate(units.values()):
            item_of_unit[places] = item
        return means.item_intervals(scores, item_of_unit[frame.unit_of], frame.annotators, _SCORES)
    if not inputs.resamples:
        return [None] * len(units)
    found = []
    for places in units.values():
        # ratings are in the order of their units
        ends = [np.searchsorted(frame.unit_of, [unit, unit + 1]) for unit in places]
        rating_rows = np.concatenate([np.arange(*each) for each in ends])
        drawn = means.resampled_means(
            scores[rating_rows],
            np.ones((len(rating_rows), 1), dtype=np.bool_),
            np.zeros(len(rating_rows)),
            frame.annotators[rating_rows],
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, f"mean score {frame.attributes[places[0]]}"),
        )
        found += percentiles.percentile_intervals(
            drawn, stats.mean_scores(frame.ratings[places].sum(0)[None])
        )
    return found


def consensus_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    found = stats.consensus(frame.ratings, at_least=_CONSENSUS)
    intervals: Sequence[Interval | None] = [None] * len(stats.SCALE)
    if found.units:
        intervals = _intervals(
            inputs, frame, "consensus", lambda table: table >= _CONSENSUS, found.percent, PER_CENT
        )
    # the order of the labels in ViSAGe's figure 6
    order = (("strongly_agree", 4), ("agree", 3), ("disagree", 1), ("strongly_disagree", 0), ("unsure", 2))
    return [
        score_row(name, found.percent[each], found.units, intervals[each], k=found.attributes[each])
        for name, each in order
    ]


def visual_rules_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_visual_nature(inputs.study)
    if not frame.attribute_ids:
        return []
    rules = _compared_rules(frame, inputs.study)

    def passes_each_rule(table: Ints) -> Bools:
        return np.column_stack([rule(table) for rule in rules.values()])

    attributes, position = np.unique(frame.attribute_ids, return_inverse=True)
    # an attribute with several units must pass in each of them, by every rule
    failed = np.zeros((len(attributes), len(rules)), dtype=np.int64)
    np.add.at(failed, position.ravel(), ~passes_each_rule(frame.ratings))
    n, numbers = len(attributes), (failed == 0).sum(axis=0).tolist()
    shares = [k / n for k in numbers]
    intervals = _intervals(inputs, frame, "visual rules", passes_each_rule, shares, require_all_units=True)
    used = visual_rule.part_of(inputs.study)
    rows = []
    for rule, k, interval in zip(rules, numbers, intervals, strict=True):
        rows.append(score_row("selected", k, n, k=k, part=rule))
        rows.append(score_row("share", k / n, n, interval, k=k, part=rule))
        rows.append(score_row("in_use", rule == used, n, part=rule))
    return rows


def _intervals(
    inputs: Inputs,
    frame: VisualFrame,
    name: str,
    passed: _Rule,
    values: Sequence[float],
    scale: Scale = SHARE,
    *,
    require_all_units: bool = False,
) -> list[Interval | None]:
    """The intervals of the shares of attributes that pass, `values` on a `scale` from 0."""

    def rule(table: Ints) -> tuple[Bools, Bools]:
        fits = passed(table)
        return fits, np.repeat(table.sum(axis=1)[:, None] > 0, fits.shape[1], axis=1)

    answers = (frame.unit_of, frame.labels, frame.annotators)
    options: passing_shares.Options = {
        "items": frame.attribute_ids,
        "number": len(stats.SCALE),
        "rule": rule,
        "require_all_units": require_all_units,
    }
    if inputs.clustered:
        each = passing_shares.share_influences(*answers, **options)
        return [*clustered.separate_intervals(values, [one.scaled(scale.high) for one in each], scale)]
    samples = None
    if inputs.resamples:
        rng = bootstrap.generator(inputs.seed, name)
        drawn = passing_shares.resampled_shares(*answers, **options, resamples=inputs.resamples, rng=rng)
        samples = scale.high * drawn
    return intervals_or_none(samples, values)


def _compared_rules(frame: VisualFrame, study: Study) -> dict[str, _Rule]:
    """The rules to compare, including that of `study`: by agreeing annotators, then by mean score."""
    most = max(int(frame.ratings.sum(axis=1).max()), study.visual_rule or 1)
    rules: dict[str, _Rule] = {
        visual_rule.part_by_agreement(number): partial(stats.is_visual, at_least=number)
        for number in (None, *range(most, 0, -1))
    }
    own = () if study.visual_mean is None else (study.visual_mean,)
    for score in sorted({*MEAN_SCORES, *own}):
        rules[visual_rule.part_by_mean(score)] = partial(stats.is_visual_by_mean, at_least=score)
    return rules
