"""How far annotators agree: all of them, within groups of them and between groups (PROTOCOL §10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from django.contrib.auth.models import User

from annotation import policies
from metrics.core.annotator_groups import GROUPINGS, MIN_GROUP_SIZE
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs.queries import ScoreRequest

METRIC = "agreement"
BY = ("none", *GROUPINGS)
DIFFERENCE = "; difference: "
"""What the parts of differences between groups of annotators have, and no other."""
_WITHIN = "; within: "
_BETWEEN = "; between: "

Scores = dict[str, Score]


@dataclass(frozen=True)
class Agreeing:
    """The scores of all annotators (no `first`), within a group of them, or of two: between them, or those
    within the first less those within the second."""

    scores: Scores
    first: str = ""
    second: str = ""


@dataclass(frozen=True)
class TaskAgreement:
    """One task in one reading. `unnamed`: nobody knows who gave the answers of some group. `small`: how many
    groups of annotators are left out, with what is between them and the others, since they are so few that
    they could be told from each other."""

    part: str
    rows: tuple[Agreeing, ...]
    differences: tuple[Agreeing, ...]
    unnamed: bool
    small: int


def by_part(run: ScoreRun) -> dict[str, Scores]:
    """{part: {name: score}} of the study as a whole, in the order of the parts. One query."""
    found: dict[str, Scores] = {}
    whole = Score.objects.filter(run=run, group__isnull=True, attribute__isnull=True)
    for score in whole.order_by("part", "pk"):
        found.setdefault(score.part, {})[score.name] = score
    return found


def agreement(run: ScoreRun) -> list[TaskAgreement]:
    """Every task in every reading, with the groups of annotators that a finished run of METRIC compares.

    Where the data do not identify who answered, no group is too small. One query."""
    found = by_part(run)
    apart = (_WITHIN, _BETWEEN, DIFFERENCE)
    return [_task(part, found) for part in found if not any(each in part for each in apart)]


def _task(part: str, found: dict[str, Scores]) -> TaskAgreement:
    within = {
        each.removeprefix(part + _WITHIN): scores
        for each, scores in found.items()
        if each.startswith(part + _WITHIN)
    }
    shown = {name: scores for name, scores in within.items() if _large(scores.get("annotators"))}
    rows = [Agreeing(found[part]), *(Agreeing(scores, name) for name, scores in shown.items())]
    between, differences = (
        tuple(
            Agreeing(scores, first, second)
            for first, second in combinations(shown, 2)
            if (scores := found.get(f"{part}{of_two}{first} and {second}"))
        )
        for of_two in (_BETWEEN, DIFFERENCE)
    )
    unnamed = not all("annotators" in scores for scores in shown.values())
    return TaskAgreement(part, (*rows, *between), differences, unnamed, len(within) - len(shown))


def _large(annotators: Score | None) -> bool:
    return annotators is None or annotators.n >= MIN_GROUP_SIZE


def wanted_by(by: str) -> ScoreRequest:
    """Agreement, as a page shows it: of groups of annotators unless `by` is the first of BY."""
    return METRIC, Variant.CORRECTED, {} if by == BY[0] else {"by": by}


def check_readable(user: User, parameters: Mapping[str, str]) -> None:
    """Raises ValueError for agreement of groups of annotators, unless an admin asks: a group can be one
    person. The page for leads leaves small groups out."""
    if parameters["by"] != BY[0] and not policies.is_admin(user):
        raise ValueError("by: agreement within and between groups of annotators is for admins.")
