"""Stored contrasts: each identity group and region against all others, with false-discovery control."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.models import IdentityGroup
from metrics.models import Score, ScoreRun
from metrics.score_runs.compared_rows import CONTRAST_SIDES

METRICS = ("tendency_contrast", "offensiveness_contrast")
"""The contrasts of depictions."""
NAMES = {
    "tendency_contrast": ("l_stereo",),
    "offensiveness_contrast": ("o",),
    "pull_contrast": ("x", "s_d_s", "s_d_ns"),
}
"""The scores that each metric compares."""
_REGION = "region: "


@dataclass(frozen=True)
class Difference:
    """A score minus that of all others, and its q over all groups or all regions. None if there is no
    score."""

    score: Score | None
    q: Score | None


@dataclass(frozen=True)
class ContrastRow:
    """A group, or a region (`group` None), against all others: one difference for each requested score."""

    group: IdentityGroup | None
    region: str
    numbers: tuple[Difference, ...]


def contrasts(
    runs: Iterable[ScoreRun], names: Iterable[str], *, group: IdentityGroup | None = None
) -> list[ContrastRow]:
    """The scores `names` of the regions and then the groups of finished runs, sorted by the first score,
    largest difference first; or of `group` only. One query."""
    scores = Score.objects.filter(run__in=list(runs), attribute__isnull=True).exclude(part__in=CONTRAST_SIDES)
    if group is not None:
        scores = scores.filter(group=group)
    found: dict[tuple[int | None, str], dict[str, Score]] = {}
    for score in scores.select_related("group"):
        if not score.part.endswith(CONTRAST_SIDES):  # the sides of a region
            found.setdefault((score.group_id, score.part), {})[score.name] = score
    requested = list(names)
    rows = [
        ContrastRow(
            next(iter(one.values())).group,
            part.removeprefix(_REGION),
            tuple(Difference(one.get(name), one.get(f"{name}_q")) for name in requested),
        )
        for (_, part), one in found.items()
    ]
    return sorted(rows, key=_sort_key)


def _sort_key(row: ContrastRow) -> tuple[bool, bool, float, str]:
    """Regions first; undefined differences last; ties by name."""
    first = row.numbers[0].score
    value = None if first is None else first.value
    name = row.group.name if row.group else row.region
    return row.group is not None, value is None, -(value or 0.0), name
