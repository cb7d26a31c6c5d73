"""The table of identity groups, from finished score runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from annotation.models import IdentityGroup, Study
from metrics.depiction.queries.judged_images import judged_groups
from metrics.models import Score, ScoreRun
from metrics.score_runs import queries

# The columns that can be sorted, with their headings.
COLUMNS = {
    "identity": _("Identity group"),
    "l_stereo": "L(stereo)",
    "l_random": "L(random)",
    "theta": "θ",
    "o": _("Offensiveness"),
    "n_stereotypical": _("Stereotypical attributes"),
    "n_random": _("Random attributes"),
    "region": _("Region"),
}


@dataclass(frozen=True)
class IdentityRow:
    """One group's scores; None if the run has no such score. `o` comes from another run and exists only for
    groups with a stereotype that was seen and rated."""

    group: IdentityGroup
    l_stereo: Score | None
    l_random: Score | None
    theta: Score | None
    o: Score | None = None

    @property
    def n_stereotypical(self) -> int:
        return self.l_stereo.n if self.l_stereo else 0

    @property
    def n_random(self) -> int:
        return self.l_random.n if self.l_random else 0

    def matches(self, search: str) -> bool:
        """Whether the group's name, demonym, country or region contains `search`, ignoring case."""
        return (
            search.strip().casefold()
            in "\n".join(
                (self.group.name, self.group.demonym, self.group.country, self.group.region)
            ).casefold()
        )

    def number(self, column: str) -> float | None:
        """The sort key of a column of numbers; None is undefined."""
        if column in {"n_stereotypical", "n_random"}:
            return float(getattr(self, column))
        score: Score | None = getattr(self, column)
        return None if score is None else score.value


def identity_rows(
    run: ScoreRun, *, sort: str, descending: bool, offensiveness: ScoreRun | None = None
) -> list[IdentityRow]:
    """The rows of a finished tendency run, sorted by one of COLUMNS; ties by name.

    `offensiveness`: the run of the offensiveness scores, if any. Undefined values come last in both
    directions. One query for each run.
    """
    offensive = queries.scores_by_group(offensiveness) if offensiveness is not None else {}
    rows = [
        IdentityRow(
            group=_group(scores.values()),
            l_stereo=scores.get("l_stereo"),
            l_random=scores.get("l_random"),
            theta=scores.get("theta"),
            o=offensive.get(group, {}).get("o"),
        )
        for group, scores in queries.scores_by_group(run).items()
    ]
    rows.sort(key=lambda row: row.group.name.casefold())
    if sort == "identity":
        return rows[::-1] if descending else rows
    if sort == "region":
        return sorted(rows, key=lambda row: row.group.region, reverse=descending)
    defined = [row for row in rows if row.number(sort) is not None]
    undefined = [row for row in rows if row.number(sort) is None]
    return sorted(defined, key=lambda row: row.number(sort) or 0.0, reverse=descending) + undefined


def unreported(study: Study, rows: Iterable[IdentityRow]) -> list[IdentityGroup]:
    """The groups that were judged but have at most one stereotypical attribute (PROTOCOL §6). One query."""
    reported = {row.group.pk for row in rows}
    return [group for group in judged_groups(study) if group.pk not in reported]


def _group(scores: Iterable[Score]) -> IdentityGroup:
    group = next(iter(scores)).group
    assert group is not None  # scores_by_group only has scores of groups
    return group
