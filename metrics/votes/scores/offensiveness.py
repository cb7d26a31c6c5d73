"""How offensive attributes and associations are (PROTOCOL §4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, means, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined
from metrics.votes import stats
from metrics.votes.data.ratings import RatingRows, read_rated_offensiveness
from metrics.votes.data.source import Pair, read_rated_associations
from metrics.votes.scores.subsets import Subset, pool_part, subsets

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
        rows += _mean_rows(inputs, subset, columns, values[index], chosen[index], attributes[index])
        if not subset.group:
            each = _attribute_means(attributes[index], values[index])
            rows += _mean_rows(
                inputs,
                subset,
                [("mean_attribute", "")],
                np.array([*each.values()]),
                np.ones((len(each), 1), dtype=np.bool_),
                np.array([*each]),
            )
        ratings = [rating for position in index.tolist() for rating in frame.ratings[position]]
        rows.append(_unsure_row(subset, ratings))
        unrated = int(np.isnan(values[index]).sum())
        rows.append(subset.score_row("unrated", unrated, len(index), unrated))
    numbers = [len(ratings) for ratings in frame.ratings]
    return rows + _detail_rows(pairs, values, numbers, frame.stereotypical)


def rated_offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    rated = read_rated_offensiveness(inputs.study)
    rows = []
    ratings = rated.ratings
    if len(ratings.pairs):
        whole = Subset(np.arange(len(ratings.pairs)))
        everything = np.ones((len(ratings.pairs), 1), dtype=np.bool_)
        rows += _mean_rows(
            inputs,
            whole,
            [("mean_attribute", "")],
            ratings.values,
            everything,
            _attribute_ids(ratings.pairs),
            ratings.annotators,
        )
        rows.append(_unsure_row(whole, ratings.values))
    group_ratings = rated.group_ratings
    attributes = _attribute_ids(group_ratings.pairs)
    chosen = np.column_stack([np.ones(len(group_ratings.pairs), dtype=np.bool_), group_ratings.stereotypical])
    for subset in subsets(group_ratings.pairs):
        index = subset.rows
        rows += _mean_rows(
            inputs,
            subset,
            [("mean", ""), ("mean_stereotypes", "")],
            group_ratings.values[index],
            chosen[index],
            attributes[index],
            group_ratings.annotators[index],
        )
        if subset.group or subset.region:
            rows.append(_unsure_row(subset, group_ratings.values[index]))
    return rows + _rated_detail_rows(inputs, ratings)


def _mean_rows(
    inputs: Inputs,
    subset: Subset,
    columns: Sequence[tuple[str, str]],
    values: Floats,
    chosen: Bools,
    items: ArrayLike,
    annotators: ArrayLike | None = None,
) -> list[ScoreRow]:
    """A row for each of `columns`, (name, part), over the values it chooses; no row without values."""
    found = means.means(values, chosen).tolist()
    numbers = (chosen & ~np.isnan(values)[:, None]).sum(axis=0).tolist()
    intervals: list[percentiles.Interval | None] = [None] * len(columns)
    if inputs.resamples:
        drawn = means.resampled_means(
            values,
            chosen,
            items,
            annotators,
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )
        intervals = [*percentiles.percentile_intervals(drawn, found)]
    return [
        subset.score_row(name, value, n, part=subset.part(part), interval=interval)
        for (name, part), value, n, interval in zip(columns, found, numbers, intervals, strict=True)
        if n
    ]


def _attribute_means(attributes: ArrayLike, values: Floats) -> dict[int, float]:
    """Mean of each rated attribute's values, in order of appearance."""
    known: dict[int, list[float]] = {}
    for attribute, value in zip(np.asarray(attributes).tolist(), values.tolist(), strict=True):
        if value == value:
            known.setdefault(attribute, []).append(value)
    return {attribute: float(np.mean(of_attribute)) for attribute, of_attribute in known.items()}


def _detail_rows(
    pairs: Sequence[Pair], values: Floats, numbers: Sequence[int], stereotypical: Bools
) -> list[ScoreRow]:
    """The mean of each attribute over its associations, and the mean of each association."""
    texts = {pair.attribute_id: pair.attribute for pair in pairs}
    n_associations: dict[int, int] = {}
    for pair, value in zip(pairs, values.tolist(), strict=True):
        if value == value:
            n_associations[pair.attribute_id] = n_associations.get(pair.attribute_id, 0) + 1
    rows = [
        ScoreRow("attribute", value, n_associations[pk], attribute_id=pk, attribute=texts[pk])
        for pk, value in sorted(
            _attribute_means(_attribute_ids(pairs), values).items(), key=lambda item: texts[item[0]]
        )
    ]
    for position, pair in enumerate(pairs):
        value = defined(values[position])
        if value is not None:
            rows.append(
                _pair_row(
                    "association", pair, value, numbers[position], stereotypical=bool(stereotypical[position])
                )
            )
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
        for pair, places in sorted(found.items(), key=lambda item: (item[0].group, item[0].attribute)):
            values = ratings.values[places]
            interval = None
            if inputs.resamples:
                drawn = means.resampled_means(
                    values,
                    np.ones((len(places), 1), dtype=np.bool_),
                    np.zeros(len(places)),
                    ratings.annotators[places],
                    resamples=inputs.resamples,
                    rng=bootstrap.generator(inputs.seed, f"{name} {pair.group} {pair.attribute}"),
                )
                interval = percentiles.percentile_intervals(drawn, [values.mean()])[0]
            known = bool(ratings.stereotypical[places[0]]) if pair.group_id else None
            value = float(values.mean())
            rows.append(_pair_row(name, pair, value, len(places), stereotypical=known, interval=interval))
    return rows


def _pair_row(
    name: str,
    pair: Pair,
    value: float,
    n: int,
    *,
    stereotypical: bool | None,
    interval: percentiles.Interval | None = None,
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


def _unsure_row(subset: Subset, ratings: Sequence[float] | Floats) -> ScoreRow:
    unsure = int((np.asarray(ratings) == UNSURE).sum())
    return subset.score_row("unsure", unsure, len(ratings), unsure)


def _attribute_ids(pairs: Sequence[Pair]) -> Ints:
    return np.array([pair.attribute_id for pair in pairs], dtype=np.int64)
