"""Cursor pagination: rows that are added or deleted meanwhile do not shift the others to another page.

A cursor holds the position of the last row seen (its value in the requested order and its id), so each page
is one index look-up, however far down the list. It is signed, so its content can be trusted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core import signing
from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import BadCursor
from annotation.api.resource import Query, Resource

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
_View = TypeVar("_View", bound=Callable[..., Response])


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
    is never null; each can be prefixed with '-'. `max_limit`: the most rows of a page. For `filtered_page`,
    the name or `source` of each filter is a look-up of the model."""
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


def documents_list(operation_id: str, *, query: type[Query], row: Any, tag: str) -> Callable[[_View], _View]:
    """Decorator: the schema of a view that answers with `page`."""
    return extend_schema(
        operation_id=operation_id, parameters=[query], responses=page_serializer(row), tags=[tag]
    )


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
    field = kind.orders[query["order"].lstrip("-")]
    salt = f"{request.path} {field}"
    direction = value = pk = None
    if "cursor" in query:
        try:
            direction, value, pk = signing.loads(query["cursor"], salt=salt)
        except signing.BadSignature as error:
            message = "This is not a cursor of this list. Take it from next or previous, or leave it out."
            raise BadCursor({"cursor": [message]}) from error
    backwards = direction == "p"
    descend = query["order"].startswith("-") != backwards
    if direction:
        beyond = "lt" if descend else "gt"
        rows = rows.filter(Q(**{f"{field}__{beyond}": value}) | Q(**{field: value, f"pk__{beyond}": pk}))
    sign = "-" if descend else ""
    limit = query["limit"]
    found = list(rows.order_by(f"{sign}{field}", f"{sign}pk")[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    before = more if backwards else bool(direction)
    after = bool(direction) if backwards else more
    links = {
        "next": _link(request, "n", found[-1], field, salt) if found and after else None,
        "previous": _link(request, "p", found[0], field, salt) if found and before else None,
    }
    results = row(list(prepare(found)), many=True, context={"request": request}).data
    return Response({**(extra or {}), **links, "results": results})


def filtered_page(
    view: Resource,
    rows: QuerySet[Any],
    *,
    kind: type[Query],
    row: type[serializers.Serializer],
    prepare: Callable[[Sequence[Any]], Iterable[Any]] = lambda found: found,
) -> Response:
    """One page of those `rows` that match every filter in the request's query parameters; see `page`."""
    query = view.query(kind)
    filters = {key: value for key, value in query.items() if key not in ("order", "limit", "cursor")}
    return page(view.request, rows.filter(**filters), query=query, kind=kind, row=row, prepare=prepare)


def _link(request: Request, direction: str, row: Any, field: str, salt: str) -> str:
    value = attrgetter(field.replace("__", "."))(row)
    position = [direction, value.isoformat() if isinstance(value, datetime) else value, row.pk]
    params = {**request.query_params.dict(), "cursor": signing.dumps(position, salt=salt)}
    return request.build_absolute_uri(f"{request.path}?{urlencode(params)}")
