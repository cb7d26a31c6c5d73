"""What came out of a study, as one reading of its stored score runs: for its first page and its report.

Nothing is counted here: every number is a score of the newest finished run of its metric.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from annotation.core import scales
from annotation.models import IdentityGroup, Study
from metrics.core.answers import has_simulated_answers
from metrics.dashboards.queries.levels import BIAS_LEVELS, Levels, read_levels
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs.applicable import applicable
from metrics.score_runs.queries import newest_runs
from metrics.visual_nature.queries import rules_of
from metrics.visual_nature.visual_rule import VisualRule
from metrics.votes.scores.subsets import pool_part
from metrics.votes.stats import POOLS, THRESHOLDS

Side = Literal["above", "below", "unclear", "unknown"]
"""Where a 95 % interval lies, seen from a reference: `unclear` if it includes it, `unknown` without one."""

_WHOLE = Q(group__isnull=True, attribute__isnull=True)
_GROUPS = Q(group__isnull=False, attribute__isnull=True, part="")
# The scores of each metric that are read.
_READ: dict[str, Q] = {
    "tendency": _GROUPS & Q(name__in=("theta", "l_stereo", "l_random")),
    "offensiveness": _GROUPS & Q(name="o"),
    "consensus": _WHOLE,
    "visual_rules": _WHOLE,
    "pull": (_WHOLE & Q(part="") | _GROUPS) & Q(name__in=("x", "s_d_s", "s_d_ns", "pull")),
    "prevalence": _WHOLE & Q(name="share"),
    "rated_offensiveness": (_WHOLE & Q(part="") & Q(name__in=("mean", "mean_attribute", "mean_stereotypes")))
    | (_GROUPS & Q(name="mean")),
    BIAS_LEVELS: _WHOLE & Q(part=""),
    "agreement": _WHOLE,
}
AGREEMENT, PULL = "agreement", "pull"
RESULT_METRICS = (
    *("tendency", "offensiveness", "consensus", "visual_rules", "prevalence", "rated_offensiveness"),
    *(BIAS_LEVELS, PULL, AGREEMENT),
)
"""The metrics of results, in the order in which missing ones are named."""


@dataclass(frozen=True)
class RankedGroup:
    """The tendency of one group; None where the run has no such score. `theta.value` is infinite if no random
    attribute was seen, and None (undefined) if no attribute was."""

    group: IdentityGroup
    theta: Score | None
    l_stereo: Score | None
    l_random: Score | None

    @property
    def side(self) -> Side:
        """Where the interval of theta lies, seen from 1."""
        return side_of(self.theta, 1.0)


@dataclass(frozen=True)
class GroupScore:
    group: IdentityGroup
    score: Score


@dataclass(frozen=True)
class LabelShare:
    """`score`: per cent of the attributes for which at least two annotators chose `label` (English)."""

    label: str
    score: Score


@dataclass(frozen=True)
class PoolShare:
    """The share of associations that at least `threshold` annotators of `pool` called stereotypical; k of n.
    `pool`: in-region, out-region, or both."""

    pool: str
    threshold: int
    score: Score


@dataclass(frozen=True)
class Offensiveness:
    """Ratings of the study's own annotators, from -1 (not offensive) to 4: means over all of them, over those
    of stereotypes, and over those of each group's associations, the most offensive first. `depicted_groups`:
    O(id), how offensive the depiction of each group is, likewise."""

    mean_attribute: Score | None
    mean_stereotypes: Score | None
    rated_groups: tuple[GroupScore, ...]
    depicted_groups: tuple[GroupScore, ...]


@dataclass(frozen=True)
class PartAgreement:
    """Agreement of all annotators on one kind of task at one level; `scores` by name (alpha, ...)."""

    part: str
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Pull:
    """`x`, `s_d_s`, `s_d_ns`: means over the groups; `share`: of groups that are pulled, k of n. `groups`: x
    of each, the largest first."""

    x: Score
    share: Score | None
    s_d_s: Score | None
    s_d_ns: Score | None
    groups: tuple[GroupScore, ...]


@dataclass(frozen=True)
class Results:
    """What came out of `study`; empty or None where there is nothing.

    `ranking`: groups by theta, infinite ones first and undefined ones last. `consensus`: in the order of the
    scale. `rated`: the number of attributes that the `rules` apply to. `prevalence`: in-region, out-region,
    both, by the study's threshold. `metrics`: all that this study can have. `runs`: the run that the numbers
    of each are from. `missing`: those that are not computed yet.
    """

    study: Study
    metrics: tuple[str, ...]
    simulated: bool
    ranking: tuple[RankedGroup, ...]
    consensus: tuple[LabelShare, ...]
    rules: tuple[VisualRule, ...]
    rated: int
    prevalence: tuple[PoolShare, ...]
    offensiveness: Offensiveness | None
    agreement: tuple[PartAgreement, ...]
    pull: Pull | None
    levels: Levels | None
    runs: Mapping[str, ScoreRun]
    missing: tuple[str, ...]

    @property
    def rule_in_use(self) -> VisualRule | None:
        return next((rule for rule in self.rules if rule.in_use), None)


def side_of(score: Score | None, reference: float) -> Side:
    """Where the 95 % interval of `score` lies, seen from `reference`."""
    if score is None or score.value is None or score.low is None or score.high is None:
        return "unknown"
    if score.low > reference:
        return "above"
    return "below" if score.high < reference else "unclear"


def result_metrics(study: Study) -> list[str]:
    """The metrics of the results of `study`. At most two queries, for whether pull has embeddings."""
    return applicable(study, RESULT_METRICS)


def read_results(study: Study) -> Results:
    """What the newest score runs say. At most seven queries, and one for the tasks unless prefetched."""
    wanted = result_metrics(study)
    runs = newest_runs(study, wanted, Variant.CORRECTED)
    found = _scores(runs)
    by_metric = {name: found.get(run.pk, []) for name, run in runs.items()}
    rules, rated = rules_of(by_metric.get("visual_rules", []))
    agreement: dict[str, dict[str, Score]] = defaultdict(dict)
    for score in by_metric.get(AGREEMENT, []):
        agreement[score.part][score.name] = score
    return Results(
        study=study,
        metrics=tuple(wanted),
        simulated=has_simulated_answers(study),
        ranking=_ranking(by_metric.get("tendency", [])),
        consensus=_consensus(by_metric.get("consensus", [])),
        rules=rules,
        rated=rated,
        prevalence=_prevalence(study, by_metric.get("prevalence", [])),
        offensiveness=_offensiveness(
            by_metric.get("rated_offensiveness", []), by_metric.get("offensiveness", [])
        ),
        agreement=tuple(PartAgreement(part, agreement[part]) for part in sorted(agreement)),
        pull=_pull(by_metric.get(PULL, [])),
        levels=read_levels(runs[BIAS_LEVELS], _whole(by_metric[BIAS_LEVELS]))
        if BIAS_LEVELS in runs
        else None,
        runs=runs,
        missing=tuple(name for name in wanted if name not in runs),
    )


def _scores(runs: Mapping[str, ScoreRun]) -> dict[int, list[Score]]:
    """{run id: the scores of it that are read}, as they were stored. One query."""
    found: dict[int, list[Score]] = defaultdict(list)
    if not runs:
        return found
    wanted = Q()
    for name, run in runs.items():
        wanted |= Q(run=run.pk) & _READ[name]
    for score in Score.objects.filter(wanted).select_related("group").order_by("pk"):
        found[score.run_id].append(score)
    return found


def _ranking(scores: Sequence[Score]) -> tuple[RankedGroup, ...]:
    rows = [
        RankedGroup(group, named.get("theta"), named.get("l_stereo"), named.get("l_random"))
        for group, named in _by_group(scores)
    ]

    def place(row: RankedGroup) -> tuple[bool, float, float, str]:
        theta, l_stereo = (score.value if score else None for score in (row.theta, row.l_stereo))
        # infinite ones are told apart by what made them so
        return theta is None, -(theta or 0.0), -(l_stereo or 0.0), row.group.name.casefold()

    return tuple(sorted(rows, key=place))


def _by_group(scores: Sequence[Score]) -> list[tuple[IdentityGroup, dict[str, Score]]]:
    groups: dict[int, IdentityGroup] = {}
    named: dict[int, dict[str, Score]] = defaultdict(dict)
    for score in scores:
        if score.group is not None:
            groups[score.group.pk] = score.group
            named[score.group.pk][score.name] = score
    return [(groups[key], named[key]) for key in groups]


def _largest_first(scores: Sequence[Score], name: str) -> tuple[GroupScore, ...]:
    found = [
        GroupScore(group, named[name])
        for group, named in _by_group(scores)
        if name in named and named[name].value is not None
    ]
    return tuple(sorted(found, key=lambda row: (-(row.score.value or 0.0), row.group.name.casefold())))


def _consensus(scores: Sequence[Score]) -> tuple[LabelShare, ...]:
    named = {score.name: score for score in scores if score.value is not None and score.n}
    names = {label.name: label.name.lower().replace(" ", "_") for label in scales.VISUAL_NATURE}
    return tuple(LabelShare(label, named[name]) for label, name in names.items() if name in named)


def _prevalence(study: Study, scores: Sequence[Score]) -> tuple[PoolShare, ...]:
    threshold = min(study.stereotype_threshold, max(THRESHOLDS))
    by_part = {score.part: score for score in scores if score.value is not None}
    found = [(pool, by_part.get(pool_part(pool, threshold))) for pool in POOLS]
    return tuple(PoolShare(pool, threshold, score) for pool, score in found if score is not None)


def _offensiveness(rated: Sequence[Score], depicted: Sequence[Score]) -> Offensiveness | None:
    whole = _whole(rated)
    found = Offensiveness(
        mean_attribute=whole.get("mean_attribute"),
        mean_stereotypes=whole.get("mean_stereotypes"),
        rated_groups=_largest_first(rated, "mean"),
        depicted_groups=_largest_first(depicted, "o"),
    )
    return found if found.mean_attribute or found.rated_groups or found.depicted_groups else None


def _pull(scores: Sequence[Score]) -> Pull | None:
    whole = _whole(scores)
    if "x" not in whole:
        return None
    return Pull(
        whole["x"], whole.get("pull"), whole.get("s_d_s"), whole.get("s_d_ns"), _largest_first(scores, "x")
    )


def _whole(scores: Sequence[Score]) -> dict[str, Score]:
    """The defined scores that are of no group, by name."""
    return {score.name: score for score in scores if score.group_id is None and score.value is not None}
