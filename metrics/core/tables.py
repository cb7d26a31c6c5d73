"""Tables that are sorted and paged through their address, so that a link leads to what its reader saw."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.http import HttpRequest, QueryDict


def url_with(request: HttpRequest, **changes: str) -> str:
    """The page's own address with some parameters changed, the rest of the reader's choices kept. To wait
    until the page has checked its numbers (`check`) is chosen once."""
    query: QueryDict = request.GET.copy()
    query.pop("check", None)
    for key, value in changes.items():
        query[key] = value
    return f"?{query.urlencode()}"


def default_direction(column: str, words: Collection[str]) -> str:
    return "asc" if column in words else "desc"


def headings(
    request: HttpRequest,
    columns: Mapping[str, object],
    *,
    sort: str,
    descending: bool,
    words: Collection[str],
) -> list[dict[str, object]]:
    """Each column's heading with the link that sorts by it, and how it is sorted now (aria-sort)."""
    found: list[dict[str, object]] = []
    for name, heading in columns.items():
        direction = default_direction(name, words)
        state = ""
        if name == sort:
            state = "descending" if descending else "ascending"
            direction = "asc" if descending else "desc"
        found.append(
            {
                "name": name,
                "heading": heading,
                "state": state,
                "number": name not in words,
                "link": url_with(request, sort=name, dir=direction),
            }
        )
    return found
