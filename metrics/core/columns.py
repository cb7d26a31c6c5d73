"""Whole columns of whole numbers out of a query: millions of rows, none of them kept as a Python object."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, QuerySet
from django.db.models.functions import Cast, Coalesce

from metrics.core.stats.checks import Ints

NONE = -1
"""What stands for null: no row has this key."""
_AT_ONCE = 20_000


def columns(rows: QuerySet[Any], *fields: str) -> Ints:
    """The `fields` of `rows`, shape (rows, fields), in the order of the query; null is `NONE`."""
    numbers = {
        f"c{place}": Coalesce(Cast(field, BigIntegerField()), NONE) for place, field in enumerate(fields)
    }
    found = rows.annotate(**numbers).values_list(*numbers).iterator(chunk_size=_AT_ONCE)
    return np.fromiter(chain.from_iterable(found), dtype=np.int64).reshape(-1, len(fields))
