"""Scores of stereotypical pull; of two models compared, and of a group or region compared with all others
(PROTOCOL §9, §10)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from generation.models import Run
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Floats
from metrics.pull.data import EmbeddingFrame, read_embeddings, require_embedding_run, runs_compared
from metrics.pull.stats import pull
from metrics.pull.stats.paired import paired_resampled
from metrics.score_runs import compared_rows, registry, shared_resamples
from metrics.score_runs.compared_rows import ComparedEstimates, Estimates, Mean
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row

COMPARED = ("x", "s_d_s", "s_d_ns")
_PLACES = [pull.COLUMNS.index(name) for name in COMPARED]
_X, _Y = pull.COLUMNS.index("x"), pull.COLUMNS.index("s_s_ns")
# The sets that each of pull.COLUMNS is computed from: default, stereotypical, non-stereotypical.
_SETS = ((0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 1, 2), (0,), (1,), (2,))


@dataclass(frozen=True)
class Group:
    """One group: its values (K,) and the number of images of each, and its resamples (B, K), with B = 0 if
    none were drawn. The columns are pull.COLUMNS, or for a comparison the first of them in the resamples."""

    group_id: int
    group: str
    region: str
    numbers: tuple[int, ...]
    values: Floats
    samples: Floats = field(repr=False)

    def compared(self) -> Estimates:
        """The scores COMPARED."""
        numbers = tuple(self.numbers[place] for place in _PLACES)
        return Estimates(self.values[_PLACES], numbers, self.samples[:, _PLACES])


def pull_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = measured_groups(inputs)
    rows = []
    for group in groups:
        pulled = score_row("pull", group.values[_X] > 0, group.numbers[_X], group=group)
        rows += _rows(group.values, group.samples, group.numbers, pulled, group=group)
    for region in sorted({group.region for group in groups} - {""}):
        rows += _mean_rows(inputs, [group for group in groups if group.region == region], f"region: {region}")
    return rows + (_mean_rows(inputs, groups, "") if groups else [])


def measured_groups(inputs: Inputs) -> list[Group]:
    """The groups with images of all three sets, sorted by name, with resamples that all metrics of the same
    embeddings share. Raises NothingEmbedded."""
    run = require_embedding_run(inputs.study, inputs.parameters["run"])
    if not shared_resamples.is_shared(inputs):
        return _measure_groups(inputs, run)
    digest = inputs_digest(inputs.study, registry.get("pull"), inputs.parameters)
    return shared_resamples.draw_once("embeddings", inputs, digest, lambda: _measure_groups(inputs, run))


def _measure_groups(inputs: Inputs, run: Run) -> list[Group]:
    groups = []
    for frame in read_embeddings(run):
        if frame.complete:
            samples = np.zeros((0, len(pull.COLUMNS)))
            if inputs.resamples:
                default, stereotypical, non_stereotypical = frame.sets
                samples = pull.resampled(
                    *(default.vectors, stereotypical.vectors, non_stereotypical.vectors),
                    prompts=(default.prompts, stereotypical.prompts, non_stereotypical.prompts),
                    resamples=inputs.resamples,
                    rng=bootstrap.generator(inputs.seed, frame.group),
                )
            groups.append(_measured(frame, samples))
    return sorted(groups, key=lambda group: (group.group, group.group_id))


def _measured(frame: EmbeddingFrame, samples: Floats) -> Group:
    point = pull.pull(*(each.vectors for each in frame.sets))
    return Group(
        group_id=frame.group_id,
        group=frame.group,
        region=frame.region,
        numbers=tuple(sum(len(frame.sets[each].vectors) for each in sets) for sets in _SETS),
        values=np.array([getattr(point, name) for name in pull.COLUMNS]),
        samples=samples,
    )


def _mean_rows(inputs: Inputs, groups: Sequence[Group], part: str) -> list[ScoreRow]:
    """The means over groups, and the share of groups that are pulled."""
    pulled = np.array([[group.values[_X] > 0] for group in groups], dtype=np.float64)
    means = np.hstack([np.array([group.values for group in groups]), pulled]).mean(axis=0)
    samples = np.zeros((0, len(means)))
    if inputs.resamples:
        each = np.stack([np.column_stack([group.samples, group.samples[:, _X] > 0]) for group in groups])
        samples = pull.resampled_mean(each, rng=bootstrap.generator(inputs.seed, part))
    (interval,) = intervals_or_none(samples[:, -1:], means[-1:])
    share = score_row("pull", means[-1], len(groups), interval, k=int(pulled.sum()), part=part)
    return _rows(means[:-1], samples[:, :-1], [len(groups)] * len(pull.COLUMNS), share, part=part)


def _rows(
    values: Floats,
    samples: Floats,
    numbers: Sequence[int],
    pulled: ScoreRow,
    *,
    group: Group | None = None,
    part: str = "",
) -> list[ScoreRow]:
    """A row for each of pull.COLUMNS, and after x for y and for whether it is pulled."""
    rows = []
    intervals = intervals_or_none(samples, values)
    for name, value, n, interval in zip(pull.COLUMNS, values.tolist(), numbers, intervals, strict=True):
        rows.append(score_row(name, value, n, interval, group=group, part=part))
        if name == "x":
            rows.append(score_row("y", values[_Y], numbers[_Y], intervals[_Y], group=group, part=part))
            rows.append(pulled)
    return rows


def pull_difference_scores(inputs: Inputs) -> list[ScoreRow]:
    found = sorted(
        (_compare(inputs, *pair) for pair in _pairs(*runs_compared(inputs.study, inputs.parameters))),
        key=lambda one: (one[0].group, one[0].group_id),
    )
    if not found:
        return []
    groups = [one for _, one in found]
    rows = compared_rows.difference_rows(COMPARED, groups, inputs)
    of_regions = []
    for region in sorted({group.region for group, _ in found} - {""}):
        inside = [one for group, one in found if group.region == region]
        of_regions.append(_mean_of(inside, f"region: {region}", inputs))
    rows += compared_rows.difference_rows(COMPARED, of_regions, inputs)
    return rows + compared_rows.difference_rows(COMPARED, [_mean_of(groups, "", inputs)], inputs)


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
) -> tuple[Group, ComparedEstimates]:
    samples: Sequence[Floats] = [np.zeros((0, len(pull.COLUMNS)))] * 2
    if inputs.resamples:
        rng = bootstrap.generator(inputs.seed, first.group)
        samples = paired_resampled(first.sets, second.sets, resamples=inputs.resamples, rng=rng)
    groups = [_measured(frame, drawn) for frame, drawn in zip((first, second), samples, strict=True)]
    one, other = (group.compared() for group in groups)
    together = tuple(a + b for a, b in zip(one.n, other.n, strict=True))
    return groups[0], ComparedEstimates(groups[0], "", together, one, other)


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
    both, k = _mean(inputs, part)(joined), len(COMPARED)
    first = Estimates(both.values[:k], both.n[:k], both.samples[:, :k])
    second = Estimates(both.values[k:], both.n[k:], both.samples[:, k:])
    return ComparedEstimates(None, part, first.n, first, second)


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
    groups = [(group, group.region, group.compared()) for group in measured_groups(inputs)]
    return compared_rows.contrast_rows(COMPARED, groups, inputs, mean=_mean(inputs, "others"))
