"""Lists a page at a time, by cursor: what comes in or goes meanwhile moves nothing to another page.

A cursor holds the place of the last row seen (its value in the order asked for, and its number), so a page is
one look-up in an index, however far down the list it is.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import BadCursor
from annotation.api.resource import Query

LIMIT = 50
MOST = 500


def listing(
    name: str, /, *, orders: Mapping[str, str], default: str, most: int = MOST, **filters: serializers.Field
) -> type[Query]:
    """The query parameters of a list: `filters`, and order, limit and cursor. `orders`: name -> field of the
    rows, which is never null; each can be asked with '-' in front. `most`: rows that a page may have."""
    choices = [sign + order for order in orders for sign in ("", "-")]
    fields = {
        **filters,
        "order": serializers.ChoiceField(
            choices=choices, default=default, help_text="What the list is ordered by; '-' turns it round."
        ),
        "limit": serializers.IntegerField(
            min_value=1,
            max_value=most,
            default=min(LIMIT, most),
            help_text=f"How many rows a page has, {most} at most.",
        ),
        "cursor": serializers.CharField(
            required=False, max_length=1000, help_text="Where the page begins: from next or previous."
        ),
    }
    made = type(f"{name}Query", (Query,), {**fields, "orders": dict(orders)})
    return made


@cache
def page_of(
    row: type[serializers.Serializer], beside: type[serializers.Serializer] = serializers.Serializer
) -> type[serializers.Serializer]:
    """The shape of a page of such rows, with what is told `beside` them."""
    name = row.__name__.removesuffix("Serializer")
    fields = {
        "next": serializers.URLField(allow_null=True, help_text="The page after this; null at the end."),
        "previous": serializers.URLField(
            allow_null=True, help_text="The page before this; null at the beginning."
        ),
        "results": row(many=True),
        "__doc__": "One page of a list.",
    }
    return type(f"{name}PageSerializer", (beside,), fields)


def page(
    request: Request,
    rows: QuerySet[Any],
    *,
    query: Mapping[str, Any],
    kind: type[Query],
    row: type[serializers.Serializer],
    shown: Callable[[Sequence[Any]], Iterable[Any]] = lambda found: found,
    beside: Mapping[str, Any] | None = None,
) -> Response:
    """One page of `rows`. `query`: what was asked (of `kind`, made by `listing`); `shown` turns a page's rows
    into what `row` writes, in a fixed number of queries; `beside` is told beside them."""
    descending = query["order"].startswith("-")
    field = kind.orders[query["order"].lstrip("-")]
    at = _read(query["cursor"], rows=rows, field=field) if "cursor" in query else None
    backwards = at is not None and at[0] == "p"
    down = descending != backwards
    if at is not None:
        beyond = "lt" if down else "gt"
        rows = rows.filter(Q(**{f"{field}__{beyond}": at[1]}) | Q(**{field: at[1], f"pk__{beyond}": at[2]}))
    sign = "-" if down else ""
    limit = query["limit"]
    found = list(rows.order_by(f"{sign}{field}", f"{sign}pk")[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    before = more if backwards else at is not None
    after = at is not None if backwards else more
    links = {
        "next": _link(request, "n", found[-1], field) if found and after else None,
        "previous": _link(request, "p", found[0], field) if found and before else None,
    }
    told = row(list(shown(found)), many=True, context={"request": request}).data
    return Response({**(beside or {}), **links, "results": told})


def _link(request: Request, direction: str, row: Any, field: str) -> str:
    value = row
    for part in field.split("__"):
        value = getattr(value, part)
    place = [direction, value.isoformat() if hasattr(value, "isoformat") else value, row.pk]
    cursor = base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")
    asked = {**request.query_params.dict(), "cursor": cursor}
    return request.build_absolute_uri(f"{request.path}?{urlencode(asked)}")


def _read(cursor: str, *, rows: QuerySet[Any], field: str) -> tuple[str, Any, int]:
    """(direction, value, number) of a cursor; BadCursor if this list never made it."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        direction, value, number = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if direction not in ("n", "p") or not isinstance(number, int) or not 0 <= number < 2**63:
            raise ValueError("no place in a list")
        model_field: Any = None
        model: Any = rows.model
        for part in ("id" if field == "pk" else field).split("__"):
            model_field = model._meta.get_field(part)
            model = model_field.related_model
        # half of a surrogate pair is no text: it raises
        if isinstance(value, str) and b"\x00" in value.encode():
            raise ValueError("no place in a list")
        value = model_field.to_python(value)
        if isinstance(value, datetime):
            # not every moment of a zone is one of UTC's: the ends of time
            value = value.astimezone(UTC) if value.tzinfo else None
        if value is None:
            raise ValueError("no place in a list")
    except (
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
        binascii.Error,
        ValidationError,
        FieldDoesNotExist,
    ) as error:
        raise BadCursor(
            {"cursor": ["This list has no such cursor. Take it from next or previous, or leave it out."]}
        ) from error
    return direction, value, number
