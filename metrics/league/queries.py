"""The stored league of some studies: its rows, the groups or attributes in each, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotation.models import ImageSet, Study
from annotation.policies import User
from metrics.core.marks import Axis, scaled_axis
from metrics.league.access import kind_of, led_studies
from metrics.league.data.studies import STUDIES, join_names
from metrics.league.kinds import Kind
from metrics.league.rows import LeftOut, Row, Test, UnitRow, split_part
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs.queries import ScoreRequest


def anchor(studies: Sequence[Study]) -> Study:
    """The study that the run of a league belongs to: the first by name."""
    return min(studies, key=lambda one: one.name)


def parameters(studies: Sequence[Study]) -> dict[str, str]:
    """The parameters of that run; none for a single study."""
    first = anchor(studies)
    others = [one.name for one in studies if one != first]
    return {STUDIES: join_names(others)} if others else {}


def score_request(user: User, study: Study, others: Sequence[str], task: str) -> ScoreRequest:
    """The scores of the league of `study` and `others` by their answers to a kind of task. Http404 unless the
    account leads all of them, and all have such a task."""
    studies = [study, *led_studies(user, [name for name in others if name != study.name])]
    return kind_of(studies, task).metric, Variant.CORRECTED.value, parameters(studies)


@dataclass(frozen=True)
class League:
    """A finished run. `rows` by the first score, largest first; `units` by q, then by how far they are
    apart."""

    kind: Kind
    rows: list[Row]
    units: list[UnitRow]
    left_out: list[LeftOut]
    equal: Mapping[str, Score]
    people_shared: Score | None

    @property
    def compared(self) -> int:
        return len(self.units)

    @cached_property
    def column_axes(self) -> dict[str, Axis | None]:
        """Of each score of the rows."""
        return {
            name: self._axis(name, [row.numbers[place].score for row in self.rows])
            for place, name in enumerate(self.kind.scores)
        }

    @cached_property
    def unit_axes(self) -> list[Axis | None]:
        """Of each score of the units."""
        return [
            self._axis(name, [cell[place] for row in self.units for cell in row.cells])
            for place, name in enumerate(self.kind.unit_scores)
        ]

    def _axis(self, name: str, scores: Iterable[Score | None]) -> Axis | None:
        numbers = [(one.value, one.low, one.high) for one in scores if one is not None]
        return scaled_axis(self.kind.axes[name], numbers)

    @property
    def tests(self) -> list[Test]:
        """Of all rows having the same score, for each score."""
        names = self.kind.equal
        return [Test(name, self.equal[names[name]]) for name in names if names[name] in self.equal]

    @property
    def scored(self) -> int:
        """How many rows have results."""
        return len(self.rows) - len(self.without_units)

    @property
    def unplaced(self) -> bool:
        """Whether a row with results has no place by a score although there are several."""
        return self.scored > 1 and any(
            place.unranked for row in self.rows if row.units for place in row.numbers if self.units
        )

    @property
    def without_units(self) -> list[Row]:
        """The rows in which no group or attribute is reported."""
        return [row for row in self.rows if not row.units]

    @property
    def images_by_group(self) -> list[tuple[Row, int, int]]:
        """The least and the largest number of images of a group in each model; empty if all have as many."""
        columns = list(zip(*(row.images for row in self.units), strict=True))
        if len({number for column in columns for number in column}) < 2:
            return []
        return [(row, min(column), max(column)) for row, column in zip(self.rows, columns, strict=False)]

    @property
    def different_attributes(self) -> list[UnitRow]:
        """The groups whose attributes are not the same in all rows."""
        return [
            row
            for row in self.units
            if row.attributes is not None and row.attributes.value != row.attributes.n
        ]


def stored_league(kind: Kind, run: ScoreRun, studies: Sequence[Study]) -> League:
    """The league of a finished run of these studies. Two queries."""
    of_rows: dict[str, dict[str, Score]] = {}
    whole: dict[str, Score] = {}
    units: dict[tuple[int | None, int | None], dict[tuple[str, str], Score]] = {}
    for score in Score.objects.filter(run=run).select_related("group", "attribute"):
        if score.group_id is not None or score.attribute_id is not None:
            units.setdefault((score.group_id, score.attribute_id), {})[score.part, score.name] = score
        elif score.part:
            of_rows.setdefault(score.part, {})[score.name] = score
        else:
            whole[score.name] = score
    by_name = {one.name: one for one in studies}
    names = {part: split_part(part) for part in of_rows}
    sets = {one.name: one for one in ImageSet.objects.filter(name__in=[name for _, name in names.values()])}
    rows = [
        Row(kind, part, by_name[study], name, sets.get(name), of_rows[part])
        for part, (study, name) in names.items()
        if study in by_name
    ]
    rows.sort(key=_by_score)
    parts = [row.part for row in rows]
    found = [_unit_row(kind, scores, parts) for scores in units.values() if ("", "left_out") not in scores]
    return League(
        kind=kind,
        rows=rows,
        units=sorted(found, key=_by_q),
        left_out=_left_out(kind, units.values()),
        equal={name: whole[name] for name in kind.equal.values() if name in whole},
        people_shared=whole.get("people_shared"),
    )


def _unit_row(kind: Kind, scores: Mapping[tuple[str, str], Score], parts: Sequence[str]) -> UnitRow:
    one = next(iter(scores.values()))
    return UnitRow(
        group=one.group,
        attribute=one.attribute,
        cells=tuple(tuple(scores.get((part, name)) for name in kind.unit_scores) for part in parts),
        images=tuple(
            round(scores[part, "images"].value or 0) for part in parts if (part, "images") in scores
        ),
        apart=scores.get(("", "spread")),
        q=scores.get(("", "spread_q")),
        attributes=scores.get(("", "attributes_shared")),
    )


def _left_out(kind: Kind, units: Iterable[Mapping[tuple[str, str], Score]]) -> list[LeftOut]:
    rows = []
    for scores in units:
        one = scores.get(("", "left_out"))
        if one is not None:
            there = round(one.value or 0)
            defined = scores.get(("", "left_out_defined"))
            rows.append(
                LeftOut(
                    kind=kind,
                    group=one.group,
                    attribute=one.attribute,
                    there=there,
                    defined=there if defined is None else round(defined.value or 0),
                    of=one.n,
                )
            )
    return sorted(rows, key=lambda row: row.name)


def _by_score(row: Row) -> tuple[bool, float, str]:
    score = row.scores.get(row.kind.scores[0])
    value = None if score is None else score.value
    return value is None, -(value or 0.0), row.part


def _by_q(row: UnitRow) -> tuple[float, float, str]:
    q = row.q.value if row.q is not None and row.q.value is not None else 2.0
    apart = row.apart.value if row.apart is not None and row.apart.value is not None else 0.0
    return q, -apart, row.name
