"""Queries of comparisons: two groups of annotators on the page; two studies or image sets by the API too."""

from collections.abc import Collection, Iterator, Mapping
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
"""The metrics that compare depictions."""
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "tendency_difference": {"l_stereo": "l_stereo", "theta": "log_theta"},
    "offensiveness_difference": {"o": "o"},
    "pull_difference": {"x": "x", "s_d_s": "s_d_s", "s_d_ns": "s_d_ns"},
}
"""{metric: {score of each side: name of its difference}}."""
_REGION = "region: "
# Profile fields whose groups can be compared; a field with more than _MAX_VALUES values is not offered.
_FIELDS = (ProfileField.GENDER, ProfileField.ORIGIN)
_MAX_VALUES = 6


@dataclass(frozen=True)
class Choice:
    """Two groups of annotators that can be compared. `parameters` are those of the metric."""

    key: str
    first: str | Promise
    second: str | Promise
    parameters: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True)
class ComparedScore:
    """One score on both sides, the difference, and its q over all groups."""

    first: Score | None
    second: Score | None
    difference: Score | None
    q: Score | None


@dataclass(frozen=True)
class ComparisonRow:
    """The compared scores of a group, or of the mean over a region or over all groups (`group` None, `region`
    empty for all)."""

    group: IdentityGroup | None
    region: str
    numbers: tuple[ComparedScore, ...]


def choices(study: Study) -> list[Choice]:
    """The groups of annotators of `study` that can be compared: large enough that nobody can be identified.
    One query."""
    found = []
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
    """The rows of a finished run of a metric in DIFFERENCES: the mean over all groups, the means over
    regions, then the groups by name. `names` limits the scores; by default all. One query."""
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
    """Split a `part` into the region and the side; a difference has no side."""
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
    """The finished runs of METRICS for a comparison, if any. One query each."""
    found = {metric: queries.newest_run(study, metric, variant, choice.parameters) for metric in METRICS}
    return {metric: run for metric, run in found.items() if run is not None}


def score_requests(choice: Choice) -> list[ScoreRequest]:
    """The score requests of all METRICS for a comparison."""
    return [(metric, Variant.CORRECTED, choice.parameters) for metric in METRICS]


def check_readable(user: User, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the user leads the other study, if there is one."""
    other = parameters.get("against")
    if other and not policies.studies_led_by(user).filter(name=other).exists():
        raise ValueError(f"You lead no study '{other}'.")


def _offers(study: Study, led: QuerySet[Study]) -> Iterator[dict[str, str]]:
    """The parameters of all comparisons: with a study in `led`, by image set or by groups of annotators.
    Three queries."""
    others = led.filter(tasks__kind=TaskKind.DEPICTION).exclude(pk=study.pk).distinct()
    for other in others.order_by("title", "pk"):
        yield {"against": other.name}
    sets = ImageSet.objects.filter(task__study=study, task__kind=TaskKind.DEPICTION).distinct()
    for one, two in combinations(sets.order_by("pk"), 2):
        yield {"by": "image_set", "first": one.name, "second": two.name}
    for choice in choices(study):
        yield dict(choice.parameters)


def check_offered(user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the comparison is offered to the user: with another study that they lead, or by
    groups of annotators that are large enough that nobody can be identified."""
    offers = [*_offers(study, policies.studies_led_by(user))]
    requested = {name: value for name, value in parameters.items() if value}
    if requested not in offers:
        available = "; ".join(", ".join(f"{name}={value}" for name, value in each.items()) for each in offers)
        raise ValueError(f"This comparison is not available. Available: {available or 'nothing to compare'}.")
