"""The stored widths of intervals if annotators, who are not identified, were few people who differ."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from annotation.models import IdentityGroup, Study
from metrics.depiction.sensitivity_scores import check_run
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
    """Half the width of the interval of a group's L(stereo): as it is, and with 12 and with 30 people."""

    group: IdentityGroup
    now: Score
    of_12: Score
    of_30: Score


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
        found = [scores.get(name) for name in ("half_width", "half_width_12", "half_width_30")]
        now, of_12, of_30 = found
        if now is None or of_12 is None or of_30 is None or now.value is None or now.group is None:
            continue
        rows.append(WidthRow(now.group, now, of_12, of_30))
    if deviation is None or not rows:
        return None
    by_width = sorted(rows, key=lambda row: row.now.value or 0.0)
    return Sensitivity(deviation, by_width[(len(rows) - 1) // 2], rows)
