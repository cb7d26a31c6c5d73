"""What people answered about the units that a machine judge has a verdict for, as arrays (PROTOCOL §16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db.models import Case, Value, When

from annotation.core.scales import SCALES
from metrics.agreement.data.boxes import read_boxes
from metrics.agreement.data.ratings import annotator_groups, has_region
from metrics.agreement.scores.rows import Reading
from metrics.agreement.stats.boxes import box_agreement
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.annotator_groups import group_labeller
from metrics.core.answers import counted_responses
from metrics.core.columns import read_columns
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Ints
from metrics.machine_judges.data import NONE_OF_ABOVE, Judge
from metrics.machine_judges.people import PeopleAnswers

NO_GROUP = -1
"""Stands for no region and for no group of annotators in arrays of places."""
_JUDGE = -1
"""Of boxes: the response of the judge, which comes before those of people."""


@dataclass(frozen=True)
class Subjects:
    """What each row (R,) is about: `attributes`, `identities` (0: none), and the places of its region in
    `region_names` and of its annotator's group in `group_names`, or NO_GROUP."""

    attributes: Ints
    identities: Ints
    regions: Ints
    groups: Ints
    region_names: tuple[str, ...]
    group_names: tuple[str, ...]

    def of(self, chosen: Bools | Ints) -> Subjects:
        """The chosen rows."""
        return Subjects(
            self.attributes[chosen],
            self.identities[chosen],
            self.regions[chosen],
            self.groups[chosen],
            self.region_names,
            self.group_names,
        )

    def and_of(self, others: Subjects) -> Subjects:
        """These rows and then the others, of the same regions and groups of annotators."""
        return Subjects(
            np.concatenate([self.attributes, others.attributes]),
            np.concatenate([self.identities, others.identities]),
            np.concatenate([self.regions, others.regions]),
            np.concatenate([self.groups, others.groups]),
            self.region_names,
            self.group_names,
        )


@dataclass(frozen=True)
class Answered:
    """The answers (R,) of people, each about a unit of agreement that the judge has a verdict for: an
    attribute of an image, an association or an attribute. Nobody has two about the same unit.

    `values`: those of the columns of `table.counts`. `verdicts` (R,): the column of the judge's verdict.
    `people` (R,): annotators, or minus the response if not identified.
    """

    values: tuple[int, ...]
    table: Ratings
    verdicts: Ints
    people: Ints
    about: Subjects

    def read(self, reading: Reading) -> Answered:
        """As one level of measurement reads it: without the values that are missing there."""
        columns = [place for place, value in enumerate(self.values) if value in reading.kept]
        if len(columns) == len(self.values):
            return self
        place = np.full(len(self.values), -1)
        place[columns] = np.arange(len(columns))
        rows = (place[self.verdicts] >= 0) & (self.table.counts[:, columns].sum(axis=1) > 0)
        table = self.table.of(rows)
        return Answered(
            reading.kept,
            Ratings(table.counts[:, columns], table.units, table.clusters, table.raters),
            place[self.verdicts[rows]],
            self.people[rows],
            self.about.of(rows),
        )


@dataclass(frozen=True)
class BoxPairs:
    """Pairs of boxes: of the judge and people (`judge`), and of people (`people`), about the attributes of
    images for which the judge and two people drew some; what each cell of both is about."""

    judge: Cells
    people: Cells
    about_judge: Subjects
    about_people: Subjects


@dataclass(frozen=True)
class Units:
    """The units of agreement of a judge's items: `clusters` and `attributes` (U,), sorted by both; of each
    option (O,) its unit, -1 for none of the above; of each unit the option of the verdict, -1 without one,
    and the verdict. An attribute that is on several pages of an image has the verdict of the first."""

    clusters: Ints
    attributes: Ints
    of_option: Ints
    decided: Ints
    verdicts: Ints


def clusters_of(judge: Judge) -> Ints:
    """The image of each option (O,); for ratings the unit."""
    return judge.items.units if judge.design.is_rating else judge.items.images


def read_units(judge: Judge) -> Units:
    """The units of agreement of `judge`."""
    there = judge.items.attributes != NONE_OF_ABOVE
    keys = np.column_stack([clusters_of(judge), judge.items.attributes])[there]
    units, inverse = np.unique(keys, axis=0, return_inverse=True)
    of_option = np.full(len(there), -1)
    of_option[there] = inverse.ravel()
    found = judge.verdicts()
    counted = there[found.options]
    options, values = found.options[counted][::-1], found.values[counted][::-1]
    decided = np.full(len(units), -1)
    verdicts = np.zeros(len(units), dtype=np.int64)
    # the last to be written is the first of a unit
    decided[of_option[options]], verdicts[of_option[options]] = options, values
    return Units(units[:, 0], units[:, 1], of_option, decided, verdicts)


