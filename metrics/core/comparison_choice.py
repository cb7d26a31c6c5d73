"""What two sides are asked for by the parameters of a metric that compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.models import Study


@dataclass(frozen=True)
class ComparisonChoice:
    """Another study to compare with, or the two of a split: `first` and `second` of what `by` says."""

    other: Study | None
    by: str
    first: str
    second: str


def parse_comparison(parameters: Mapping[str, str], *, by: Sequence[str]) -> ComparisonChoice:
    """The parameters `against`, `by`, `first` and `second`, of which either the first or the others are
    given; `by` lists what can be split by. Raises ValueError for any other choice, and says what to give."""
    against, split, first, second = (parameters[name] for name in ("against", "by", "first", "second"))
    if bool(against) == bool(split):
        raise ValueError(
            f"Say what to compare: against=STUDY, or by={', '.join(by[:-1])} or {by[-1]} with first=... and "
            "second=...; one of the two."
        )
    if against:
        other = Study.objects.filter(name=against).select_related("stereotype_source").first()
        if other is None:
            raise ValueError(f"There is no study '{against}' to compare with.")
        return ComparisonChoice(other, "", "", "")
    if split not in by:
        raise ValueError(f"It can be compared by {', '.join(by)}; not by '{split}'.")
    if not first or not second or first == second:
        raise ValueError(f"Say which two to compare by {split}: first=... and second=...")
    return ComparisonChoice(None, split, first, second)
