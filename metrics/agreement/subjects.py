"""What agreement is about: the whole task, an attribute or an identity group; its ratings and its boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.models import Attribute, IdentityGroup, Study
from metrics import frames
from metrics.stats import boxes
from metrics.stats.checks import Ints
from metrics.stats.rated_pairs import Cells

PER = ("attribute", "identity")


@dataclass(frozen=True)
class Subject:
    """What a row is about: which rows of the ratings and of the pairs of boxes, and what to call it."""

    rows: Ints | slice
    box_rows: Ints | slice
    identity_id: int | None = None
    attribute_id: int | None = None
    name: str = ""


WHOLE = Subject(slice(None), slice(None))


@dataclass(frozen=True)
class DrawnBoxes:
    """Pairs of annotators who boxed the same attribute of the same image, and what they boxed."""

    cells: Cells
    attributes: Ints
    identities: Ints

    def of(self, rows: Ints | slice) -> Cells:
        cells = self.cells
        return Cells(cells.sums[rows], cells.clusters[rows], cells.first[rows], cells.second[rows])


def subjects_of(frame: frames.RatingFrame, drawn: DrawnBoxes | None, per: str) -> list[Subject]:
    """One for each attribute or identity group that was judged, in the order of their names."""
    none = np.zeros(0, dtype=np.int64)
    if per == "attribute":
        rows, boxed = _places(frame.attributes), _places(drawn.attributes if drawn else none)
        attributes = Attribute.objects.filter(pk__in=rows).order_by("text", "pk").values_list("pk", "text")
        return [Subject(rows[pk], boxed.get(pk, none), attribute_id=pk, name=text) for pk, text in attributes]
    rows, boxed = _places(frame.identities), _places(drawn.identities if drawn else none)
    groups = IdentityGroup.objects.filter(pk__in=rows).order_by("name", "pk").values_list("pk", "name")
    return [Subject(rows[pk], boxed.get(pk, none), identity_id=pk, name=name) for pk, name in groups]


def _places(keys: Ints) -> dict[int, Ints]:
    """{key: where it stands, in order}."""
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts)[1:], strict=True))


def drawn_boxes(study: Study) -> DrawnBoxes:
    frame = frames.boxes(study)
    same = (np.diff(frame.images) == 0) & (np.diff(frame.attributes) == 0)
    items = np.concatenate([np.zeros(min(1, len(frame.images)), dtype=np.int64), np.cumsum(~same)])
    found = boxes.box_agreement(items, frame.responses, frame.corners)
    first_of = np.unique(items, return_index=True)[1][found.items]
    known, place = np.unique(frame.responses, return_index=True)
    raters = [frame.raters[place[np.searchsorted(known, who)]] for who in (found.first, found.second)]
    sums = np.column_stack([found.values, np.ones(len(found.values))])
    return DrawnBoxes(
        Cells(sums, frame.images[first_of], raters[0], raters[1]),
        frame.attributes[first_of],
        frame.identities[first_of],
    )
