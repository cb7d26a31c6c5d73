"""Scores of a league of studies by their answers: their means and places, and which groups or attributes
differ (PROTOCOL §2 to §4, §10, §11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metrics.core.stats.percentiles import Interval
from metrics.league.data.answers import Answered, Unit, read_answers
from metrics.league.data.studies import read_studies
from metrics.league.kinds import STUDY, Kind
from metrics.league.scores.joint_rows import people_shared, place_rows, spread_rows, without_intervals
from metrics.score_runs.rows import Inputs, ScoreRow, score_row


def answers_league_scores(kind: Kind, inputs: Inputs) -> list[ScoreRow]:
    studies = read_answers(kind, read_studies(inputs.study, inputs.parameters))
    compared, rows = _compared(studies)
    for study in studies:
        rows += _counts(kind, study, len(compared))
    rows.append(people_shared(study.people for study in studies))
    if compared:
        rows += _means(kind, studies, compared, inputs) + _units(kind, studies, compared, inputs)
    return rows if inputs.with_intervals else without_intervals(rows)


def _part(study: Answered) -> str:
    return f"{STUDY}{study.study}"


def _compared(studies: Sequence[Answered]) -> tuple[list[Unit], list[ScoreRow]]:
    """The groups that have a variance in all studies, or the attributes that are in all; rows of the
    others."""
    kept, rows = [], []
    units = {unit for study in studies for unit in study.units}
    for unit in sorted(units, key=lambda one: (one.group, one.attribute, one.group_id, one.attribute_id)):
        there = [study.units[unit] for study in studies if unit in study.units]
        if len(there) == len(studies) and (unit.attribute_id or all(one.has_variance for one in there)):
            kept.append(unit)
        else:
            rows.append(_of_unit(unit, "left_out", len(there), len(studies)))
    return kept, rows


def _counts(kind: Kind, study: Answered, compared: int) -> list[ScoreRow]:
    """How much there is of a study."""
    part, known = _part(study), len(study.people)
    return [
        score_row("answers", study.answers, study.answers, part=part),
        score_row("people", known or float("nan"), study.answers, part=part),
        score_row(kind.units, len(study.units), compared, part=part),
    ]


def _means(kind: Kind, studies: Sequence[Answered], units: Sequence[Unit], inputs: Inputs) -> list[ScoreRow]:
    """Rows of the mean of each study over `units`, its places, and the p of all studies being equal."""
    [score] = kind.scores
    parts, means = [_part(study) for study in studies], [study.mean(units) for study in studies]
    rows = [
        score_row(score, mean.value, len(units), mean.interval, part=part)
        for part, mean in zip(parts, means, strict=True)
    ]
    return rows + place_rows(kind, score, parts, means, inputs)


def _units(kind: Kind, studies: Sequence[Answered], units: Sequence[Unit], inputs: Inputs) -> list[ScoreRow]:
    """Rows of each unit in each study, of how far these are apart with the q of that, and of how many of the
    attributes of a group all studies asked about."""
    rows: list[ScoreRow] = []
    apart = spread_rows([[study.units[unit] for study in studies] for unit in units], inputs)
    for unit, of_unit in zip(units, apart, strict=True):
        for study in studies:
            found = study.units[unit]
            rows.append(
                _of_unit(unit, kind.scores[0], found.value, found.n, found.interval, part=_part(study))
            )
        if unit.group_id:
            asked = [study.asked[unit] for study in studies]
            common, together = frozenset.intersection(*asked), frozenset.union(*asked)
            rows.append(_of_unit(unit, "attributes_shared", len(common), len(together)))
        rows += [_about(row, unit) for row in of_unit]
    return rows


def _of_unit(
    unit: Unit, name: str, value: float, n: int, interval: Interval | None = None, *, part: str = ""
) -> ScoreRow:
    return _about(score_row(name, value, n, interval, part=part), unit)


def _about(row: ScoreRow, unit: Unit) -> ScoreRow:
    return replace(
        row,
        group_id=unit.group_id or None,
        group=unit.group,
        attribute_id=unit.attribute_id or None,
        attribute=unit.attribute,
    )
