"""Scores of whether attributes can be seen (PROTOCOL §2)."""

from __future__ import annotations

import numpy as np

from metrics import frames
from metrics.scoring.rows import Compute, Inputs, ScoreRow, bounds, defined
from metrics.stats import bootstrap, percentiles, visual_nature, votes
from metrics.stats.checks import Bools

MEAN_SCORES = (3.5, 4.0, 4.5, 5.0)
"""The rules by mean score that are compared; 5 asks everybody for Strongly agree."""


def _visual_nature(inputs: Inputs) -> list[ScoreRow]:
    frame = frames.visual_nature(inputs.study)
    passed = visual_nature.is_visual(frame.ratings, at_least=inputs.study.visual_rule)
    units: dict[int, list[int]] = {}
    for place, attribute in enumerate(frame.attribute_ids):
        units.setdefault(attribute, []).append(place)
    rows = []
    for attribute, places in units.items():
        pooled = frame.ratings[places].sum(axis=0)[None, :]
        n, k = int(pooled.sum()), int(visual_nature.agreeing(pooled)[0])
        # An attribute asked twice must pass each time: no answer overrules another.
        text = frame.attributes[places[0]]
        visual = float(passed[places].all())
        rows.append(ScoreRow("visual", visual, n, k, attribute_id=attribute, attribute=text))
        mean = float(visual_nature.mean_scores(pooled)[0])
        rows.append(ScoreRow("mean_score", mean, n, attribute_id=attribute, attribute=text))
    return sorted(rows, key=lambda row: (row.attribute, row.name != "visual"))


def _consensus(inputs: Inputs) -> list[ScoreRow]:
    found = visual_nature.consensus(frames.visual_nature(inputs.study).ratings)
    # the order of the labels in ViSAGe's figure 6
    order = (("strongly_agree", 4), ("agree", 3), ("disagree", 1), ("strongly_disagree", 0), ("unsure", 2))
    return [
        ScoreRow(name=name, value=defined(found.percent[place]), n=found.units, k=found.attributes[place])
        for name, place in order
    ]


def _visual_rules(inputs: Inputs) -> list[ScoreRow]:
    frame = frames.visual_nature(inputs.study)
    if not frame.attribute_ids:
        return []
    rules = _rules(frame, inputs.study.visual_rule)
    attributes, place = np.unique(frame.attribute_ids, return_inverse=True)
    # An attribute asked twice must pass each time, by every rule.
    failed = np.zeros((len(attributes), len(rules)), dtype=np.int64)
    np.add.at(failed, place.ravel(), ~np.column_stack([*rules.values()]))
    passed = failed == 0
    n, numbers = len(attributes), passed.sum(axis=0).tolist()
    intervals: list[percentiles.Interval | None] = [None] * len(rules)
    if inputs.resamples:
        drawn = votes.resampled_shares(
            passed,
            np.ones_like(passed),
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, "visual rules"),
        )
        intervals = [*percentiles.percentile_intervals(drawn, [k / n for k in numbers])]
    used = rule_part(inputs.study.visual_rule)
    rows = []
    for rule, k, interval in zip(rules, numbers, intervals, strict=True):
        rows.append(ScoreRow("selected", float(k), n, k, part=rule))
        rows.append(ScoreRow("share", k / n, n, k, part=rule, **bounds(interval)))
        rows.append(ScoreRow("in_use", float(rule == used), n, part=rule))
    return rows


def _rules(frame: frames.VisualFrame, used: int | None) -> dict[str, Bools]:
    """Which units each rule takes for visual: by how many agreed, then by the mean score."""
    most = max(int(frame.ratings.sum(axis=1).max()), used or 1)
    rules = {rule_part(None): visual_nature.is_visual(frame.ratings)}
    for number in range(most, 0, -1):
        rules[rule_part(number)] = visual_nature.is_visual(frame.ratings, at_least=number)
    for score in MEAN_SCORES:
        rules[f"rule: mean score of at least {score:g}"] = visual_nature.by_mean(
            frame.ratings, at_least=score
        )
    return rules


def rule_part(at_least: int | None) -> str:
    """The rule by how many chose Agree or Strongly agree, None for all, as the part of a score."""
    return "rule: all agree" if at_least is None else f"rule: at least {at_least} agree"


COMPUTE: dict[str, Compute] = {
    "visual_nature": _visual_nature,
    "consensus": _consensus,
    "visual_rules": _visual_rules,
}
