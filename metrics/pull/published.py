"""ViSAGe's published numbers of pull."""

from dataclasses import dataclass
from decimal import Decimal

from metrics.core import published_tables

PULL = ("s_d_s", "s_d_ns", "s_s_ns", "s_mean")
# Tables 3 to 5 spell one group differently from tables 1 and 2 and the release.
_RELEASED_AS = {"United Kingdom": "United KingdomUK"}


@dataclass(frozen=True)
class PublishedPull:
    """A row of ViSAGe's tables 3 to 5; `group` is the group's name in the release."""

    group: str
    s_d_s: Decimal
    s_d_ns: Decimal
    s_s_ns: Decimal
    s_mean: Decimal

    @property
    def x(self) -> Decimal:
        return self.s_d_s - self.s_d_ns

    @property
    def pulled(self) -> bool:
        return self.x > 0


def published_pull() -> dict[str, PublishedPull]:
    """{group: its row of tables 3 to 5}."""
    rows = {}
    for row in published_tables.published_rows("visage_tables_3_5.csv"):
        group = _RELEASED_AS.get(row["identity"], row["identity"])
        rows[group] = PublishedPull(group, *(Decimal(row[name]) for name in PULL))
    return rows
