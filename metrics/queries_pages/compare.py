"""Two image sets, or two groups of annotators, side by side: stored tendencies and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation import strata
from annotation.models import IdentityGroup, ImageSet, ProfileField, Study, TaskKind
from metrics import queries
from metrics.models import Score, ScoreRun
from metrics.queries_pages.gallery import LEAST_PEOPLE, people_offered, profiles_of
from metrics.queries_pages.identities import IdentityRow, identities

METRIC = "tendency_difference"
_DIFFERENCES = ("l_stereo", "log_theta")
# Fields whose groups of annotators are compared; more values than that are a list too long to choose from.
_FIELDS = (ProfileField.GENDER, ProfileField.ORIGIN)
_MOST_VALUES = 6


@dataclass(frozen=True)
class Choice:
    """Two sides that can be compared. `other`: the study that stands against this one, if that is the
    question; `parameters` are those of the metric."""

    key: str
    first: str | Promise
    second: str | Promise
    parameters: Mapping[str, str] = field(hash=False)
    other: Study | None = None


@dataclass(frozen=True)
class Row:
    """One group, or the mean over all (None): each side, where its scores are stored, and the differences
    with what is left of their significance among all groups (q)."""

    group: IdentityGroup | None
    sides: tuple[IdentityRow | None, ...]
    differences: tuple[tuple[Score | None, Score | None], ...]


def choices(study: Study, led: QuerySet[Study]) -> list[Choice]:
    """What `study` can be compared with or by, of what its reader leads. Three queries.

    Groups of annotators must be large enough that nobody can be told from them.
    """
    others = led.filter(tasks__kind=TaskKind.DEPICTION).exclude(pk=study.pk).distinct()
    found = [
        Choice(f"study:{one.name}", study.title, one.title, {"against": one.name}, other=one)
        for one in others.order_by("title", "pk").select_related("stereotype_source")
    ]
    sets = ImageSet.objects.filter(task__study=study, task__kind=TaskKind.DEPICTION).distinct()
    for one, two in combinations(sets.order_by("pk"), 2):
        found.append(_split("image_set", one.name, two.name, titles=(one.title, two.title)))
    profiles = profiles_of(study)
    if sum("residence" in profile for profile in profiles.values()) >= 2 * LEAST_PEOPLE:
        titles = (_("in-region annotators"), _("out-region annotators"))
        found.append(_split("pool", strata.IN_REGION, strata.OUT_REGION, titles=titles))
    offered = people_offered(profiles, region="")
    for name in _FIELDS:
        values = [text.partition(": ")[2] for text in offered if text.startswith(f"{name}: ")]
        if len(values) <= _MOST_VALUES:
            found += [_split(str(name), *pair) for pair in combinations(values, 2)]
    return found


def _split(
    by: str, first: str, second: str, *, titles: tuple[str | Promise, str | Promise] | None = None
) -> Choice:
    one, two = titles or (first, second)
    return Choice(f"{by}:{first}|{second}", one, two, {"by": by, "first": first, "second": second})


def compare(difference: ScoreRun | None, *, left: ScoreRun | None, right: ScoreRun | None) -> list[Row]:
    """The mean over all groups and then the groups by name. At most three queries.

    `difference`: a finished run of METRIC; `left` and `right`: tendency runs, of the groups that both report.
    """
    sides = [
        {row.group.pk: row for row in identities(run, sort="identity", descending=False)}
        for run in (left, right)
        if run is not None
    ]
    groups: dict[int, IdentityGroup] = {}
    if len(sides) == 2:
        groups = {pk: row.group for pk, row in sides[0].items() if pk in sides[1]}
    differences: dict[int | None, dict[str, Score]] = {}
    if difference is not None:
        scores = Score.objects.filter(run=difference, attribute__isnull=True, part="")
        for score in scores.select_related("group"):
            differences.setdefault(score.group_id, {})[score.name] = score
            if score.group is not None:
                groups.setdefault(score.group.pk, score.group)
    ordered = sorted(groups.values(), key=lambda group: (group.name, group.pk))
    rows = [_row(group, sides, differences.get(group.pk, {})) for group in ordered]
    if None in differences:
        rows.insert(0, _row(None, sides, differences[None]))
    return rows


def _row(group: IdentityGroup | None, sides: list[dict[int, IdentityRow]], found: Mapping[str, Score]) -> Row:
    return Row(
        group=group,
        sides=tuple(side.get(group.pk) if group else None for side in sides),
        differences=tuple((found.get(name), found.get(f"{name}_q")) for name in _DIFFERENCES),
    )


def stored(study: Study, choice: Choice, variant: str) -> tuple[list[ScoreRun], list[Row]]:
    """The runs that there are for a choice, and what they say."""
    difference = queries.newest_run(study, METRIC, variant, choice.parameters)
    left = right = None
    if choice.other is not None:
        left = queries.newest_run(study, "tendency", variant)
        right = queries.newest_run(choice.other, "tendency", variant)
    both = left is not None and right is not None
    rows = compare(difference, left=left if both else None, right=right if both else None)
    return [run for run in (difference, left, right) if run is not None], rows
