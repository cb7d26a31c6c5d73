"""Parse the parameters of a metric that compares two sides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.models import Study


@dataclass(frozen=True)
class ComparisonChoice:
    """Either another study to compare with, or a split of one study `by` something into `first` and
    `second`."""

    other: Study | None
    by: str
    first: str
    second: str


def parse_comparison(parameters: Mapping[str, str], *, by: Sequence[str]) -> ComparisonChoice:
    """Parse `against`, or `by` with `first` and `second`. The argument `by` lists the possible splits. Raises
    ValueError for any other combination; the message says what to give."""
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
