"""The stored scores of one machine judge, as its page and the API show them (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.db.models import F, QuerySet

from annotation.core.scales import SCALES
from annotation.models import Attribute, IdentityGroup, Study
from generation.models import Run
from metrics.agreement.queries import BY
from metrics.machine_judges.queries.requests import (
    AGREEMENT,
    ALTERNATIVE,
    COMBINED,
    SCORES,
    judge_requests,
)
from metrics.models import Score, ScoreRun
from metrics.score_runs.queries import newest_run

NOMINAL = "nominal"
"""The level at which answers are equal or not; percentages are of this one."""
WORST = 20
"""Attributes that are listed."""
MOST_Q = 0.05
"""A row of many is said to differ only below this q: the most extreme of many is far from 0 by chance."""
NAMES = (
    *("l_stereo", "l_random", "theta", "o"),
    *("visual_mean", "visual", "stereotypical", "offence", "level"),
)
"""Scores that are shown beside people's, in this order."""
TUNING = "tuning"
"""Of each combined score: how much it relies on the judge, 0 to 1."""
_READING, _REGION, _ANNOTATORS = "reading: ", "; region: ", "; annotators: "

Scores = Mapping[str, Score]


@dataclass(frozen=True)
class AgreementRow:
    """Agreement of the judge with people beside that of people with each other, by score name: of everything,
    or of a region, a group of annotators, an identity group or an attribute."""

    scores: Scores
    reading: str = NOMINAL
    region: str = ""
    annotators: str = ""
    group: IdentityGroup | None = None
    attribute: Attribute | None = None

    @property
    def difference(self) -> Score | None:
        """The judge's percentage minus people's, in points."""
        return self.scores.get("percentage_difference")

    @property
    def q(self) -> float | None:
        """Of the difference; None without one, as for a few people."""
        found = self.scores.get("percentage_difference_q")
        return found.value if found is not None else None

    @property
    def is_lower(self) -> bool:
        """Whether the judge agrees less, by more than chance explains in any of the rows."""
        return self._differs and self._points < 0

    @property
    def is_higher(self) -> bool:
        """Whether the judge agrees more, by more than chance explains in any of the rows."""
        return self._differs and self._points > 0

    @property
    def _differs(self) -> bool:
        return self.q is not None and self.q < MOST_Q

    @property
    def _points(self) -> float:
        found = self.difference
        return (found.value or 0.0) if found is not None else 0.0


@dataclass(frozen=True)
class Confusion:
    """How often the judge answered each of `labels` where people answered each of them. `rows`: a label of
    people's answers, how many there are, and the score of each label of the judge."""

    labels: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[Score | None, ...]], ...]


@dataclass(frozen=True)
class ScoreSides:
    """A score of everything (`group` None) or of an identity group, by whose answers it is of: `judge`,
    `people`, and `difference` or `combined`; with p and q of the difference, or `tuning`."""

    group: IdentityGroup | None
    of: Scores
    p: Score | None = None
    q: Score | None = None


ScoreTables = tuple[tuple[str, tuple[ScoreSides, ...]], ...]
"""(name of the score, its rows)."""


@dataclass(frozen=True)
class Results:
    """What is stored about a judge. `runs`: the newest finished run of each metric. `places`: agreement by
    region and group of annotators, the lowest difference first; so are `groups` and `attributes`, of which
    there are at most WORST. `problems` and `stability`: by kind of problem and by variant."""

    runs: Mapping[str, ScoreRun]
    readings: tuple[AgreementRow, ...] = ()
    places: tuple[AgreementRow, ...] = ()
    groups: tuple[AgreementRow, ...] = ()
    attributes: tuple[AgreementRow, ...] = ()
    confusion: Confusion | None = None
    problems: Mapping[str, Score] = field(default_factory=dict)
    stability: Mapping[str, Score] = field(default_factory=dict)
    alternative: Scores = field(default_factory=dict)
    scores: ScoreTables = ()
    combined: ScoreTables = ()

    @property
    def overall(self) -> AgreementRow | None:
        """Agreement about everything, where answers are equal or not."""
        return next((row for row in self.readings if row.reading == NOMINAL), None)

    @property
    def unusable(self) -> int:
        """How many answers have a problem."""
        return sum(score.k or 0 for score in self.problems.values())


def results(study: Study, run: Run, by: str = BY[0]) -> Results:
    """The stored scores of a judge; the number of queries is the same whatever their number."""
    runs = {}
    for metric, variant, parameters in judge_requests(run, by):
        found = newest_run(study, metric, variant, parameters)
        if found is not None:
            runs[metric] = found
    result = Results(runs)
    if AGREEMENT in runs:
        result = _with_agreement(result, runs[AGREEMENT], run.recipe["design"]["task"])
    if ALTERNATIVE in runs:
        result = replace(result, alternative={one.name: one for one in _whole(runs[ALTERNATIVE])})
    if SCORES in runs:
        result = replace(result, scores=_tables(runs[SCORES]))
    if COMBINED in runs:
        result = replace(result, combined=_tables(runs[COMBINED]))
    return result


