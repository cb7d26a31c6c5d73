"""Ratings of the visual nature of attributes, as arrays (PROTOCOL §2)."""

from dataclasses import dataclass

import numpy as np

from annotation.models import Attribute, Study
from metrics.core.answers import counted_judgements
from metrics.core.columns import NULL, read_columns
from metrics.core.stats import passing_shares
from metrics.core.stats.checks import Ints
from metrics.visual_nature.stats import SCALE


@dataclass(frozen=True)
class VisualFrame:
    """`ratings` (U, 5): how often each unit got each score, in the order of the units (PROTOCOL §2).

    Every rating, in the order of units and slots, which is the same in every database: `unit_of` (R,), the
    row of `ratings`; `labels` (R,), the column; `annotators` (R,), a cluster each if not identified.
    """

    attribute_ids: tuple[int, ...]
    attributes: tuple[str, ...]
    ratings: Ints
    unit_of: Ints
    labels: Ints
    annotators: Ints


def read_visual_nature(study: Study) -> VisualFrame:
    """The units that were rated at least once; an attribute can have several. Two queries."""
    rows = read_columns(
        counted_judgements(study, "visual_nature").order_by(),
        "response__unit__position",
        "response__unit_id",
        "option__attribute_id",
        "response__slot__index",
        "response_id",
        "response__annotator_id",
        "value",
    )
    rows = rows[np.lexsort(rows[:, 4::-1].T)]
    units, first, unit_of = np.unique(rows[:, :3], axis=0, return_index=True, return_inverse=True)
    attributes = rows[first, 2].tolist()
    texts = dict(Attribute.objects.filter(pk__in=set(attributes)).values_list("pk", "text"))
    labels = rows[:, 6] - SCALE[0]
    return VisualFrame(
        attribute_ids=tuple(attributes),
        attributes=tuple(texts[pk] for pk in attributes),
        ratings=passing_shares.count_labels(unit_of.ravel(), labels, shape=(len(units), len(SCALE))),
        unit_of=unit_of.ravel(),
        labels=labels,
        annotators=np.where(rows[:, 5] == NULL, -rows[:, 4], rows[:, 5]),
    )
