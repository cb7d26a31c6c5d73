"""Whole columns of whole numbers out of a query: millions of rows, none of them kept as a Python object."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, QuerySet
from django.db.models.functions import Cast, Coalesce

from metrics.core.stats.checks import Ints

NULL = -1
"""What stands for null: no row has this key."""
_CHUNK_SIZE = 20_000


def read_columns(rows: QuerySet[Any], *fields: str) -> Ints:
    """The `fields` of `rows`, shape (rows, fields), in the order of the query; null is `NONE`."""
    numbers = {
        f"c{place}": Coalesce(Cast(field, BigIntegerField()), NULL) for place, field in enumerate(fields)
    }
    found = rows.annotate(**numbers).values_list(*numbers).iterator(chunk_size=_CHUNK_SIZE)
    return np.fromiter(chain.from_iterable(found), dtype=np.int64).reshape(-1, len(fields))
