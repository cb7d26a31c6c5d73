"""Tables that are sorted and paged by URL parameters, so that a link shows what its sender saw."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest, QueryDict

Row = TypeVar("Row")


def parse_id(text: str) -> int:
    """A primary key from a URL; 0, which no row has, for anything that is not a number."""
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def url_with(request: HttpRequest, **changes: str) -> str:
    """The query string of the current page with some parameters changed. `check` is dropped: it applies to
    one request only."""
    query: QueryDict = request.GET.copy()
    query.pop("check", None)
    for key, value in changes.items():
        query[key] = value
    return f"?{query.urlencode()}"


def default_direction(column: str, text_columns: Collection[str]) -> str:
    return "asc" if column in text_columns else "desc"


def headings(
    request: HttpRequest,
    columns: Mapping[str, object],
    *,
    sort: str,
    descending: bool,
    text_columns: Collection[str],
) -> list[dict[str, object]]:
    """Each column's heading with the link that sorts by it and its present order (aria-sort)."""
    found: list[dict[str, object]] = []
    for name, heading in columns.items():
        direction = default_direction(name, text_columns)
        state = ""
        if name == sort:
            state = "descending" if descending else "ascending"
            direction = "asc" if descending else "desc"
        found.append(
            {
                "name": name,
                "heading": heading,
                "state": state,
                "number": name not in text_columns,
                "link": url_with(request, sort=name, dir=direction),
            }
        )
    return found


@dataclass(frozen=True)
class Order:
    """The column that a table is sorted by, and the direction."""

    column: str
    descending: bool

    def sorted(self, rows: Iterable[Row], key: Callable[[Row, str], Any]) -> list[Row]:
        """`rows` by `key(row, column)`; rows where it is None come last in either direction."""
        known, unknown = [], []
        for row in rows:
            value = key(row, self.column)
            if value is None:
                unknown.append(row)
            else:
                known.append((value, row))
        known.sort(key=lambda pair: pair[0], reverse=self.descending)
        return [row for _, row in known] + unknown

    def context(
        self, request: HttpRequest, columns: Mapping[str, object], text_columns: Collection[str]
    ) -> dict[str, object]:
        """What templates need to show the order and to change it."""
        return {
            "sort": self.column,
            "direction": "desc" if self.descending else "asc",
            "columns": headings(
                request, columns, sort=self.column, descending=self.descending, text_columns=text_columns
            ),
        }


def requested_order(
    request: HttpRequest, columns: Collection[str], text_columns: Collection[str], *, default: str
) -> Order:
    """The order given by the URL parameters `sort` and `dir`; an unknown column counts as `default`."""
    sort = request.GET.get("sort", default)
    if sort not in columns:
        sort = default
    return Order(sort, request.GET.get("dir", default_direction(sort, text_columns)) == "desc")
