"""The stored widths of intervals if annotators, who are not identified, were few people who differ."""

from dataclasses import dataclass

from annotation.models import IdentityGroup, Study
from annotation.policies import User
from metrics.depiction.sensitivity_scores import PEOPLE, check_run
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs import queries


def newest_readable(user: User, study: Study) -> ScoreRun | None:
    """The newest run, if the user may read it."""
    run = queries.newest_run(study, "annotator_sensitivity", Variant.CORRECTED)
    if run is None:
        return None
    try:
        check_run(user, run)
    except ValueError:
        return None
    return run


@dataclass(frozen=True)
class WidthRow:
    """Half the width of the interval of a group's L(stereo): as it is, and with each number of PEOPLE."""

    group: IdentityGroup
    now: Score
    of_few: Score
    of_more: Score


@dataclass(frozen=True)
class Sensitivity:
    """`example` is the row with the median width now. `deviation`: how much annotators differ, in logits; its
    n is 0 if that is assumed."""

    deviation: Score
    example: WidthRow
    rows: list[WidthRow]


def sensitivity(run: ScoreRun) -> Sensitivity | None:
    """Of a finished run; None if no group has an interval. Two queries."""
    deviation = Score.objects.filter(run=run, name="annotator_sd", part="").first()
    rows = []
    for scores in queries.scores_by_group(run).values():
        names = ("half_width", *(f"half_width_{people}" for people in PEOPLE))
        now, of_few, of_more = (scores.get(name) for name in names)
        if now is None or of_few is None or of_more is None or now.value is None or now.group is None:
            continue
        rows.append(WidthRow(now.group, now, of_few, of_more))
    if deviation is None or not rows:
        return None
    by_width = sorted(rows, key=lambda row: row.now.value or 0.0)
    return Sensitivity(deviation, by_width[(len(rows) - 1) // 2], rows)
