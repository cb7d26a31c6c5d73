"""Subjects of agreement (the whole task, an attribute or an identity group), with ratings and boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet

from annotation.models import Attribute, IdentityGroup, Study
from metrics.agreement.data.boxes import read_boxes
from metrics.agreement.data.ratings import RatingFrame
from metrics.agreement.stats import boxes
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats.checks import Ints

PER = ("attribute", "identity")


@dataclass(frozen=True)
class Subject:
    """What a row is about, with its name; by default the whole task."""

    identity_id: int | None = None
    attribute_id: int | None = None
    name: str = ""


WHOLE = Subject()


@dataclass(frozen=True)
class Subjects:
    """All attributes or all identity groups. `ratings` (R,) and `boxes` (P,): the index in `entries` of each
    rating and each pair of boxes; -1 for none."""

    entries: list[Subject]
    ratings: Ints
    boxes: Ints


@dataclass(frozen=True)
class BoxAgreement:
    """Pairs of annotators who drew boxes for the same attribute of the same image."""

    cells: Cells
    attributes: Ints
    identities: Ints

    def cells_by_subject(self, subjects: Subjects) -> list[Cells]:
        """The pairs of each subject."""
        order = np.argsort(subjects.boxes, kind="stable")
        ends = np.searchsorted(subjects.boxes[order], np.arange(-1, len(subjects.entries)), side="right")
        return [self.cells.of(rows) for rows in np.split(order, ends)[1:-1]]


def whole(frame: RatingFrame, boxes: BoxAgreement | None) -> Subjects:
    """The whole task."""
    pairs = 0 if boxes is None else len(boxes.attributes)
    return Subjects([WHOLE], np.zeros(len(frame.attributes), dtype=np.int64), np.zeros(pairs, np.int64))


def subjects_of(frame: RatingFrame, boxes: BoxAgreement | None, per: str) -> Subjects:
    """Each judged attribute or identity group, by name."""
    none = np.zeros(0, dtype=np.int64)
    if per == "attribute":
        keys, box_keys = frame.attributes, boxes.attributes if boxes else none
        names = named(Attribute.objects.order_by("text", "pk").values_list("pk", "text"), keys)
    else:
        keys, box_keys = frame.identities, boxes.identities if boxes else none
        names = named(IdentityGroup.objects.order_by("name", "pk").values_list("pk", "name"), keys)
    entries = [Subject(**{f"{per}_id": pk}, name=name) for pk, name in names.items()]
    return Subjects(entries, places(keys, list(names)), places(box_keys, list(names)))


def named(rows: QuerySet[Any, tuple[int, str]], keys: Ints) -> dict[int, str]:
    """The names of the rows with one of the keys."""
    return dict(rows.filter(pk__in=np.unique(keys).tolist()))


def places(keys: Ints, known: Sequence[int]) -> Ints:
    """The index in `known` of each key; -1 for none."""
    there = np.array(known, dtype=np.int64)
    if not len(there):
        return np.full(len(keys), -1)
    order = np.argsort(there)
    place = order[np.minimum(np.searchsorted(there, keys, sorter=order), len(there) - 1)]
    return np.where(there[place] == keys, place, -1)


def read_box_agreement(study: Study) -> BoxAgreement:
    frame = read_boxes(study)
    same = (np.diff(frame.images) == 0) & (np.diff(frame.attributes) == 0)
    items = np.concatenate([np.zeros(min(1, len(frame.images)), dtype=np.int64), np.cumsum(~same)])
    found = boxes.box_agreement(items, frame.responses, frame.corners)
    first_of = np.unique(items, return_index=True)[1][found.items]
    known, place = np.unique(frame.responses, return_index=True)
    raters = [frame.raters[place[np.searchsorted(known, who)]] for who in (found.first, found.second)]
    sums = np.column_stack([found.values, np.ones(len(found.values))])
    return BoxAgreement(
        Cells(sums, frame.images[first_of], raters[0], raters[1]),
        frame.attributes[first_of],
        frame.identities[first_of],
    )
