"""Queries of stored rankings: the places that groups and image sets can have."""

from dataclasses import dataclass

from annotation.models import IdentityGroup, ImageSet
from metrics.comparisons.ranking_scores import IMAGE_SET, IMAGE_SETS
from metrics.models import Score, ScoreRun

METRIC = "tendency_ranking"
_CHANCE = 0.05


@dataclass(frozen=True)
class RankedRow:
    """The score of a group, or of an image set (`group` None) with its title, and its place."""

    group: IdentityGroup | None
    title: str
    score: Score
    place: Score | None

    @property
    def places(self) -> str:
        """The places it can have, e.g. '2–7'; empty without."""
        if self.place is None or self.place.low is None or self.place.high is None:
            return ""
        low, high = round(self.place.low), round(self.place.high)
        return f"{low}" if low == high else f"{low}–{high}"


@dataclass(frozen=True)
class Ranking:
    """Rows with the largest score first, and the p of all being equal. `image_sets`: not of groups."""

    rows: list[RankedRow]
    p: Score | None
    image_sets: bool

    @property
    def differ(self) -> bool:
        """Whether p is below 5 %."""
        return self.p is not None and self.p.value is not None and self.p.value < _CHANCE

    @property
    def defined(self) -> bool:
        """Whether there is a p."""
        return self.p is not None and self.p.value is not None


def rankings(run: ScoreRun) -> list[Ranking]:
    """By l_stereo: of groups and, if the study has several, of image sets. At most two queries."""
    found: dict[tuple[int | None, str], dict[str, Score]] = {}
    for score in Score.objects.filter(run=run, name__in=("l_stereo", "rank", "p")).select_related("group"):
        found.setdefault((score.group_id, score.part), {})[score.name] = score
    names = [part.removeprefix(IMAGE_SET) for _, part in found if part.startswith(IMAGE_SET)]
    titles = dict(ImageSet.objects.filter(name__in=names).values_list("name", "title")) if names else {}
    tables: dict[bool, list[RankedRow]] = {False: [], True: []}
    for (group_id, part), scores in found.items():
        if "l_stereo" not in scores:
            continue
        name = part.removeprefix(IMAGE_SET)
        score = scores["l_stereo"]
        row = RankedRow(score.group, titles.get(name, name), score, scores.get("rank"))
        tables[group_id is None].append(row)
    return [
        Ranking(sorted(rows, key=_sort_key), found.get((None, part), {}).get("p"), image_sets)
        for (image_sets, rows), part in zip(tables.items(), ("", IMAGE_SETS), strict=True)
        if len(rows) > 1
    ]


def _sort_key(row: RankedRow) -> tuple[float, str]:
    return -(row.score.value or 0.0), row.group.name if row.group else row.title
