"""Two studies, image sets or groups of annotators side by side: the numbers of both, their differences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.core import strata
from annotation.models import IdentityGroup, ImageSet, ProfileField, Study, TaskKind
from metrics.core.annotator_groups import MIN_GROUP_SIZE, annotator_profiles, selectable_groups
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs import queries
from metrics.score_runs.compared_rows import SIDES
from metrics.score_runs.queries import ScoreRequest

METRICS = ("tendency_difference", "offensiveness_difference")
"""What is computed of two sides of depictions."""
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "tendency_difference": {"l_stereo": "l_stereo", "theta": "log_theta"},
    "offensiveness_difference": {"o": "o"},
    "pull_difference": {"x": "x", "s_d_s": "s_d_s", "s_d_ns": "s_d_ns"},
}
"""For each metric what is shown of each side, and what its difference is called."""
_REGION = "region: "
# Fields whose groups of annotators are compared; more values than that are a list too long to choose from.
_FIELDS = (ProfileField.GENDER, ProfileField.ORIGIN)
_MAX_VALUES = 6


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
class ComparedScore:
    """One number of both sides, their difference, and how significant it still is among all groups (q)."""

    first: Score | None
    second: Score | None
    difference: Score | None
    q: Score | None


@dataclass(frozen=True)
class ComparisonRow:
    """One group, or the mean over a region or over all (`group` None, `region` of all empty), with each
    number of DIFFERENCES."""

    group: IdentityGroup | None
    region: str
    numbers: tuple[ComparedScore, ...]


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
    profiles = annotator_profiles(study)
    if sum("residence" in profile for profile in profiles.values()) >= 2 * MIN_GROUP_SIZE:
        titles = (_("in-region annotators"), _("out-region annotators"))
        found.append(_split("pool", strata.IN_REGION, strata.OUT_REGION, titles=titles))
    offered = selectable_groups(profiles, region="")
    for name in _FIELDS:
        values = [text.partition(": ")[2] for text in offered if text.startswith(f"{name}: ")]
        if len(values) <= _MAX_VALUES:
            found += [_split(str(name), *pair) for pair in combinations(values, 2)]
    return found


def _split(
    by: str, first: str, second: str, *, titles: tuple[str | Promise, str | Promise] | None = None
) -> Choice:
    one, two = titles or (first, second)
    return Choice(f"{by}:{first}|{second}", one, two, {"by": by, "first": first, "second": second})


def comparison_rows(run: ScoreRun, names: Collection[str] = ()) -> list[ComparisonRow]:
    """The mean over all groups, those over regions and then the groups by name, of a finished run of one of
    DIFFERENCES; `names` are those of its numbers that are wanted, by default all. One query."""
    shown = {
        name: difference for name, difference in DIFFERENCES[run.metric].items() if not names or name in names
    }
    found: dict[tuple[int | None, str], dict[tuple[str, str], Score]] = {}
    scores = Score.objects.filter(run=run, attribute__isnull=True)
    for score in scores.select_related("group"):
        part, side = _split_part(score.part)
        found.setdefault((score.group_id, part), {})[side, score.name] = score
    rows = [
        ComparisonRow(next(iter(one.values())).group, part.removeprefix(_REGION), _numbers(one, shown))
        for (_, part), one in found.items()
    ]
    return sorted(rows, key=_sort_key)


def _split_part(part: str) -> tuple[str, str]:
    """What a score is of, and which side of it: no side, of a difference."""
    for side in SIDES:
        if part.endswith(side):
            return part.removesuffix(side).removesuffix("; "), side
    return part, ""


def _numbers(found: Mapping[tuple[str, str], Score], shown: Mapping[str, str]) -> tuple[ComparedScore, ...]:
    first, second = SIDES
    return tuple(
        ComparedScore(
            first=found.get((first, name)),
            second=found.get((second, name)),
            difference=found.get(("", difference)),
            q=found.get(("", f"{difference}_q")),
        )
        for name, difference in shown.items()
    )


def _sort_key(row: ComparisonRow) -> tuple[bool, str, str, int]:
    if row.group is None:
        return False, row.region, "", 0
    return True, "", row.group.name, row.group.pk


def stored_runs(study: Study, choice: Choice, variant: str) -> dict[str, ScoreRun]:
    """The finished runs of METRICS that compare what was chosen, as far as there are any. A query each."""
    found = {metric: queries.newest_run(study, metric, variant, choice.parameters) for metric in METRICS}
    return {metric: run for metric, run in found.items() if run is not None}


def score_requests(choice: Choice) -> list[ScoreRequest]:
    """The two sides of a choice, and their differences, in everything that is compared."""
    return [(metric, Variant.CORRECTED, choice.parameters) for metric in METRICS]


def check_offered(user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """A comparison must be one that the pages offer: with another study of one's own, or by groups of people
    so large that nobody can be told from them. Raises ValueError for any other."""
    offers = [dict(each.parameters) for each in choices(study, policies.studies_led_by(user))]
    said = {name: value for name, value in parameters.items() if value}
    if said not in offers:
        listed = "; ".join(", ".join(f"{name}={value}" for name, value in each.items()) for each in offers)
        raise ValueError(
            f"This study cannot be compared with or by that. There is: {listed or 'nothing to compare'}."
        )
