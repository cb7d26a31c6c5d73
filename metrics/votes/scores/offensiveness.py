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
from metrics.votes.scores.sections import Section, pool_part, sections

UNSURE = 0
"""Unsure is the value 0 of the scale: it stays in every mean, and is counted."""


def attribute_offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    frame = read_rated_associations(inputs.study)
    pairs = frame.votes.pairs
    single = np.array([np.mean(ratings) if ratings else np.nan for ratings in frame.single])
    values = frame.printed if inputs.variant == "published" else single
    attributes = _attributes(pairs)
    passed = stats.passing(frame.votes.in_region, frame.votes.out_region).passed
    columns = [("mean", ""), ("mean_stereotypes", "")]
    columns += [("mean", pool_part(pool, threshold)) for pool, threshold in stats.CELLS]
    chosen = np.column_stack([np.ones(len(pairs), dtype=np.bool_), frame.stereotypical, passed])
    rows = []
    for section in sections(pairs):
        of = section.rows
        rows += _means(inputs, section, columns, values[of], chosen[of], attributes[of])
        if not section.group:
            each = _of_attributes(attributes[of], values[of])
            rows += _means(
                inputs,
                section,
                [("mean_attribute", "")],
                np.array([*each.values()]),
                np.ones((len(each), 1), dtype=np.bool_),
                np.array([*each]),
            )
        ratings = [rating for place in of.tolist() for rating in frame.single[place]]
        rows.append(_unsure(section, ratings))
        unrated = int(np.isnan(values[of]).sum())
        rows.append(section.row("unrated", unrated, len(of), unrated))
    numbers = [len(ratings) for ratings in frame.single]
    return rows + _each(pairs, values, numbers, frame.stereotypical)


def rated_offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    ratings = read_rated_offensiveness(inputs.study)
    rows = []
    given = ratings.given
    if len(given.pairs):
        whole = Section(np.arange(len(given.pairs)))
        everything = np.ones((len(given.pairs), 1), dtype=np.bool_)
        rows += _means(
            inputs,
            whole,
            [("mean_attribute", "")],
            given.values,
            everything,
            _attributes(given.pairs),
            given.annotators,
        )
        rows.append(_unsure(whole, given.values))
    of_groups = ratings.of_groups
    attributes = _attributes(of_groups.pairs)
    chosen = np.column_stack([np.ones(len(of_groups.pairs), dtype=np.bool_), of_groups.stereotypical])
    for section in sections(of_groups.pairs):
        of = section.rows
        rows += _means(
            inputs,
            section,
            [("mean", ""), ("mean_stereotypes", "")],
            of_groups.values[of],
            chosen[of],
            attributes[of],
            of_groups.annotators[of],
        )
        if section.group or section.region:
            rows.append(_unsure(section, of_groups.values[of]))
    return rows + _each_rated(inputs, given)


def _means(
    inputs: Inputs,
    section: Section,
    columns: Sequence[tuple[str, str]],
    values: Floats,
    chosen: Bools,
    items: ArrayLike,
    annotators: ArrayLike | None = None,
) -> list[ScoreRow]:
    """A row for each of `columns`, (name, part), over the values that it chooses; none of nothing."""
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
            rng=bootstrap.generator(inputs.seed, section.draws),
        )
        intervals = [*percentiles.percentile_intervals(drawn, found)]
    return [
        section.row(name, value, n, part=section.part(part), interval=interval)
        for (name, part), value, n, interval in zip(columns, found, numbers, intervals, strict=True)
        if n
    ]


def _of_attributes(attributes: ArrayLike, values: Floats) -> dict[int, float]:
    """Mean of each attribute's values, in the order in which they come; none for one that nobody rated."""
    known: dict[int, list[float]] = {}
    for attribute, value in zip(np.asarray(attributes).tolist(), values.tolist(), strict=True):
        if value == value:
            known.setdefault(attribute, []).append(value)
    return {attribute: float(np.mean(said)) for attribute, said in known.items()}


def _each(
    pairs: Sequence[Pair], values: Floats, numbers: Sequence[int], stereotypical: Bools
) -> list[ScoreRow]:
    """Each attribute's mean over its associations, and each association's own."""
    texts = {pair.attribute_id: pair.attribute for pair in pairs}
    standing: dict[int, int] = {}
    for pair, value in zip(pairs, values.tolist(), strict=True):
        if value == value:
            standing[pair.attribute_id] = standing.get(pair.attribute_id, 0) + 1
    rows = [
        ScoreRow("attribute", value, standing[pk], attribute_id=pk, attribute=texts[pk])
        for pk, value in sorted(
            _of_attributes(_attributes(pairs), values).items(), key=lambda item: texts[item[0]]
        )
    ]
    for place, pair in enumerate(pairs):
        value = defined(values[place])
        if value is not None:
            rows.append(
                _of_pair("association", pair, value, numbers[place], stereotypical=bool(stereotypical[place]))
            )
    return rows


def _each_rated(inputs: Inputs, given: RatingRows) -> list[ScoreRow]:
    """The same from a study's own ratings, with intervals: annotators are drawn, and there is one item."""
    of_attribute: dict[Pair, list[int]] = {}
    of_pair: dict[Pair, list[int]] = {}
    for place, pair in enumerate(given.pairs):
        alone = Pair(0, "", "", pair.attribute_id, pair.attribute)
        of_attribute.setdefault(alone, []).append(place)
        if pair.group_id:
            of_pair.setdefault(pair, []).append(place)
    rows = []
    for name, found in (("attribute", of_attribute), ("association", of_pair)):
        for pair, places in sorted(found.items(), key=lambda item: (item[0].group, item[0].attribute)):
            values = given.values[places]
            interval = None
            if inputs.resamples:
                drawn = means.resampled_means(
                    values,
                    np.ones((len(places), 1), dtype=np.bool_),
                    np.zeros(len(places)),
                    given.annotators[places],
                    resamples=inputs.resamples,
                    rng=bootstrap.generator(inputs.seed, f"{name} {pair.group} {pair.attribute}"),
                )
                interval = percentiles.percentile_intervals(drawn, [values.mean()])[0]
            known = bool(given.stereotypical[places[0]]) if pair.group_id else None
            value = float(values.mean())
            rows.append(_of_pair(name, pair, value, len(places), stereotypical=known, interval=interval))
    return rows


def _of_pair(
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


def _unsure(section: Section, ratings: Sequence[float] | Floats) -> ScoreRow:
    unsure = int((np.asarray(ratings) == UNSURE).sum())
    return section.row("unsure", unsure, len(ratings), unsure)


def _attributes(pairs: Sequence[Pair]) -> Ints:
    return np.array([pair.attribute_id for pair in pairs], dtype=np.int64)
