"""What the answers of the studies of a league say of each group or attribute (PROTOCOL §2 to §4, §11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import Pool, Study
from metrics.core.stats import means
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.scales import SHARE, Scale
from metrics.league import stats
from metrics.league.kinds import LEVELS, OFFENSIVENESS, PREVALENCE, VISUAL_NATURE, Kind
from metrics.league.stats import LABELS, Number
from metrics.visual_nature.data import read_visual_nature
from metrics.visual_nature.stats import SCALE as SCORES
from metrics.votes.data.own_answers import (
    RatingRows,
    read_bias_levels,
    read_prevalence,
    read_rated_offensiveness,
)
from metrics.votes.data.source import Pair
from metrics.votes.scores.bias_levels import UNSURE

_SCALES = {
    PREVALENCE: SHARE,
    OFFENSIVENESS: Scale(means.LOWEST, means.HIGHEST),
    LEVELS: Scale(1.0, 5.0),
    VISUAL_NATURE: Scale(SCORES[0], SCORES[-1]),
}


@dataclass(frozen=True)
class Unit:
    """A group, or an attribute of no group, whose ids are then 0. Sorted by name."""

    group: str
    attribute: str
    group_id: int
    attribute_id: int


_Mean = Callable[[Sequence[Unit]], Number]


@dataclass(frozen=True)
class Answered:
    """A study with answers. `units`: what they say of each group or attribute; `mean`: the unweighted mean
    over some of these; `asked`: the attributes asked about each group; `answers`, and the identified `people`
    by id, that count."""

    study: str
    units: Mapping[Unit, Number]
    mean: _Mean
    asked: Mapping[Unit, frozenset[int]]
    answers: int
    people: frozenset[int]


@dataclass(frozen=True)
class _Rows:
    """The answers of a study, one a row: what each is about, who answered (below 0 if not identified), and
    its value, of prevalence its label from 0."""

    pairs: tuple[Pair, ...]
    annotators: Ints
    values: Floats

    def only(self, chosen: Bools) -> _Rows:
        pairs = tuple(self.pairs[place] for place in np.flatnonzero(chosen).tolist())
        return _Rows(pairs, self.annotators[chosen], self.values[chosen])


def read_answers(kind: Kind, studies: Iterable[Study]) -> list[Answered]:
    """What the studies that have answers say, by name. Units are groups, if each of these studies has answers
    about groups, else attributes."""
    read = {study: _READERS[kind](study) for study in sorted(studies, key=lambda one: one.name)}
    there = {study: both for study, both in read.items() if both[0].pairs}
    by_group = all(of_groups.pairs for _, of_groups in there.values())
    numbers: dict[tuple[int, int], int] = {}
    found = []
    for study, (single, of_groups) in there.items():
        people = np.unique(single.annotators[single.annotators >= 0])
        there_are = (len(single.pairs), frozenset(people.tolist()))
        if by_group:
            items = _items(kind, of_groups, numbers)
            found.append(Answered(study.name, *_by_group(kind, study, of_groups, items), *there_are))
        else:
            found.append(Answered(study.name, *_by_attribute(_SCALES[kind], single), {}, *there_are))
    return found


def _items(kind: Kind, rows: _Rows, numbers: dict[tuple[int, int], int]) -> Ints:
    """What each answer is about, with the same number in all studies: attributes are rated alike in all
    groups, associations are not."""
    if kind == OFFENSIVENESS:
        return np.array([pair.attribute_id for pair in rows.pairs], dtype=np.int64)
    keys = [(pair.group_id, pair.attribute_id) for pair in rows.pairs]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _by_group(
    kind: Kind, study: Study, rows: _Rows, items: Ints
) -> tuple[dict[Unit, Number], _Mean, dict[Unit, frozenset[int]]]:
    """The number of each group, the mean over some of them, and the attributes asked about each."""
    scale = _SCALES[kind]
    groups = np.array([pair.group_id for pair in rows.pairs])
    units: dict[Unit, Number] = {}
    asked: dict[Unit, frozenset[int]] = {}
    for group in np.unique(groups).tolist():
        here = groups == group
        part = rows.only(here)
        unit = Unit(part.pairs[0].group, "", group, 0)
        asked[unit] = frozenset(pair.attribute_id for pair in part.pairs)
        if kind == PREVALENCE:
            labels, least = part.values.astype(np.int64), study.stereotype_threshold
            units[unit] = stats.share(labels, items[here], part.annotators, at_least=least)
        else:
            units[unit] = stats.mean_rating(part.values, items[here], part.annotators, scale)

    def mean(chosen: Sequence[Unit]) -> Number:
        return stats.mean([units[unit] for unit in chosen], scale)

    return units, mean, asked


def _by_attribute(scale: Scale, rows: _Rows) -> tuple[dict[Unit, Number], _Mean]:
    """The number of each attribute, and the mean over some of them."""
    attributes = np.array([pair.attribute_id for pair in rows.pairs])
    texts = {pair.attribute_id: pair.attribute for pair in rows.pairs}
    found = stats.mean_ratings(rows.values, attributes, rows.annotators, scale)

    def mean(units: Sequence[Unit]) -> Number:
        chosen = np.isin(attributes, [unit.attribute_id for unit in units])
        return stats.mean_of_items(rows.values[chosen], attributes[chosen], rows.annotators[chosen], scale)

    return {Unit("", texts[pk], 0, pk): number for pk, number in found.items()}, mean


def _prevalence(study: Study) -> tuple[_Rows, _Rows]:
    """The answers of the pool whose votes make a stereotype."""
    frame = read_prevalence(study)
    labels = frame.columns - LABELS * (study.stereotype_pool == Pool.OUT_REGION)
    pairs = tuple(frame.pairs[place] for place in frame.pair_of.tolist())
    rows = _Rows(pairs, frame.annotators, labels.astype(np.float64))
    rows = rows.only((labels >= 0) & (labels < LABELS))
    return rows, rows


def _offensiveness(study: Study) -> tuple[_Rows, _Rows]:
    single, of_groups = (_rated(each) for each in read_rated_offensiveness(study))
    return single, of_groups


def _levels(study: Study) -> tuple[_Rows, _Rows]:
    """The answers with a level."""
    frame = read_bias_levels(study)
    rows = _rated(frame).only(frame.values != UNSURE)
    return rows, rows


def _visual_nature(study: Study) -> tuple[_Rows, _Rows]:
    frame = read_visual_nature(study)
    pairs = [
        Pair(0, "", "", pk, text) for pk, text in zip(frame.attribute_ids, frame.attributes, strict=True)
    ]
    values = (frame.labels + SCORES[0]).astype(np.float64)
    rows = _Rows(tuple(pairs[unit] for unit in frame.unit_of.tolist()), frame.annotators, values)
    return rows, rows.only(np.zeros(len(values), dtype=np.bool_))


def _rated(frame: RatingRows) -> _Rows:
    return _Rows(frame.pairs, frame.annotators, frame.values)


_READERS: dict[Kind, Callable[[Study], tuple[_Rows, _Rows]]] = {
    PREVALENCE: _prevalence,
    OFFENSIVENESS: _offensiveness,
    LEVELS: _levels,
    VISUAL_NATURE: _visual_nature,
}
"""Of each kind the answers of a study, once each, and those about groups."""
