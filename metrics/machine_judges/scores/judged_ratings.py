"""Means and shares of a judge's ratings beside those of people's, about the same items (PROTOCOL §2-§4, §11,
§16)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Attribute, IdentityGroup, Study, TaskKind
from metrics.core.stats import means, passing_shares
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.clustered import NONE
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE, Scale
from metrics.machine_judges.data import Items, Judge
from metrics.machine_judges.people import PeopleAnswers, read_people
from metrics.machine_judges.scores.judged_rows import JudgedScore, Side, judged_score, score_rows
from metrics.machine_judges.stats.weighted_means import equal_weights, weighted_mean
from metrics.score_runs.compared_rows import Estimates
from metrics.score_runs.rows import Inputs, ScoreRow
from metrics.visual_nature import stats, visual_rule
from metrics.votes.data.source import associations

_VISUAL = Scale(stats.SCALE[0], stats.SCALE[-1])
_OFFENCE = Scale(means.LOWEST, means.HIGHEST)
_LEVEL = Scale(1, 5)
_STEREOTYPICAL, _UNSURE_LEVEL = 1, 0
NAMES = {
    TaskKind.VISUAL_NATURE: "visual_mean",
    TaskKind.PREVALENCE: "stereotypical",
    TaskKind.OFFENSIVENESS: "offence",
    TaskKind.ASSOCIATION: "level",
}
"""The mean of each kind of rating."""


@dataclass(frozen=True)
class _Ratings:
    """The ratings (R,) of people, or of the judge: the places of their options in Items, their values, their
    annotators, -1 of the judge, and how many `times` each counts: that of a person once, that of the judge as
    often as people rated the item, so that an item counts as much on both sides."""

    options: Ints
    values: Ints
    annotators: Ints
    times: Ints

    def only(self, chosen: Bools | Ints) -> _Ratings:
        return _Ratings(
            self.options[chosen], self.values[chosen], self.annotators[chosen], self.times[chosen]
        )

    def repeated(self) -> _Ratings:
        """Each as many times as it counts."""
        found = self.only(np.repeat(np.arange(len(self.times)), self.times))
        return replace(found, times=np.ones_like(found.times))


def rating_rows(judge: Judge, inputs: Inputs) -> list[ScoreRow]:
    """Rows of the task that the judge answered, of items that both answered."""
    sides = _shared(judge, read_people(judge.study, judge.task, judge.items))
    if not len(sides[0].options):
        return []
    if judge.design.task == TaskKind.VISUAL_NATURE:
        return _visual_rows(judge, sides, inputs)
    name = NAMES[TaskKind(judge.design.task)]
    groups = [
        judged_score(*(_mean(judge, side, chosen) for side in sides), group_id=pk, group=group)
        for pk, group, chosen in groups_of(judge)
        if all(chosen[side.options].any() for side in sides)
    ]
    everything = np.ones(len(judge.items.options), dtype=np.bool_)
    whole = judged_score(*(_mean(judge, side, everything) for side in sides))
    return score_rows(name, groups, inputs) + score_rows(name, [whole], inputs)


def _shared(judge: Judge, people: PeopleAnswers) -> tuple[_Ratings, _Ratings]:
    """The judge's and people's ratings of the items that have both. A level of Unsure is none."""
    found = judge.verdicts()
    once = np.ones(len(people.options), dtype=np.int64)
    nobody = np.full(len(found.options), -1)
    sides = [
        _Ratings(found.options, found.values, nobody, np.zeros_like(nobody)),
        _Ratings(people.options, people.values, people.annotators, once),
    ]
    sides = [side.only(has_value(judge, side.values)) for side in sides]
    both = np.intersect1d(sides[0].options, sides[1].options)
    first, second = (side.only(np.isin(side.options, both)) for side in sides)
    number = np.bincount(second.options, minlength=len(judge.items.options))
    return replace(first, times=number[first.options]), second


def has_value(judge: Judge, values: Ints) -> Bools:
    """Which ratings (R,) count: a level of Unsure is none."""
    return (values != _UNSURE_LEVEL) | (judge.design.task != TaskKind.ASSOCIATION)


def groups_of(judge: Judge) -> Iterator[tuple[int, str, Bools]]:
    """The groups by name, and which items (O,) are about each. An attribute that is rated without a group
    counts for each group that the study's source associates with it, as in `rated_offensiveness`."""
    items = judge.items
    of_group: dict[int, Bools] = {pk: items.groups == pk for pk in set(items.groups.tolist()) - {0}}
    alone = items.groups == 0
    if alone.any():
        for pk, attributes in _associated(judge.study, items).items():
            about = alone & np.isin(items.attributes, attributes)
            of_group[pk] = of_group.get(pk, np.zeros_like(alone)) | about
    names = dict(IdentityGroup.objects.filter(pk__in=of_group).values_list("pk", "name"))
    for pk in sorted(of_group, key=lambda pk: (names[pk], pk)):
        yield pk, names[pk], of_group[pk]


