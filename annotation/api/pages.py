"""Cursor pagination: rows that are added or deleted meanwhile do not shift the others to another page.

A cursor holds the position of the last row seen (its value in the requested order and its id), so each page
is one index look-up, however far down the list.
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

DEFAULT_LIMIT = 50
MAX_LIMIT = 500


def list_query(
    name: str,
    /,
    *,
    orders: Mapping[str, str],
    default: str,
    max_limit: int = MAX_LIMIT,
    **filters: serializers.Field,
) -> type[Query]:
    """The query parameters of a list: `filters`, order, limit and cursor. `orders`: name -> model field that
    is never null; each can be prefixed with '-'. `max_limit`: the most rows of a page."""
    choices = [sign + order for order in orders for sign in ("", "-")]
    fields = {
        **filters,
        "order": serializers.ChoiceField(
            choices=choices, default=default, help_text="The order of the list; '-' reverses it."
        ),
        "limit": serializers.IntegerField(
            min_value=1,
            max_value=max_limit,
            default=min(DEFAULT_LIMIT, max_limit),
            help_text=f"Rows per page, at most {max_limit}.",
        ),
        "cursor": serializers.CharField(
            required=False, max_length=1000, help_text="Start of the page, taken from next or previous."
        ),
    }
    return type(f"{name}Query", (Query,), {**fields, "orders": dict(orders)})


@cache
def page_serializer(
    row: type[serializers.Serializer], extra: type[serializers.Serializer] = serializers.Serializer
) -> type[serializers.Serializer]:
    """The serializer of a page of such rows; `extra` adds fields of the page itself."""
    name = row.__name__.removesuffix("Serializer")
    fields = {
        "next": serializers.URLField(allow_null=True, help_text="The next page; null on the last one."),
        "previous": serializers.URLField(
            allow_null=True, help_text="The previous page; null on the first one."
        ),
        "results": row(many=True),
        "__doc__": "One page of a list.",
    }
    return type(f"{name}PageSerializer", (extra,), fields)


def page(
    request: Request,
    rows: QuerySet[Any],
    *,
    query: Mapping[str, Any],
    kind: type[Query],
    row: type[serializers.Serializer],
    prepare: Callable[[Sequence[Any]], Iterable[Any]] = lambda found: found,
    extra: Mapping[str, Any] | None = None,
) -> Response:
    """One page of `rows`. `query`: the validated parameters (of `kind`, from `list_query`); `prepare` turns
    the page's rows into what `row` serializes, in a fixed number of queries; `extra` adds fields."""
    descending = query["order"].startswith("-")
    field = kind.orders[query["order"].lstrip("-")]
    position = _read(query["cursor"], rows=rows, field=field) if "cursor" in query else None
    backwards = position is not None and position[0] == "p"
    descend = descending != backwards
    if position is not None:
        beyond = "lt" if descend else "gt"
        rows = rows.filter(
            Q(**{f"{field}__{beyond}": position[1]}) | Q(**{field: position[1], f"pk__{beyond}": position[2]})
        )
    sign = "-" if descend else ""
    limit = query["limit"]
    found = list(rows.order_by(f"{sign}{field}", f"{sign}pk")[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    before = more if backwards else position is not None
    after = position is not None if backwards else more
    links = {
        "next": _link(request, "n", found[-1], field) if found and after else None,
        "previous": _link(request, "p", found[0], field) if found and before else None,
    }
    results = row(list(prepare(found)), many=True, context={"request": request}).data
    return Response({**(extra or {}), **links, "results": results})


def _link(request: Request, direction: str, row: Any, field: str) -> str:
    value = row
    for part in field.split("__"):
        value = getattr(value, part)
    position = [direction, value.isoformat() if hasattr(value, "isoformat") else value, row.pk]
    cursor = base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")
    params = {**request.query_params.dict(), "cursor": cursor}
    return request.build_absolute_uri(f"{request.path}?{urlencode(params)}")


def _read(cursor: str, *, rows: QuerySet[Any], field: str) -> tuple[str, Any, int]:
    """(direction, value, id) of a cursor; raises BadCursor if this list did not issue it."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        direction, value, number = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if direction not in ("n", "p") or not isinstance(number, int) or not 0 <= number < 2**63:
            raise ValueError("not a position in a list")
        model_field: Any = None
        model: Any = rows.model
        for part in ("id" if field == "pk" else field).split("__"):
            model_field = model._meta.get_field(part)
            model = model_field.related_model
        # encode() raises for an unpaired surrogate.
        if isinstance(value, str) and b"\x00" in value.encode():
            raise ValueError("not a position in a list")
        value = model_field.to_python(value)
        if isinstance(value, datetime):
            # Raises OverflowError for times that UTC cannot express.
            value = value.astimezone(UTC) if value.tzinfo else None
        if value is None:
            raise ValueError("not a position in a list")
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
            {"cursor": ["This is not a cursor of this list. Take it from next or previous, or leave it out."]}
        ) from error
    return direction, value, number
