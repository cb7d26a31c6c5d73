"""How offensive attributes and associations are (PROTOCOL §4)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, clustered, means, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import Scale
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined, score_row
from metrics.votes import stats
from metrics.votes.data.own_answers import RatingRows, read_rated_offensiveness
from metrics.votes.data.source import Pair, read_rated_associations
from metrics.votes.scores.subsets import Subset, pool_part, subsets

_SCALE = Scale(means.LOWEST, means.HIGHEST)
UNSURE = 0
"""Unsure is the value 0 of the scale: it is part of every mean and also counted."""


def attribute_offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_rated_associations(inputs.study)
    pairs = frame.votes.pairs
    single = np.array([np.mean(ratings) if ratings else np.nan for ratings in frame.ratings])
    values = frame.published_means if inputs.variant == "published" else single
    attributes = _attribute_ids(pairs)
    passed = stats.stereotype_table(frame.votes.in_region, frame.votes.out_region).passed
    columns = [("mean", ""), ("mean_stereotypes", "")]
    columns += [("mean", pool_part(pool, threshold)) for pool, threshold in stats.CELLS]
    chosen = np.column_stack([np.ones(len(pairs), dtype=np.bool_), frame.stereotypical, passed])
    rows = []
    for subset in subsets(pairs):
        index = subset.rows
        rows += mean_rows(inputs, subset, columns, values[index], chosen[index], attributes[index])
        if not subset.group:
            each = _attribute_means(attributes[index], values[index])
            rows += mean_rows(
                inputs,
                subset,
                [("mean_attribute", "")],
                np.array([*each.values()]),
                np.ones((len(each), 1), dtype=np.bool_),
                np.array([*each]),
            )
        ratings = [rating for position in index.tolist() for rating in frame.ratings[position]]
        rows.append(count_row("unsure", subset, ratings.count(UNSURE), len(ratings)))
        unrated = int(np.isnan(values[index]).sum())
        rows.append(count_row("unrated", subset, unrated, len(index)))
    numbers = [len(ratings) for ratings in frame.ratings]
    return rows + _detail_rows(pairs, values, numbers, frame.stereotypical)


def rated_offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    ratings, group_ratings = read_rated_offensiveness(inputs.study)
    rows = []
    if len(ratings.pairs):
        whole = Subset(np.arange(len(ratings.pairs)))
        everything = np.ones((len(ratings.pairs), 1), dtype=np.bool_)
        rows += mean_rows(
            inputs,
            whole,
            [("mean_attribute", "")],
            ratings.values,
            everything,
            _attribute_ids(ratings.pairs),
            ratings.annotators,
        )
        rows.append(count_row("unsure", whole, int((ratings.values == UNSURE).sum()), len(ratings.values)))
    attributes = _attribute_ids(group_ratings.pairs)
    chosen = np.column_stack([np.ones(len(group_ratings.pairs), dtype=np.bool_), group_ratings.stereotypical])
    for subset in subsets(group_ratings.pairs):
        index = subset.rows
        rows += mean_rows(
            inputs,
            subset,
            [("mean", ""), ("mean_stereotypes", "")],
            group_ratings.values[index],
            chosen[index],
            attributes[index],
            group_ratings.annotators[index],
        )
        if subset.group or subset.region:
            values = group_ratings.values[index]
            rows.append(count_row("unsure", subset, int((values == UNSURE).sum()), len(values)))
    return rows + _rated_detail_rows(inputs, ratings)


def mean_rows(
    inputs: Inputs,
    subset: Subset,
    columns: Sequence[tuple[str, str]],
    values: Floats,
    chosen: Bools,
    items: ArrayLike,
    annotators: ArrayLike | None = None,
    *,
    scale: Scale = _SCALE,
) -> list[ScoreRow]:
    """A row for each of `columns`, (name, part), over the values it chooses; no row without values."""
    found = means.means(values, chosen).tolist()
    numbers = (chosen & ~np.isnan(values)[:, None]).sum(axis=0).tolist()
    intervals: Sequence[Interval | None] = [None] * len(columns)
    if inputs.clustered:
        each = means.mean_influences(values, chosen, items, annotators, scale=scale)
        intervals = clustered.separate_intervals(found, each, scale)
    elif inputs.resamples:
        drawn = means.resampled_means(
            values,
            chosen,
            items,
            annotators,
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )
        intervals = percentiles.percentile_intervals(drawn, found)
    return [
        score_row(name, value, n, interval, group=subset, part=subset.part(part))
        for (name, part), value, n, interval in zip(columns, found, numbers, intervals, strict=True)
        if n
    ]


def _attribute_means(attributes: Ints, values: Floats) -> dict[int, float]:
    """Mean of each rated attribute's values, in order of appearance."""
    known: dict[int, list[float]] = {}
    for attribute, value in zip(attributes.tolist(), values.tolist(), strict=True):
        if value == value:
            known.setdefault(attribute, []).append(value)
    return {attribute: float(np.mean(of_attribute)) for attribute, of_attribute in known.items()}