def _whole(run: ScoreRun) -> QuerySet[Score]:
    return Score.objects.filter(run=run, group__isnull=True, attribute__isnull=True).order_by("pk")


def _with_agreement(result: Results, run: ScoreRun, task: str) -> Results:
    by_part: dict[str, dict[str, Score]] = {}
    for score in _whole(run):
        by_part.setdefault(score.part, {})[score.name] = score
    rows = [_row(part, scores) for part, scores in by_part.items() if part.startswith(_READING)]
    apart = [row for row in rows if row.reading == NOMINAL and (row.region or row.annotators)]
    return replace(
        result,
        readings=tuple(row for row in rows if not row.region and not row.annotators),
        places=_lowest_first(apart),
        groups=_lowest_first(_group_rows(run)),
        attributes=_lowest_first(_attribute_rows(run)),
        confusion=_confusion(by_part, task),
        problems=_by_kind(by_part, "unusable", "problem: "),
        stability=_by_kind(by_part, "stability", "variant: "),
    )


def _row(part: str, scores: Scores) -> AgreementRow:
    """A row from a part such as 'reading: nominal; region: Europe; annotators: woman'."""
    before, _, annotators = part.partition(_ANNOTATORS)
    before, _, region = before.partition(_REGION)
    return AgreementRow(scores, before.removeprefix(_READING), region, annotators)


def _lowest_first(rows: Iterable[AgreementRow]) -> tuple[AgreementRow, ...]:
    """By the difference; rows without one come last."""

    def key(row: AgreementRow) -> tuple[bool, float]:
        value = row.difference.value if row.difference else None
        return value is None, value or 0.0

    return tuple(sorted(rows, key=key))


def _group_rows(run: ScoreRun) -> list[AgreementRow]:
    found: dict[int, dict[str, Score]] = {}
    stored = Score.objects.filter(
        run=run, part=f"{_READING}{NOMINAL}", group__isnull=False, attribute__isnull=True
    )
    for score in stored.select_related("group").order_by("group__name", "group_id"):
        found.setdefault(score.group_id or 0, {})[score.name] = score
    return [AgreementRow(scores, group=next(iter(scores.values())).group) for scores in found.values()]


def _attribute_rows(run: ScoreRun) -> list[AgreementRow]:
    stored = Score.objects.filter(
        run=run, part=f"{_READING}{NOMINAL}", group__isnull=True, attribute__isnull=False
    )
    differences = stored.filter(name="percentage_difference", value__isnull=False)
    worst = differences.order_by(F("value"), "attribute__text").values_list("attribute_id", flat=True)
    found: dict[int, dict[str, Score]] = {}
    of_worst = stored.filter(attribute__in=list(worst[:WORST])).select_related("attribute")
    for score in of_worst.order_by("attribute__text", "attribute_id"):
        found.setdefault(score.attribute_id or 0, {})[score.name] = score
    return [
        AgreementRow(scores, attribute=next(iter(scores.values())).attribute) for scores in found.values()
    ]


def _by_kind(by_part: Mapping[str, Scores], name: str, prefix: str) -> dict[str, Score]:
    return {
        part.removeprefix(prefix): scores[name]
        for part, scores in by_part.items()
        if part.startswith(prefix) and name in scores
    }


def _confusion(by_part: Mapping[str, Scores], task: str) -> Confusion | None:
    scale = SCALES[task]
    cells = {
        (of_people.value, of_judge.value): scores["confusion"]
        for of_people in scale
        for of_judge in scale
        if (scores := by_part.get(f"people: {of_people.value}; judge: {of_judge.value}"))
    }
    if not cells:
        return None
    rows = []
    for label in scale:
        scores_of = tuple(cells.get((label.value, each.value)) for each in scale)
        answered = max((score.n for score in scores_of if score is not None), default=0)
        rows.append((label.name, answered, scores_of))
    return Confusion(tuple(label.name for label in scale), tuple(rows))


def _tables(run: ScoreRun) -> ScoreTables:
    """The scores of NAMES of everything and of identity groups. One query."""
    found: dict[str, dict[int, dict[str, Score]]] = {}
    names = [TUNING, *(f"{name}{end}" for name in NAMES for end in ("", "_p", "_q"))]
    stored = Score.objects.filter(run=run, attribute__isnull=True, name__in=names)
    for score in stored.select_related("group").order_by(F("group__name").asc(nulls_first=True), "pk"):
        of, base = score.part.removeprefix("of: "), score.name.removesuffix("_p").removesuffix("_q")
        side = of if score.name == base else score.name[-1]
        if score.name == TUNING:
            base, side = of, TUNING
        found.setdefault(base, {}).setdefault(score.group_id or 0, {})[side] = score
    return tuple(
        (name, tuple(_sides(sides) for sides in found[name].values())) for name in NAMES if name in found
    )


def _sides(found: Scores) -> ScoreSides:
    group = next(iter(found.values())).group
    return ScoreSides(group, found, found.get("p"), found.get("q"))
