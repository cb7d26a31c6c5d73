"""Pages of long lists in the browser, from one row to the next: as fast at the end as at the beginning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet

SIZE = 50
T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Stretch(Generic[T]):
    """Some rows of a list. `before` and `after`: the ids from which the previous and the next rows are read,
    None where there are none."""

    rows: Sequence[T]
    before: int | None
    after: int | None


def stretch(
    rows: QuerySet[T], *, field: str, after: int | None = None, before: int | None = None, size: int = SIZE
) -> Stretch[T]:
    """At most `size` of `rows`, ordered by `field` (never null) and id, after or before the row of that id.

    An id that is not there (any more) gives the beginning. Two queries at most.
    """
    start = before if before is not None else after
    backwards = before is not None
    if start is not None:
        position = rows.model._default_manager.filter(pk=start).values_list(field, flat=True).first()
        if position is None:
            start, backwards = None, False
        else:
            beyond = "lt" if backwards else "gt"
            later = Q(**{f"{field}__{beyond}": position})
            rows = rows.filter(later | Q(**{field: position, f"pk__{beyond}": start}))
    sign = "-" if backwards else ""
    order = (f"{sign}pk",) if field == "pk" else (f"{sign}{field}", f"{sign}pk")
    found = list(rows.order_by(*order)[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    has_before = more if backwards else start is not None
    has_after = backwards or more
    return Stretch(
        rows=found,
        before=found[0].pk if found and has_before else None,
        after=found[-1].pk if found and has_after else None,
    )
