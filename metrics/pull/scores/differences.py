"""Scores that compare the pull of two models, and of a group or region with all others (PROTOCOL §9, §10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from generation.models import Run
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Floats
from metrics.pull.data import EmbeddingFrame, read_embeddings, runs_compared
from metrics.pull.scores.pull import image_count, measured_groups
from metrics.pull.stats import pull
from metrics.pull.stats.paired import COMPARED, ImageVectors, paired_resampled
from metrics.score_runs import compared_rows
from metrics.score_runs.compared_rows import ComparedEstimates, Estimates, Mean
from metrics.score_runs.rows import Inputs, ScoreRow

NAMES = ("x", "s_d_s", "s_d_ns")
_PLACES = [pull.COLUMNS.index(name) for name in NAMES]


@dataclass(frozen=True)
class _Group:
    """An identity group without its vectors."""

    group_id: int
    group: str
    region: str


def pull_difference_scores(inputs: Inputs) -> list[ScoreRow]:
    found = sorted(
        (_compare(inputs, *pair) for pair in _pairs(*runs_compared(inputs.study, inputs.parameters))),
        key=lambda one: (one[0].group, one[0].group_id),
    )
    if not found:
        return []
    groups = [one for _, one in found]
    rows = compared_rows.difference_rows(NAMES, groups, inputs)
    regions = np.array([group.region for group, _ in found])
    of_regions = [
        _mean_of([groups[place] for place in np.flatnonzero(regions == region)], f"region: {region}", inputs)
        for region in sorted(set(regions.tolist()) - {""})
    ]
    rows += compared_rows.difference_rows(NAMES, of_regions, inputs)
    return rows + compared_rows.difference_rows(NAMES, [_mean_of(groups, "", inputs)], inputs)


def _pairs(first: Run, second: Run) -> Iterator[tuple[EmbeddingFrame, EmbeddingFrame]]:
    """Yield the groups with images of all three sets on both sides, one pair in memory at a time."""
    others = read_embeddings(second)
    other = next(others, None)
    for one in read_embeddings(first):
        while other is not None and other.group_id < one.group_id:
            other = next(others, None)
        if other is not None and other.group_id == one.group_id and one.complete and other.complete:
            yield one, other


def _compare(
    inputs: Inputs, first: EmbeddingFrame, second: EmbeddingFrame
) -> tuple[_Group, ComparedEstimates]:
    sides = [
        [ImageVectors(each.vectors, each.prompts, each.images) for each in frame.sets]
        for frame in (first, second)
    ]
    samples: Sequence[Floats] = [np.zeros((0, len(COMPARED)))] * 2
    if inputs.resamples:
        rng = bootstrap.generator(inputs.seed, first.group)
        samples = paired_resampled(*sides, resamples=inputs.resamples, rng=rng)
    measured = []
    for frame, drawn in zip((first, second), samples, strict=True):
        point = pull.pull(*(each.vectors for each in frame.sets))
        images = {name: len(each.vectors) for name, each in zip("dsn", frame.sets, strict=True)}
        measured.append(
            Estimates(
                np.array([getattr(point, name) for name in NAMES]),
                tuple(image_count(images, name) for name in NAMES),
                drawn[:, [COMPARED.index(name) for name in NAMES]],
            )
        )
    one, other = measured
    together = tuple(a + b for a, b in zip(one.n, other.n, strict=True))
    group = _Group(first.group_id, first.group, first.region)
    return group, ComparedEstimates(group, "", together, one, other)


def _mean_of(groups: Sequence[ComparedEstimates], part: str, inputs: Inputs) -> ComparedEstimates:
    """The means of both sides over `groups`. Groups are resampled too, with the same draw for both sides."""
    joined = [
        Estimates(
            np.concatenate([one.first.values, one.second.values]),
            one.first.n + one.second.n,
            np.hstack([one.first.samples, one.second.samples]),
        )
        for one in groups
    ]
    both, k = _mean(inputs, part)(joined), len(NAMES)
    first = Estimates(both.values[:k], both.n[:k], both.samples[:, :k])
    return ComparedEstimates(
        None, part, first.n, first, Estimates(both.values[k:], both.n[k:], both.samples[:, k:])
    )


def _mean(inputs: Inputs, part: str) -> Mean:
    """A function for means over resampled groups, as for the means of pull."""
    rng = bootstrap.generator(inputs.seed, part)

    def mean(groups: Sequence[Estimates]) -> Estimates:
        values = np.mean([one.values for one in groups], axis=0)
        samples = groups[0].samples  # has no rows if nothing is drawn
        if inputs.resamples:
            samples = pull.resampled_mean(np.stack([one.samples for one in groups]), rng=rng)
        return Estimates(values, (len(groups),) * len(values), samples)

    return mean


def pull_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = [
        (
            group,
            group.region,
            Estimates(
                group.values[_PLACES],
                tuple(image_count(group.images, name) for name in NAMES),
                group.samples[:, _PLACES],
            ),
        )
        for group in measured_groups(inputs)
    ]
    return compared_rows.contrast_rows(NAMES, groups, inputs, mean=_mean(inputs, "others"))
