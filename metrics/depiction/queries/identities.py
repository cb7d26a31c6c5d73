"""The table of identity groups, from finished score runs."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from annotation.models import IdentityGroup, Study
from metrics.core.tables import Order
from metrics.depiction.queries.pictures import judged_groups
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
TEXT_COLUMNS = ("identity", "region")
NAME_ORDER = Order("identity", descending=False)
TENDENCY = ("l_stereo", "l_random", "theta")


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
        texts = (self.group.name, self.group.demonym, self.group.country, self.group.region)
        return search.strip().casefold() in "\n".join(texts).casefold()

    def sort_key(self, column: str) -> str | float | None:
        """The value in one of COLUMNS; None is undefined."""
        if column == "identity":
            return self.group.name.casefold()
        value = self.group.region if column == "region" else getattr(self, column)
        return value.value if isinstance(value, Score) else value


def identity_table(
    study: Study, run: ScoreRun | None, offensiveness: ScoreRun | None, order: Order
) -> tuple[list[IdentityRow], list[IdentityGroup]]:
    """The rows of a finished tendency run; and the groups that were judged but have at most one stereotypical
    attribute (PROTOCOL §6). Both are empty without a run.

    `offensiveness`: the run of the offensiveness scores, if any. Ties are sorted by name. One query for each
    run and one for the groups.
    """
    if run is None:
        return [], []
    offensive = queries.scores_by_group(offensiveness) if offensiveness is not None else {}
    rows = []
    for pk, scores in queries.scores_by_group(run).items():
        group = next(iter(scores.values())).group
        assert group is not None  # scores_by_group only has scores of groups
        l_stereo, l_random, theta = (scores.get(name) for name in TENDENCY)
        rows.append(IdentityRow(group, l_stereo, l_random, theta, offensive.get(pk, {}).get("o")))
    by_name = NAME_ORDER.sorted(rows, IdentityRow.sort_key)
    reported = {row.group.pk for row in rows}
    unreported = [group for group in judged_groups(study) if group.pk not in reported]
    return order.sorted(by_name, IdentityRow.sort_key), unreported
