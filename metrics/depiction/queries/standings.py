"""The axes of the columns of the table of identity groups, and where one group stands among all."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import IdentityGroup
from metrics.core.marks import Axis, Numbers, scaled_axis
from metrics.depiction.queries.identities import IdentityRow
from metrics.models import Score


def column_axes(rows: Sequence[IdentityRow]) -> dict[str, Axis | None]:
    """By column, the axis on which the scores of all `rows` are drawn; both L share one."""

    def numbers(*columns: str) -> list[Numbers]:
        scores = [getattr(row, column) for row in rows for column in columns]
        return [(score.value, score.low, score.high) for score in scores if score is not None]

    likelihoods = scaled_axis("share", numbers("l_stereo", "l_random"))
    return {
        "l_stereo": likelihoods,
        "l_random": likelihoods,
        "theta": scaled_axis("ratio", numbers("theta")),
        "o": scaled_axis("number", numbers("o")),
    }


@dataclass(frozen=True)
class Standing:
    """One of a group's scores among those of all groups. `place` 1 has the largest value; None if it is
    undefined. `others`: the values of the other groups."""

    column: str
    score: Score
    axis: Axis | None
    place: int | None
    of: int
    others: tuple[float, ...]


def standings(rows: Sequence[IdentityRow], group: IdentityGroup) -> list[Standing]:
    """The scores of `group` among those of all `rows`. Equal values share the better place."""
    own = next((row for row in rows if row.group == group), None)
    axes = column_axes(rows)
    found = []
    for column in ("theta", "l_stereo", "l_random", "o"):
        score: Score | None = getattr(own, column, None)
        if score is None:
            continue
        others = [
            other.value
            for row in rows
            if row.group != group and (other := getattr(row, column)) and other.value is not None
        ]
        place = None if score.value is None else 1 + sum(other > score.value for other in others)
        of = len(others) + (place is not None)
        found.append(Standing(column, score, axes[column], place, of, tuple(others)))
    return found