def read_answered(judge: Judge, units: Units, people: PeopleAnswers, *, by: str | None) -> Answered:
    """The answers of `people` beside the verdicts. `by` as in `read_ratings`."""
    unit = units.of_option[people.options]
    people = people.only((unit >= 0) & (units.decided[unit] >= 0))
    unit = units.of_option[people.options]
    order = np.lexsort((people.annotators, unit))
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (np.diff(unit[order]) == 0) & (np.diff(people.annotators[order]) == 0)
    people, unit = people.only(order[~again]), unit[order[~again]]
    values = tuple(sorted(label.value for label in SCALES[judge.design.task]))
    counts = np.zeros((len(unit), len(values)), dtype=np.int64)
    counts[np.arange(len(unit)), np.searchsorted(values, people.values)] = 1
    raters = np.where(people.annotators < 0, UNKNOWN_ANNOTATOR, people.annotators)
    return Answered(
        values=values,
        table=Ratings(counts, units.attributes[unit], units.clusters[unit], raters),
        verdicts=np.searchsorted(values, units.verdicts[unit]),
        people=people.annotators,
        about=_subjects(judge, people.options, *_groups(judge, people, raters, by)),
    )


def read_box_pairs(judge: Judge, units: Units, people: PeopleAnswers) -> BoxPairs:
    """The boxes of the judge beside those that `people` drew."""
    found, frame = judge.verdicts(), read_boxes(judge.study)
    option = found.options[found.boxes]
    unit = units.of_option[option]
    own = (unit >= 0) & (units.decided[unit] == option)
    option, unit = option[own], unit[own]
    boxed, first = np.unique(unit, return_index=True)
    drawn = _unit_of(units, frame.images, frame.attributes)
    kept = np.isin(drawn, boxed) & np.isin(frame.responses, people.responses)
    pairs = box_agreement(
        np.concatenate([unit, drawn[kept]]),
        np.concatenate([np.full(len(unit), _JUDGE), frame.responses[kept]]),
        np.concatenate([found.corners[own], frame.corners[kept]]).reshape(-1, 4),
    )
    known, place = np.unique(frame.responses, return_index=True)
    raters = np.concatenate([frame.raters[place], [UNKNOWN_ANNOTATOR]])  # the last is the judge's
    one, other = (
        raters[np.where(who == _JUDGE, len(known), np.searchsorted(known, who))]
        for who in (pairs.first, pairs.second)
    )
    cells = Cells(
        np.column_stack([pairs.values, np.ones(len(pairs.values))]),
        units.clusters[pairs.items],
        one,
        other,
    )
    about = _subjects(judge, option[first][np.searchsorted(boxed, pairs.items)])
    others = (pairs.first != _JUDGE) & ((one != other) | (one == UNKNOWN_ANNOTATOR))
    # both sides of the difference are about the same units: those that two people drew
    with_judge = (pairs.first == _JUDGE) & np.isin(pairs.items, pairs.items[others])
    return BoxPairs(
        judge=cells.of(np.flatnonzero(with_judge)),
        people=cells.of(np.flatnonzero(others)),
        about_judge=about.of(with_judge),
        about_people=about.of(others),
    )


def _unit_of(units: Units, clusters: Ints, attributes: Ints) -> Ints:
    """The unit of each cluster and attribute; -1 for none."""
    keys = np.concatenate(
        [np.column_stack([units.clusters, units.attributes]), np.column_stack([clusters, attributes])]
    )
    _, number = np.unique(keys, axis=0, return_inverse=True)
    number = number.ravel()
    place = np.full(len(keys), -1)
    place[number[: len(units.clusters)]] = np.arange(len(units.clusters))
    return np.asarray(place[number[len(units.clusters) :]])


def _subjects(
    judge: Judge, options: Ints, group_names: tuple[str, ...] = (), groups: Ints | None = None
) -> Subjects:
    names = tuple(sorted({name for name in judge.items.regions if name}))
    number = {name: place for place, name in enumerate(names)}
    regions = np.array([number.get(name, NO_GROUP) for name in judge.items.regions], dtype=np.int64)
    return Subjects(
        attributes=judge.items.attributes[options],
        identities=judge.items.groups[options],
        regions=regions[options],
        groups=np.full(len(options), NO_GROUP) if groups is None else groups,
        region_names=names,
        group_names=group_names,
    )


def _groups(
    judge: Judge, people: PeopleAnswers, raters: Ints, by: str | None
) -> tuple[tuple[str, ...], Ints | None]:
    """The names of the groups of annotators, and each answer's."""
    if by is None or not len(raters) or (by == "pool" and not has_region(judge.design.task)):
        return (), None
    responses = counted_responses(judge.study, judge.design.task).filter(unit__task=judge.task).order_by()
    reserved = tuple(sorted(map(str, responses.values_list("slot__stratum", flat=True).distinct())))
    named = [When(slot__stratum=name, then=Value(place)) for place, name in enumerate(reserved)]
    rows = read_columns(responses.annotate(stratum=Case(*named)), "pk", "stratum")
    rows = rows[np.argsort(rows[:, 0])]
    stratum = rows[np.searchsorted(rows[:, 0], people.responses), 1]
    identities = judge.items.groups[people.options]
    labeller = group_labeller(judge.study, by)
    return annotator_groups(labeller, raters, reserved, np.column_stack([stratum, identities]))
