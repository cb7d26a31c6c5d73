"""Agreement of a machine judge and of people as score rows (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Attribute, IdentityGroup
from metrics.agreement.scores.differences import MIN_PEOPLE
from metrics.agreement.scores.rows import Reading
from metrics.agreement.scores.score_rows import shortened
from metrics.agreement.scores.subjects import named, places
from metrics.core.annotator_groups import MIN_GROUP_SIZE
from metrics.core.stats.checks import Bools, Ints
from metrics.core.stats.clustered import NONE
from metrics.core.stats.differences import Difference, false_discovery
from metrics.core.stats.percentiles import Interval
from metrics.machine_judges.scores.agreement_data import Answered, BoxPairs, Subjects
from metrics.machine_judges.scores.small_groups import WHOLE, Cell, shown_groups
from metrics.machine_judges.stats.agreement import Beside, Pairs, beside_each
from metrics.machine_judges.stats.boxes import boxes_beside
from metrics.score_runs.rows import ScoreRow, bounds, defined


@dataclass(frozen=True)
class About:
    """What a row is about; by default everything. `ending`: of its part."""

    ending: str = ""
    group_id: int | None = None
    group: str = ""
    attribute_id: int | None = None
    attribute: str = ""

    def row(
        self,
        reading: str,
        name: str,
        value: float,
        n: int,
        *,
        k: int | None = None,
        within: Interval | None = None,
    ) -> ScoreRow:
        """A row with the interval `within`, if it has one. NaN becomes None."""
        return ScoreRow(
            name=name,
            value=defined(value),
            n=n,
            k=k,
            group_id=self.group_id,
            group=self.group,
            attribute_id=self.attribute_id,
            attribute=self.attribute,
            part=f"reading: {reading}{self.ending}",
            **bounds(within),
        )


@dataclass(frozen=True)
class Listed:
    """What is listed together, and the place of each row (R,) in it; -1 for none."""

    entries: list[About]
    rows: Ints


def listed(about: Subjects) -> Iterator[Listed]:
    """Everything; each region, each identity group and each attribute."""
    nothing = np.zeros(len(about.attributes), dtype=np.int64)
    yield Listed([About()], nothing)
    if about.region_names:
        yield Listed([About(f"; region: {name}") for name in about.region_names], about.regions)
    groups = named(IdentityGroup.objects.order_by("name", "pk").values_list("pk", "name"), about.identities)
    if groups:
        entries = [About(group_id=pk, group=name) for pk, name in groups.items()]
        yield Listed(entries, places(about.identities, list(groups)))
    texts = named(Attribute.objects.order_by("text", "pk").values_list("pk", "text"), about.attributes)
    entries = [About(attribute_id=pk, attribute=text) for pk, text in texts.items()]
    yield Listed(entries, places(about.attributes, list(texts)))


def listed_groups(answered: Answered) -> Iterator[Listed]:
    """Each group of annotators that is large enough to be shown, and each in each region: of all who
    answered, and of those who count, as two of their group answered the same unit."""
    about = answered.about
    if not about.group_names:
        return
    everybody = np.ones(len(about.groups), dtype=np.bool_)
    shown = _shown(answered, everybody) & _shown(answered, _count_in_group(answered))
    for whole in (True, False):
        cells = sorted(cell for cell in shown if (cell[0] == WHOLE) == whole)
        rows = np.full(len(about.groups), -1)
        entries = []
        for place, (region, group) in enumerate(cells):
            rows[(about.groups == group) & (whole | (about.regions == region))] = place
            of_region = "" if whole else f"; region: {about.region_names[region]}"
            entries.append(About(f"{of_region}; annotators: {shortened(about.group_names[group])}"))
        yield Listed(entries, rows)


def _shown(answered: Answered, rows: Bools) -> set[Cell]:
    about = answered.about.of(rows)
    units = answered.table.numbered[rows]
    return shown_groups(answered.people[rows], units, about.regions, about.groups, least=MIN_GROUP_SIZE)


def _count_in_group(answered: Answered) -> Bools:
    """Whether two of the group answered the unit of each answer (R,)."""
    keys = np.column_stack([answered.table.numbered, answered.about.groups])
    _, of_row, number = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(number[of_row.ravel()] > 1)


def rating_rows(answered: Answered, reading: Reading, *, clustered: bool) -> Iterator[ScoreRow]:
    """The rows of one level of measurement. q is over both measures of what is listed together."""
    own = answered.read(reading)
    if not len(own.people):
        return
    for some in (*listed(own.about), *listed_groups(own)):
        chosen = some.rows >= 0
        rows: slice | Ints = slice(None) if chosen.all() else np.flatnonzero(chosen)
        found = beside_each(
            own.table.of(rows),
            own.verdicts[rows],
            some.rows[rows],
            own.values,
            parts=len(some.entries),
            level=reading.level,
            clustered=clustered,
        )
        yield from _rows_of(some.entries, reading.level, found)


def _rows_of(entries: list[About], level: str, each: Iterable[Beside]) -> Iterator[ScoreRow]:
    pairs = [(about, _told(found)) for about, found in zip(entries, each, strict=True) if found.judge.number]
    q = false_discovery([p for _, found in pairs for p in (found.share.p, found.coefficient.p)]).tolist()
    for (about, found), adjusted in zip(pairs, zip(q[::2], q[1::2], strict=True), strict=True):
        judge, people = found.judge, found.people
        yield _percentage("judge_percentage", about, level, judge)
        if judge.units > 1:
            coefficient = judge.coefficient
            yield about.row(level, "judge_kappa", coefficient.value, judge.units, within=coefficient.interval)
        yield _percentage("people_percentage", about, level, people)
        n = judge.number + people.number
        yield from _difference("percentage", about, level, n, found.share, adjusted[0], 100)
        if people.units > 1:  # chance is computed from other units
            coefficient = people.coefficient
            yield about.row(
                level, "people_alpha", coefficient.value, people.units, within=coefficient.interval
            )
            yield from _difference("kappa", about, level, judge.units, found.coefficient, adjusted[1], 1)


def _told(found: Beside) -> Beside:
    """Without p and the intervals of differences that a few people do not show, or a single unit."""
    few = found.annotators is not None and found.annotators < MIN_PEOPLE
    alone = found.judge.units < 2
    return replace(
        found,
        share=_silent(found.share) if few else found.share,
        coefficient=_silent(found.coefficient) if few or alone else found.coefficient,
    )


def _silent(found: Difference) -> Difference:
    return Difference(found.value, NONE, float("nan"))


def _percentage(name: str, about: About, level: str, pairs: Pairs) -> ScoreRow:
    within = _times(pairs.share.interval, 100)
    return about.row(level, name, 100 * pairs.share.value, pairs.number, k=pairs.equal, within=within)


def _difference(
    name: str, about: About, level: str, n: int, found: Difference, q: float, by: float
) -> Iterator[ScoreRow]:
    yield about.row(level, f"{name}_difference", by * found.value, n, within=_times(found.interval, by))
    if not np.isnan(found.p):
        yield about.row(level, f"{name}_difference_p", found.p, n)
        yield about.row(level, f"{name}_difference_q", q, n)


def _times(interval: Interval | None, by: float) -> Interval | None:
    if interval is None or np.isnan(interval.low):
        return None
    return replace(interval, low=by * interval.low, high=by * interval.high)


def box_rows(pairs: BoxPairs, *, clustered: bool) -> Iterator[ScoreRow]:
    """The rows of boxes, of all annotators."""
    both = pairs.about_judge.and_of(pairs.about_people)
    first = len(pairs.about_judge.attributes)
    if not first:
        return
    for some in listed(both):
        own, others = (_by_place(rows, len(some.entries)) for rows in np.split(some.rows, [first]))
        for place, about in enumerate(some.entries):
            judge, people = pairs.judge.of(own[place]), pairs.people.of(others[place])
            if not len(judge.sums):
                continue
            found = boxes_beside(judge, people, clustered=clustered)
            n, among = len(judge.sums), len(people.sums)
            few = found.annotators is not None and found.annotators < MIN_PEOPLE
            apart = _silent(found.difference) if few else found.difference
            yield about.row("nominal", "judge_iou", found.judge.value, n, within=found.judge.interval)
            yield about.row("nominal", "people_iou", found.people.value, among, within=found.people.interval)
            yield about.row("nominal", "iou_difference", apart.value, n + among, within=apart.interval)


def _by_place(rows: Ints, number: int) -> list[Ints]:
    """The rows of each place."""
    order = np.argsort(rows, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(-1, number), side="right")
    return np.split(order, ends)[1:-1]
