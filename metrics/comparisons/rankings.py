"""The stored ranking of groups: the places that each can have."""

from dataclasses import dataclass

from annotation.models import IdentityGroup
from metrics.models import Score, ScoreRun
from metrics.score_runs.places import beyond_chance, places

METRIC = "tendency_ranking"


@dataclass(frozen=True)
class RankedRow:
    """The score of a group and its place."""

    group: IdentityGroup
    score: Score
    place: Score | None

    @property
    def places(self) -> str:
        """The places it can have, e.g. '2–7'; empty without."""
        return places(self.place)


@dataclass(frozen=True)
class Ranking:
    """Rows with the largest score first, and the p of all being equal."""

    rows: list[RankedRow]
    p: Score | None

    @property
    def differ(self) -> bool:
        """Whether p is below 5 %."""
        return beyond_chance(self.p)

    @property
    def defined(self) -> bool:
        """Whether there is a p."""
        return self.p is not None and self.p.value is not None


def ranking(run: ScoreRun) -> Ranking | None:
    """The groups by l_stereo; None if fewer than two have one. One query."""
    found: dict[IdentityGroup | None, dict[str, Score]] = {}
    for score in Score.objects.filter(run=run, name__in=("l_stereo", "rank", "p")).select_related("group"):
        found.setdefault(score.group, {})[score.name] = score
    rows = [
        RankedRow(group, scores["l_stereo"], scores.get("rank"))
        for group, scores in found.items()
        if group is not None and "l_stereo" in scores
    ]
    if len(rows) < 2:
        return None
    return Ranking(sorted(rows, key=_sort_key), found.get(None, {}).get("p"))


def _sort_key(row: RankedRow) -> tuple[float, str]:
    return -(row.score.value or 0.0), row.group.name
