"""Tables that are sorted and paged by URL parameters, so that a link shows what its sender saw."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.http import HttpRequest, QueryDict


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
