"""What people answered about the items that a machine judge answered, as arrays (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study, Task
from metrics.core.answers import counted_judgements
from metrics.core.columns import NULL, read_columns
from metrics.core.stats.checks import Bools, Ints
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.machine_judges.data import Items, Judge


@dataclass(frozen=True)
class PeopleAnswers:
    """Every judgement (R,) of people that counts: the place of its option in `Items`, its value, its response
    and its annotator (minus the response if not identified). By option, response."""

    options: Ints
    values: Ints
    responses: Ints
    annotators: Ints

    def only(self, chosen: Bools | Ints) -> PeopleAnswers:
        """Those `chosen`: (R,), or places in their order."""
        return PeopleAnswers(
            self.options[chosen], self.values[chosen], self.responses[chosen], self.annotators[chosen]
        )


def read_people(study: Study, task: Task, items: Items) -> PeopleAnswers:
    """The judgements of people about `items`. One query."""
    rows = read_columns(
        counted_judgements(study, task.kind).filter(response__unit__task=task).order_by(),
        *("option_id", "value", "response_id", "response__annotator_id"),
    )
    order = np.argsort(items.options)
    at = np.searchsorted(items.options, rows[:, 0], sorter=order)
    known = (at < len(order)) & (items.options[order[np.minimum(at, len(order) - 1)]] == rows[:, 0])
    rows, places = rows[known], order[at[known]]
    annotators = np.where(rows[:, 3] == NULL, -rows[:, 2], rows[:, 3])
    sequence = np.lexsort((rows[:, 2], places))
    return PeopleAnswers(places[sequence], rows[sequence, 1], rows[sequence, 2], annotators[sequence])


@dataclass(frozen=True)
class BothFrames:
    """One identity group: what people answered about its images, and what the judge did, with the same
    attributes. Every page of the judge is a response, by an annotator who is not identified, as chance
    within the judge is none of between annotators. Equal labels are the same image."""

    people: GroupFrame
    judge: GroupFrame

    def shared(self) -> BothFrames:
        """Only with the pages of images that both answered; the judge's answer about a page as often as
        people answered it, so that a page counts as much on both sides."""
        people, judge = self.people, self.judge
        # a page is the image with the attributes that it showed
        shown = np.unique(np.vstack([people.n, judge.n]), axis=0, return_inverse=True)[1].ravel()
        responses = np.concatenate([people.answers, len(people.n) + judge.answers])
        pages = np.column_stack([np.concatenate([people.images, judge.images]), shown[responses]])
        page = np.unique(pages, axis=0, return_inverse=True)[1].ravel()
        of_people, of_judge = np.split(page, [len(people.answers)])
        number = np.bincount(of_people, minlength=len(pages))
        as_often = np.repeat(np.arange(len(of_judge)), number[of_judge])
        return BothFrames(people.only(np.isin(of_people, of_judge)), judge.only(as_often))


def both_frames(judge: Judge) -> Iterator[BothFrames]:
    """The groups that people have judged in the judge's version of the task, by name, one at a time."""
    for people in read_depiction(judge.study, by_response=True, task=judge.task):
        yield BothFrames(people, judge_frame(judge, people))


def judge_frame(judge: Judge, people: GroupFrame) -> GroupFrame:
    """What the judge answered about the images of a group, with the columns of `people`."""
    items, found = judge.items, judge.verdicts()
    column = {attribute or 0: place for place, attribute in enumerate(people.attribute_ids)}
    inside = (items.groups[found.options] == people.group_id) & np.isin(
        items.attributes[found.options], [*column]
    )
    places, values = found.options[inside], found.values[inside]
    units, unit_of = np.unique(items.units[places], return_inverse=True)
    k = np.zeros((len(units), len(column)), dtype=np.int64)
    n = np.zeros_like(k)
    columns = np.array([column[pk] for pk in items.attributes[places].tolist()], dtype=np.int64)
    k[unit_of, columns] = values
    n[unit_of, columns] = 1
    first = np.zeros(len(units), dtype=np.int64)
    first[unit_of] = places
    nothing = np.zeros(len(units), dtype=np.int64)
    return replace(
        people,
        k=k,
        n=n,
        answers=np.arange(len(units)),
        images=items.images[first],
        annotators=-1 - units,
        image_sets=nothing,
        stratum_of=nothing,
        strata=("any",),
    )
