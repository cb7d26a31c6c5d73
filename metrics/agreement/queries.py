"""Stored agreement scores: overall, within and between groups of annotators (PROTOCOL §10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import TaskKind
from metrics.core.annotator_groups import GROUPINGS, MIN_GROUP_SIZE
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs.queries import ScoreRequest

METRIC = "agreement"
BY = ("none", *GROUPINGS)
BY_TEXTS = {
    "none": _("all annotators"),
    "gender": _("by gender"),
    "origin": _("by origin"),
    "pool": _("in-region and out-region"),
}
"""What each of BY is called on pages."""
DIFFERENCE = "; difference: "
"""Only the parts of differences between groups of annotators contain this."""
_WITHIN = "; within: "
_BETWEEN = "; between: "

Scores = dict[str, Score]


@dataclass(frozen=True)
class AgreementScores:
    """The scores of all annotators (no `first`), within one group, or of two groups: between them, or those
    within the first minus those within the second."""

    scores: Scores
    first: str = ""
    second: str = ""


@dataclass(frozen=True)
class TaskAgreement:
    """One task at one level. `anonymous`: the annotators of some group are not identified. `n_hidden`: number
    of groups left out, with their comparisons, because they are so small that members could be identified."""

    part: str
    rows: tuple[AgreementScores, ...]
    differences: tuple[AgreementScores, ...]
    anonymous: bool
    n_hidden: int


def by_part(run: ScoreRun) -> dict[str, Scores]:
    """{part: {name: score}} of the study as a whole, in the order of the parts. One query."""
    scores_by_part: dict[str, Scores] = {}
    whole = Score.objects.filter(run=run, group__isnull=True, attribute__isnull=True)
    for score in whole.order_by("part", "pk"):
        scores_by_part.setdefault(score.part, {})[score.name] = score
    return scores_by_part


def part_in_words(part: str) -> str:
    """The label of a part such as 'task: depiction; reading: nominal'."""
    fields = dict(each.split(": ", 1) for each in part.split("; "))
    levels = {"nominal": gettext("nominal"), "ordinal": gettext("ordinal"), "interval": gettext("interval")}
    return f"{gettext(str(TaskKind(fields['task']).label))}, {levels[fields['reading']]}"


def task_agreements(run: ScoreRun) -> list[TaskAgreement]:
    """Every task at every level, with the groups of annotators that a finished run of METRIC compares.

    If the data do not identify annotators, no group is too small. One query."""
    scores_by_part = by_part(run)
    comparisons = (_WITHIN, _BETWEEN, DIFFERENCE)
    return [
        _task(part, scores_by_part)
        for part in scores_by_part
        if not any(each in part for each in comparisons)
    ]


def _task(part: str, scores_by_part: dict[str, Scores]) -> TaskAgreement:
    within = {
        each.removeprefix(part + _WITHIN): scores
        for each, scores in scores_by_part.items()
        if each.startswith(part + _WITHIN)
    }
    shown = {
        name: scores
        for name, scores in within.items()
        if "annotators" not in scores or scores["annotators"].n >= MIN_GROUP_SIZE
    }
    rows = [
        AgreementScores(scores_by_part[part]),
        *(AgreementScores(scores, name) for name, scores in shown.items()),
    ]
    between, differences = (
        tuple(
            AgreementScores(scores, first, second)
            for first, second in combinations(shown, 2)
            if (scores := scores_by_part.get(f"{part}{of_two}{first} and {second}"))
        )
        for of_two in (_BETWEEN, DIFFERENCE)
    )
    anonymous = not all("annotators" in scores for scores in shown.values())
    return TaskAgreement(part, (*rows, *between), differences, anonymous, len(within) - len(shown))


def run_of(by: str) -> ScoreRequest:
    """The agreement run that a page shows: by groups of annotators unless `by` is the first of BY."""
    return METRIC, Variant.CORRECTED, {} if by == BY[0] else {"by": by}


def check_readable(user: User, parameters: Mapping[str, str]) -> None:
    """Raises ValueError for agreement of groups of annotators unless `user` is an admin: a group can be one
    person. The page for leads leaves out small groups."""
    if parameters["by"] != BY[0] and not policies.is_admin(user):
        raise ValueError("by: agreement within and between groups of annotators is for admins.")
