"""The boxes that annotators drew, as arrays for agreement (PROTOCOL §10)."""

from dataclasses import dataclass
from itertools import chain

import numpy as np
from django.db import connections
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from annotation.core import replica
from annotation.models import Study, TaskKind
from metrics.core.answers import counted_boxes
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats, Ints

_CORNERS = ("x0", "y0", "x1", "y1")
_AT_ONCE = 20_000


@dataclass(frozen=True)
class BoxFrame:
    """Every box (N,) of a selected attribute: its image, attribute, response and annotator (-1 if not
    identified). `corners` (N, 4): x0, y0, x1, y1 in pixels. `identities` as in RatingFrame."""

    images: Ints
    attributes: Ints
    responses: Ints
    raters: Ints
    identities: Ints
    corners: Floats


def read_boxes(study: Study) -> BoxFrame:
    """Every box of a selected attribute, by image, attribute and response."""
    fields: dict[str, F | Coalesce] = {
        "image": F("judgement__response__unit__image_id"),
        "attribute": F("judgement__option__attribute_id"),
        "response": F("judgement__response_id"),
        "rater": Coalesce("judgement__response__annotator_id", Value(UNKNOWN_ANNOTATOR)),
        "identity": F("judgement__response__unit__image__group_id"),
    }
    rows = counted_boxes(study, TaskKind.DEPICTION).order_by().values_list(*fields.values(), *_CORNERS)
    kinds = [*((name, np.int64) for name in fields), *((name, np.float64) for name in _CORNERS)]
    # straight from the cursor: the ORM would convert each of millions of values
    with connections[replica.read_alias()].chunked_cursor() as cursor:
        cursor.execute(*rows.query.sql_with_params())
        pieces = iter(lambda: cursor.fetchmany(_AT_ONCE), [])
        found = np.fromiter(chain.from_iterable(pieces), dtype=kinds)
    found = found[np.lexsort((found["response"], found["attribute"], found["image"]))]
    return BoxFrame(
        images=found["image"],
        attributes=found["attribute"],
        responses=found["response"],
        raters=found["rater"],
        identities=found["identity"],
        corners=np.stack([found[name] for name in _CORNERS], axis=1),
    )