def _associated(study: Study, items: Items) -> dict[int, list[int]]:
    """Group -> those of the attributes of the items that the study's source associates with it."""
    rows = associations(study).filter(attribute__in=np.unique(items.attributes).tolist()).order_by()
    found: dict[int, list[int]] = {}
    for group, attribute in rows.values_list("group_id", "attribute_id"):
        found.setdefault(group, []).append(attribute)
    return found


@dataclass(frozen=True)
class Weighted:
    """Ratings (R,) as their mean takes them: the values, the weight of each, and the item that it clusters
    by."""

    values: Floats
    weights: Floats
    items: Ints
    scale: Scale


def weighted(judge: Judge, options: Ints, values: Ints, times: Ints | None = None) -> Weighted:
    """Ratings of one side, of `options` by their places in Items, each of which counts so many `times`, by
    default once: of prevalence and offensiveness all answers alike, as in people's own scores; of levels
    associations alike, of visual nature attributes."""
    kind, attributes = judge.design.task, judge.items.attributes[options]
    number = values.astype(np.float64)
    alike = np.ones(len(values)) if times is None else times.astype(np.float64)
    if kind == TaskKind.PREVALENCE:
        return Weighted((values == _STEREOTYPICAL).astype(np.float64), alike, options, SHARE)
    if kind == TaskKind.OFFENSIVENESS:
        return Weighted(number, alike, attributes, _OFFENCE)
    if kind == TaskKind.VISUAL_NATURE:
        return Weighted(number, equal_weights(attributes, alike), attributes, _VISUAL)
    return Weighted(number, equal_weights(options, alike), options, _LEVEL)


def _mean(judge: Judge, side: _Ratings, about: Bools) -> Estimates:
    """The score of the items `about` (O,) by one side."""
    own = side.only(about[side.options])
    return _estimate(weighted(judge, own.options, own.values, own.times), own.annotators)


def _estimate(ratings: Weighted, annotators: Ints) -> Estimates:
    mean, found = weighted_mean(ratings.values, ratings.weights, ratings.items, annotators, ratings.scale)
    return Estimates(np.array([mean]), (len(ratings.values),), found, (ratings.scale,))


def _visual_rows(judge: Judge, sides: tuple[_Ratings, _Ratings], inputs: Inputs) -> list[ScoreRow]:
    each = score_rows("visual_mean", _visual_means(judge, sides), inputs, is_tested=False)
    overall = []
    for side in sides:
        found = weighted(judge, side.options, side.values, side.times)
        estimate = _estimate(found, side.annotators)
        overall.append(replace(estimate, n=(len(np.unique(found.items)),)))
    whole = judged_score(*overall)
    # the rule asks how many annotators agreed: the judge answers in the place of all of them
    share = judged_score(*(_visual_share(judge, side.repeated()) for side in sides))
    return each + score_rows("visual_mean", [whole], inputs) + score_rows("visual", [share], inputs)


def _visual_means(judge: Judge, sides: tuple[_Ratings, _Ratings]) -> list[JudgedScore]:
    """Of each attribute, by text. The judge's answer is taken as given."""
    texts = dict(Attribute.objects.filter(pk__in=judge.items.attributes.tolist()).values_list("pk", "text"))
    found = []
    people = sides[1]
    attributes, place = np.unique(judge.items.attributes[people.options], return_inverse=True)
    intervals = means.item_intervals(people.values, place.ravel(), people.annotators, _VISUAL)
    for pk, interval in zip(attributes.tolist(), intervals, strict=True):
        judged, rated = (side.only(judge.items.attributes[side.options] == pk) for side in sides)
        value, mean = (float(np.average(side.values, weights=side.times)) for side in (judged, rated))
        apart = Interval(value - interval.high, value - interval.low)
        found.append(
            JudgedScore(
                Side(value, len(judged.values), None),
                Side(mean, len(rated.values), interval),
                Difference(value - mean, NONE if np.isnan(interval.low) else apart, float("nan")),
                {"attribute_id": pk, "attribute": texts[pk]},
            )
        )
    return sorted(found, key=lambda one: str(one.about["attribute"]))


def _visual_share(judge: Judge, side: _Ratings) -> Estimates:
    """The share of attributes that are visual by the study's rule. An attribute with several units must pass
    in each of them."""

    def rule(table: Ints) -> tuple[Bools, Bools]:
        return visual_rule.is_visual(judge.study, table)[:, None], table.sum(axis=1, keepdims=True) > 0

    options, unit_of = np.unique(side.options, return_inverse=True)
    units, labels = unit_of.ravel(), side.values - stats.SCALE[0]
    attributes = judge.items.attributes[options]
    table = passing_shares.count_labels(units, labels, shape=(len(options), len(stats.SCALE)))
    failing = attributes[~visual_rule.is_visual(judge.study, table)]
    n = len(np.unique(attributes))
    (found,) = passing_shares.share_influences(
        *(units, labels, side.annotators),
        items=attributes,
        number=len(stats.SCALE),
        rule=rule,
        require_all_units=True,
    )
    return Estimates(np.array([1 - len(np.unique(failing)) / n]), (n,), found, (SHARE,))
