"""How often each attribute got each score of the visual-nature scale (PROTOCOL §2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db.models import Count

from annotation.models import Attribute, Study
from metrics.frames.inputs import counted_judgements
from metrics.stats.checks import Ints


@dataclass(frozen=True)
class VisualFrame:
    """How often each unit got each score: `ratings` (U, 5), in the order of the units (PROTOCOL §2)."""

    unit_ids: tuple[int, ...]
    attribute_ids: tuple[int, ...]
    attributes: tuple[str, ...]
    ratings: Ints


def visual_nature(study: Study) -> VisualFrame:
    """The units that were rated at least once. A unit asked twice is two units."""
    sums = (
        counted_judgements(study, "visual_nature")
        .order_by()
        .values_list("response__unit__position", "response__unit_id", "option__attribute_id", "value")
        .annotate(number=Count("pk"))
    )
    tables: dict[tuple[int, int, int], list[int]] = {}
    for position, unit, attribute, value, number in sums:
        tables.setdefault((position, unit, attribute or 0), [0] * 5)[value - 1] += number
    keys = sorted(tables)
    texts = dict(Attribute.objects.filter(pk__in={key[2] for key in keys}).values_list("pk", "text"))
    return VisualFrame(
        unit_ids=tuple(key[1] for key in keys),
        attribute_ids=tuple(key[2] for key in keys),
        attributes=tuple(texts[key[2]] for key in keys),
        ratings=np.array([tables[key] for key in keys], dtype=np.int64).reshape(-1, 5),
    )
