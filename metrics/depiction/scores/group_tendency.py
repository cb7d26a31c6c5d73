"""Score rows of a tendency (PROTOCOL §6)."""

from metrics.depiction.tendencies import GroupTendency
from metrics.score_runs.rows import Group, ScoreRow, score_row

NAMES = ("l_stereo", "l_random", "theta")


def score_rows(
    found: GroupTendency, group: Group | None, *, part: str = "", groups: int | None = None
) -> list[ScoreRow]:
    """A score for each of NAMES. n is the number of attributes or, for a mean (no `group`), of `groups`."""
    point = found.point
    numbers = [point.n_stereotypical, point.n_random, point.n_stereotypical + point.n_random]
    return [
        score_row(name, value, number if groups is None else groups, interval, group=group, part=part)
        for name, value, number, interval in zip(
            NAMES, found.values.tolist(), numbers, found.intervals(), strict=True
        )
    ]