def _detail_rows(
    pairs: Sequence[Pair], values: Floats, numbers: Sequence[int], stereotypical: Bools
) -> list[ScoreRow]:
    """The mean of each attribute over its associations, and the mean of each association."""
    texts = {pair.attribute_id: pair.attribute for pair in pairs}
    attributes = _attribute_ids(pairs)
    n_associations = Counter(attributes[~np.isnan(values)].tolist())
    rows = [
        ScoreRow("attribute", value, n_associations[pk], attribute_id=pk, attribute=texts[pk])
        for pk, value in _attribute_means(attributes, values).items()
    ]
    rows.sort(key=lambda row: row.attribute)
    for position, pair in enumerate(pairs):
        value = defined(values[position])
        if value is not None:
            known = bool(stereotypical[position])
            rows.append(pair_row("association", pair, value, numbers[position], known))
    return rows


def _rated_detail_rows(inputs: Inputs, ratings: RatingRows) -> list[ScoreRow]:
    """The same from a study's own ratings, with intervals over the annotators of the one item."""
    of_attribute: dict[Pair, list[int]] = {}
    of_pair: dict[Pair, list[int]] = {}
    for position, pair in enumerate(ratings.pairs):
        alone = Pair(0, "", "", pair.attribute_id, pair.attribute)
        of_attribute.setdefault(alone, []).append(position)
        if pair.group_id:
            of_pair.setdefault(pair, []).append(position)
    rows = []
    for name, found in (("attribute", of_attribute), ("association", of_pair)):
        ordered = sorted(found.items(), key=lambda item: (item[0].group, item[0].attribute))
        intervals = intervals_of_one(inputs, name, ordered, ratings)
        for (pair, places), interval in zip(ordered, intervals, strict=True):
            value = float(ratings.values[places].mean())
            known = bool(ratings.stereotypical[places[0]]) if pair.group_id else None
            rows.append(pair_row(name, pair, value, len(places), known, interval))
    return rows


def intervals_of_one(
    inputs: Inputs,
    name: str,
    found: Sequence[tuple[Pair, list[int]]],
    ratings: RatingRows,
    scale: Scale = _SCALE,
) -> Sequence[Interval | None]:
    """The interval of the mean of each of `found`, (what was rated, its rows). Of each only its annotators
    are resampled; clustered intervals share the variance within items."""
    if inputs.clustered and found:
        rows = np.concatenate([places for _, places in found])
        items = np.repeat(np.arange(len(found)), [len(places) for _, places in found])
        return means.item_intervals(ratings.values[rows], items, ratings.annotators[rows], scale)
    if not inputs.resamples:
        return [None] * len(found)
    intervals = []
    for pair, places in found:
        values = ratings.values[places]
        drawn = means.resampled_means(
            values,
            np.ones((len(places), 1), dtype=np.bool_),
            np.zeros(len(places)),
            ratings.annotators[places],
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, f"{name} {pair.group} {pair.attribute}"),
        )
        intervals += percentiles.percentile_intervals(drawn, [float(values.mean())])
    return intervals


def pair_row(
    name: str,
    pair: Pair,
    value: float,
    n: int,
    stereotypical: bool | None,
    interval: Interval | None = None,
) -> ScoreRow:
    return ScoreRow(
        name=name,
        value=value,
        n=n,
        group_id=pair.group_id or None,
        group=pair.group,
        attribute_id=pair.attribute_id,
        attribute=pair.attribute,
        stereotypical=stereotypical,
        **bounds(interval),
    )


def count_row(name: str, subset: Subset, k: int, n: int) -> ScoreRow:
    """`k` of the `n` ratings or associations of the subset."""
    return score_row(name, k, n, k=k, group=subset, part=subset.part())


def _attribute_ids(pairs: Sequence[Pair]) -> Ints:
    return np.array([pair.attribute_id for pair in pairs], dtype=np.int64)
