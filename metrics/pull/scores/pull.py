"""Scores of stereotypical pull (PROTOCOL §9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from generation.models import Run
from metrics.core.stats import bootstrap, percentiles
from metrics.core.stats.checks import Floats
from metrics.pull.data import EmbeddingFrame, read_embeddings, require_embedding_run
from metrics.pull.stats import pull
from metrics.score_runs import registry, shared_resamples
from metrics.score_runs.digests import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined

_KIND = "embeddings"
_X, _Y = pull.COLUMNS.index("x"), pull.COLUMNS.index("s_s_ns")
# The score names in the order of a group's rows, each with the sets that it is computed from.
_ROWS = (
    ("s_d_s", "ds"),
    ("s_d_ns", "dn"),
    ("s_s_ns", "sn"),
    ("s_mean", "dsn"),
    ("x", "dsn"),
    ("s_d_d", "d"),
    ("s_s_s", "s"),
    ("s_ns_ns", "n"),
)


@dataclass(frozen=True)
class Group:
    """One group: its values (K,) and its resamples (B, K), with B = 0 if none were drawn."""

    group_id: int
    group: str
    region: str
    images: dict[str, int]
    values: Floats
    samples: Floats = field(repr=False)


def pull_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = measured_groups(inputs)
    rows = [row for group in groups for row in _group_rows(group)]
    for region in sorted({group.region for group in groups} - {""}):
        rows += _mean_rows(inputs, [group for group in groups if group.region == region], region)
    return rows + (_mean_rows(inputs, groups, "") if groups else [])


def measured_groups(inputs: Inputs) -> list[Group]:
    """The groups with images of all three sets, sorted by name, with resamples that all metrics of the same
    embeddings share. Raises NothingEmbedded."""
    run = require_embedding_run(inputs.study, inputs.parameters["run"])
    if not shared_resamples.is_shared(inputs):
        return _measure_groups(inputs, run)
    digest = inputs_digest(inputs.study, registry.get("pull"), inputs.parameters)
    return shared_resamples.draw_once(_KIND, inputs, digest, lambda: _measure_groups(inputs, run))


def _measure_groups(inputs: Inputs, run: Run) -> list[Group]:
    groups = [_measure(inputs, frame) for frame in read_embeddings(run) if frame.complete]
    return sorted(groups, key=lambda group: (group.group, group.group_id))


def _measure(inputs: Inputs, frame: EmbeddingFrame) -> Group:
    sets = frame.default, frame.stereotypical, frame.non_stereotypical
    default, stereotypical, non_stereotypical = (each.vectors for each in sets)
    point = pull.pull(default, stereotypical, non_stereotypical)
    samples = np.zeros((0, len(pull.COLUMNS)))
    if inputs.resamples:
        samples = pull.resampled(
            default,
            stereotypical,
            non_stereotypical,
            prompts=(frame.default.prompts, frame.stereotypical.prompts, frame.non_stereotypical.prompts),
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, frame.group),
        )
    return Group(
        group_id=frame.group_id,
        group=frame.group,
        region=frame.region,
        images={name: len(each.vectors) for name, each in zip("dsn", sets, strict=True)},
        values=np.array([getattr(point, name) for name in pull.COLUMNS]),
        samples=samples,
    )


def image_count(images: Mapping[str, int], name: str) -> int:
    """The number of images that a score of a group is computed from."""
    return sum(images[each] for each in dict(_ROWS)[name])


def _group_rows(group: Group) -> list[ScoreRow]:
    intervals = _intervals(group.samples, group.values)
    rows = []
    for name, _ in _ROWS:
        place, n = pull.COLUMNS.index(name), image_count(group.images, name)
        rows.append(_row(name, group.values[place], intervals[place], n, group=group))
        if name == "x":
            number = group.images["s"] + group.images["n"]
            rows.append(_row("y", group.values[_Y], intervals[_Y], number, group=group))
            rows.append(_row("pull", float(group.values[_X] > 0), None, n, group=group))
    return rows


def _mean_rows(inputs: Inputs, groups: Sequence[Group], region: str) -> list[ScoreRow]:
    """The means over groups, and the share of groups that are pulled."""
    part = f"region: {region}" if region else ""
    pulled = np.array([[group.values[_X] > 0] for group in groups], dtype=np.float64)
    values = np.hstack([np.array([group.values for group in groups]), pulled])
    samples = np.zeros((0, values.shape[1]))
    if inputs.resamples:
        each = np.stack([np.column_stack([group.samples, group.samples[:, _X] > 0]) for group in groups])
        samples = pull.resampled_mean(each, rng=bootstrap.generator(inputs.seed, part))
    means = values.mean(axis=0)
    intervals = _intervals(samples, means)
    n, k = len(groups), int(pulled.sum())
    rows = []
    for name, _ in _ROWS:
        place = pull.COLUMNS.index(name)
        rows.append(_row(name, means[place], intervals[place], n, part=part))
        if name == "x":
            rows.append(_row("y", means[_Y], intervals[_Y], n, part=part))
            rows.append(_row("pull", means[-1], intervals[-1], n, k=k, part=part))
    return rows


def _intervals(samples: Floats, values: Floats) -> Sequence[percentiles.Interval | None]:
    if not len(samples):
        return [None] * len(values)
    return percentiles.percentile_intervals(samples, values)


def _row(
    name: str,
    value: float,
    interval: percentiles.Interval | None,
    n: int,
    *,
    k: int | None = None,
    group: Group | None = None,
    part: str = "",
) -> ScoreRow:
    return ScoreRow(
        name=name,
        value=defined(value),
        n=n,
        k=k,
        group_id=None if group is None else group.group_id,
        group="" if group is None else group.group,
        part=part,
        **bounds(interval),
    )
