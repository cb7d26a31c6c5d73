"""The subsets of associations that are scored: all, each region and each group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Ints
from metrics.votes.data.source import Pair


@dataclass(frozen=True)
class Subset:
    """The associations of a group, of a region, or (neither given) all. `rows`: their indices."""

    rows: Ints
    group_id: int | None = None
    group: str = ""
    region: str = ""

    @property
    def seed_name(self) -> str:
        """The name that seeds the random draws of this subset."""
        return f"group {self.group}" if self.group else f"region {self.region}"

    def part(self, detail: str = "") -> str:
        """The part of a score, as it is stored: `region: East Asia; pool: in-region, t=2`."""
        return "; ".join(text for text in (self.region and f"region: {self.region}", detail) if text)


def subsets(pairs: Sequence[Pair]) -> Iterator[Subset]:
    """All pairs, then the regions and the groups, each by name; nothing if there are no pairs.

    A group with an unknown region is in no region; a pair without a group only counts overall.
    """
    if not pairs:
        return
    yield Subset(np.arange(len(pairs)))
    regions = np.array([pair.region for pair in pairs])
    for region in sorted(set(regions.tolist()) - {""}):
        yield Subset(np.flatnonzero(regions == region), region=region)
    groups = np.array([pair.group_id for pair in pairs])
    names = {pair.group_id: pair.group for pair in pairs if pair.group_id}
    for group, name in sorted(names.items(), key=lambda item: (item[1], item[0])):
        yield Subset(np.flatnonzero(groups == group), group_id=group, group=name)


def pool_part(pool: str, threshold: int) -> str:
    """`pool: in-region, t=2`."""
    return f"pool: {pool}, t={threshold}"
