"""Scores of stereotypical pull; of two models compared, and of a group or region compared with all others
(PROTOCOL §9, §10)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from generation.models import Run
from metrics.core.stats import bootstrap, spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import SHARE, Scale
from metrics.core.stats.spread import Spread
from metrics.pull.data import EmbeddingFrame, read_embeddings, require_embedding_run, runs_compared
from metrics.pull.stats import pull
from metrics.pull.stats.influences import SCALES, mean_influences, pull_influences
from metrics.pull.stats.paired import paired_resampled
from metrics.score_runs import compared_rows, registry, shared_resamples
from metrics.score_runs.compared_rows import ComparedEstimates, Estimates, Mean
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row

COMPARED = ("x", "s_d_s", "s_d_ns")
_PLACES = [pull.COLUMNS.index(name) for name in COMPARED]
_COMPARED_SCALES = tuple(SCALES[place] for place in _PLACES)
_X, _Y = pull.COLUMNS.index("x"), pull.COLUMNS.index("s_s_ns")
# The sets that each of pull.COLUMNS is computed from: default, stereotypical, non-stereotypical.
_SETS = ((0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 1, 2), (0,), (1,), (2,))


@dataclass(frozen=True)
class Group:
    """One group: its values (K,) and the number of images of each, and its influences or its resamples
    (B, K), with B = 0 if none were drawn. The columns are pull.COLUMNS, or for a comparison the first of them
    in the resamples."""

    group_id: int
    group: str
    region: str
    numbers: tuple[int, ...]
    values: Floats
    spread: Spread = field(repr=False)

    def compared(self) -> Estimates:
        """The scores COMPARED."""
        numbers = tuple(self.numbers[place] for place in _PLACES)
        chosen = spread.columns(self.spread, _PLACES)
        return Estimates(self.values[_PLACES], numbers, chosen, _COMPARED_SCALES)


def pull_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = measured_groups(inputs)
    rows = []
    for group in groups:
        pulled = score_row("pull", group.values[_X] > 0, group.numbers[_X], group=group)
        rows += _rows(group.values, group.spread, group.numbers, pulled, group=group)
    for region in sorted({group.region for group in groups} - {""}):
        rows += _mean_rows(inputs, [group for group in groups if group.region == region], f"region: {region}")
    return rows + (_mean_rows(inputs, groups, "") if groups else [])


def measured_groups(inputs: Inputs) -> list[Group]:
    """The groups with images of all three sets, sorted by name, with influences or resamples that all metrics
    of the same embeddings share. Raises NothingEmbedded."""
    run = require_embedding_run(inputs.study, inputs.parameters["run"])
    if not shared_resamples.is_sharing():
        return _measure_groups(inputs, run)
    digest = inputs_digest(inputs.study, registry.get("pull"), inputs.parameters)
    return shared_resamples.draw_once("embeddings", inputs, digest, lambda: _measure_groups(inputs, run))


def _measure_groups(inputs: Inputs, run: Run) -> list[Group]:
    groups = []
    for frame in read_embeddings(run):
        if frame.complete:
            found: Spread = np.zeros((0, len(pull.COLUMNS)))
            if inputs.clustered:
                found = pull_influences(str(frame.group_id), frame.sets)
            elif inputs.resamples:
                default, stereotypical, non_stereotypical = frame.sets
                found = pull.resampled(
                    *(default.vectors, stereotypical.vectors, non_stereotypical.vectors),
                    prompts=(default.prompts, stereotypical.prompts, non_stereotypical.prompts),
                    resamples=inputs.resamples,
                    rng=bootstrap.generator(inputs.seed, frame.group),
                )
            groups.append(_measured(frame, found))
    return sorted(groups, key=lambda group: (group.group, group.group_id))


def _measured(frame: EmbeddingFrame, found: Spread) -> Group:
    point = pull.pull(*(each.vectors for each in frame.sets))
    return Group(
        group_id=frame.group_id,
        group=frame.group,
        region=frame.region,
        numbers=tuple(sum(len(frame.sets[each].vectors) for each in sets) for sets in _SETS),
        values=np.array([getattr(point, name) for name in pull.COLUMNS]),
        spread=found,
    )


def _mean_rows(inputs: Inputs, groups: Sequence[Group], part: str) -> list[ScoreRow]:
    """The means over groups, and the share of groups that are pulled."""
    pulled = np.array([[group.values[_X] > 0] for group in groups], dtype=np.float64)
    values = np.array([group.values for group in groups])
    rng = bootstrap.generator(inputs.seed, part)
    of_share: Spread
    if inputs.clustered:
        of_means = _mean_spread(values, [group.spread for group in groups], rng, SCALES)
        of_share = mean_influences([_label(group.spread) for group in groups], pulled, [SHARE])
    else:
        both = _mean_spread(
            np.hstack([values, pulled]),
            [_with_pulled(group.spread) for group in groups],
            rng,
            [*SCALES, SHARE],
        )
        of_means, of_share = (spread.columns(both, which) for which in (range(len(pull.COLUMNS)), [-1]))
    (interval,) = intervals_or_none(of_share, pulled.mean(axis=0), SHARE)
    share = score_row("pull", pulled.mean(), len(groups), interval, k=int(pulled.sum()), part=part)
    return _rows(values.mean(axis=0), of_means, [len(groups)] * len(pull.COLUMNS), share, part=part)


def _mean_spread(
    values: Floats, spreads: Sequence[Spread], rng: np.random.Generator, scales: Sequence[Scale]
) -> Spread:
    """Of the means of `values` (G, K). Groups are drawn too; a single one is that group, with its prompts."""
    if isinstance(spreads[0], Influences):
        if len(spreads) == 1:
            return spreads[0]
        return mean_influences(list(map(_label, spreads)), values, scales)
    if not len(spreads[0]):
        return spreads[0]
    return pull.resampled_mean(np.stack([_resamples(each) for each in spreads]), rng=rng)


def _label(of_group: Spread) -> str:
    """The same for the same group on both sides of a comparison."""
    assert isinstance(of_group, Influences)
    assert of_group.images.strata is not None
    return str(of_group.images.strata[0])


def _resamples(of_group: Spread) -> Floats:
    assert not isinstance(of_group, Influences)
    return of_group


def _with_pulled(of_group: Spread) -> Floats:
    samples = _resamples(of_group)
    return np.column_stack([samples, samples[:, _X] > 0])


def _rows(
    values: Floats,
    found: Spread,
    numbers: Sequence[int],
    pulled: ScoreRow,
    *,
    group: Group | None = None,
    part: str = "",
) -> list[ScoreRow]:
    """A row for each of pull.COLUMNS, and after x for y and for whether it is pulled."""
    rows = []
    intervals = intervals_or_none(found, values, SCALES)
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
    spreads: Sequence[Spread] = [np.zeros((0, len(pull.COLUMNS)))] * 2
    if inputs.clustered:
        spreads = [pull_influences(str(frame.group_id), frame.sets) for frame in (first, second)]
    elif inputs.resamples:
        rng = bootstrap.generator(inputs.seed, first.group)
        spreads = paired_resampled(first.sets, second.sets, resamples=inputs.resamples, rng=rng)
    groups = [_measured(frame, drawn) for frame, drawn in zip((first, second), spreads, strict=True)]
    one, other = (group.compared() for group in groups)
    together = tuple(a + b for a, b in zip(one.n, other.n, strict=True))
    return groups[0], ComparedEstimates(groups[0], "", together, one, other)


def _mean_of(groups: Sequence[ComparedEstimates], part: str, inputs: Inputs) -> ComparedEstimates:
    """The means of both sides over `groups`. Groups are resampled too, with the same draw for both sides."""
    mean, k = _mean(inputs, part), len(COMPARED)
    if inputs.clustered:
        first, second = mean([one.first for one in groups]), mean([one.second for one in groups])
        return ComparedEstimates(None, part, first.n, first, second)
    joined = [
        Estimates(
            np.concatenate([one.first.values, one.second.values]),
            one.first.n + one.second.n,
            np.hstack([_resamples(one.first.spread), _resamples(one.second.spread)]),
            one.first.scales + one.second.scales,
        )
        for one in groups
    ]
    both = mean(joined)
    drawn = _resamples(both.spread)
    first = Estimates(both.values[:k], both.n[:k], drawn[:, :k], both.scales[:k])
    second = Estimates(both.values[k:], both.n[k:], drawn[:, k:], both.scales[k:])
    return ComparedEstimates(None, part, first.n, first, second)


def _mean(inputs: Inputs, part: str) -> Mean:
    """A function for means over groups that are drawn, as for the means of pull."""
    rng = bootstrap.generator(inputs.seed, part)

    def mean(groups: Sequence[Estimates]) -> Estimates:
        values = np.array([one.values for one in groups])
        found = _mean_spread(values, [one.spread for one in groups], rng, groups[0].scales)
        return Estimates(values.mean(axis=0), (len(groups),) * values.shape[1], found, groups[0].scales)

    return mean


def pull_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = [(group, group.region, group.compared()) for group in measured_groups(inputs)]
    return compared_rows.contrast_rows(COMPARED, groups, inputs, mean=_mean(inputs, "others"))
