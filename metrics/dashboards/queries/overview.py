"""Data of a study's first page: what came out, from stored scores, and how the work stands."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from annotation.models import Axis as IdentityAxis
from annotation.models import Study, StudyStatus, TaskKind
from annotation.policies import User
from metrics.core.marks import Axis, scaled_axis
from metrics.dashboards import sentences
from metrics.dashboards.queries import progress
from metrics.dashboards.queries.results import GroupScore, PartAgreement, RankedGroup, Results, read_results
from metrics.models import Score, ScoreRun
from metrics.score_runs.queries import failed_runs

MOST_RANKED = 25
"""Longer rankings are cut in the middle."""
_AT_EACH_END = 10
_GROUPS_OF_CARD = 5


@dataclass(frozen=True)
class Ranking:
    """The rows shown at the top and at the bottom, with `between` others left out, all on one `axis`."""

    top: tuple[RankedGroup, ...]
    between: int
    bottom: tuple[RankedGroup, ...]
    axis: Axis | None


@dataclass(frozen=True)
class Overview:
    """`progress` is None if it must be counted first. `work_first`: the study is running and answers are
    still wanted, so how the work stands comes before what came out. `said`: the findings in words, by what
    they are about. `has_map`: whether groups are nationalities with visual stereotypes. `depicted`: the most
    offensively depicted groups. `box_overlap`: of all annotators, if they draw boxes."""

    study: Study
    results: Results
    said: dict[str, str]
    ranking: Ranking
    agreement: tuple[PartAgreement, ...]
    box_overlap: Score | None
    depicted: tuple[GroupScore, ...]
    rated: tuple[GroupScore, ...]
    axes: dict[str, Axis | None]
    has_map: bool
    progress: progress.Progress | None
    work_first: bool
    failed: tuple[ScoreRun, ...]

    @property
    def nothing_came_out(self) -> bool:
        return not self.said


def read_overview(user: User, study: Study, *, now: datetime) -> Overview:
    """The data that can be shown without counting answers of a large study. A fixed number of queries."""
    results = read_results(study)
    offensiveness = results.offensiveness
    depicted = offensiveness.depicted_groups[:_GROUPS_OF_CARD] if offensiveness else ()
    rated = offensiveness.rated_groups[:_GROUPS_OF_CARD] if offensiveness else ()
    nominal = sentences.nominal(results.agreement)
    # a single item has no α: chance is computed from other items
    agreement = tuple(part for part in nominal if "alpha" in part.scores)
    levels = results.levels
    work = progress.immediate_progress(study, now=now)
    runs = study.status in {StudyStatus.OPEN, StudyStatus.PAUSED}
    return Overview(
        study=study,
        results=results,
        said={finding.about: finding.text for finding in sentences.findings(results)},
        ranking=_ranking(results.ranking),
        agreement=agreement,
        box_overlap=next(
            (part.scores["box_iou"] for part in nominal if "box_iou" in part.scores),
            None,
        ),
        depicted=depicted,
        rated=rated,
        axes={
            "agreement": _axis("agreement", (part.scores.get("alpha") for part in agreement)),
            "consensus": _axis("per_cent", (share.score for share in results.consensus)),
            "depicted": _axis("number", (row.score for row in depicted)),
            "labels": _axis("whole_share", [share.score for share in levels.shares] if levels else []),
            "levels": _axis("rating", levels.pairs if levels else []),
            "prevalence": _axis("whole_share", (share.score for share in results.prevalence)),
            "pull": _axis("difference", [results.pull.x] if results.pull else []),
            "rated": _axis("offensive", (row.score for row in rated)),
        },
        has_map=_has_map(results),
        progress=work,
        work_first=runs and not (work and work.complete),
        # failed runs of the scores on this page are shown there
        failed=tuple(run for run in failed_runs(user, study) if run.metric not in results.metrics),
    )


def _ranking(rows: tuple[RankedGroup, ...]) -> Ranking:
    cut = len(rows) > MOST_RANKED
    return Ranking(
        top=rows[:_AT_EACH_END] if cut else rows,
        between=len(rows) - 2 * _AT_EACH_END if cut else 0,
        bottom=rows[-_AT_EACH_END:] if cut else (),
        axis=_axis("ratio", (row.theta for row in rows)),
    )


def _axis(kind: str, scores: Iterable[Score | None]) -> Axis | None:
    return scaled_axis(kind, [(one.value, one.low, one.high) for one in scores if one is not None])


def _has_map(results: Results) -> bool:
    """Whether the map of stereotypes can be drawn, as far as stored scores say."""
    nations = any(row.group.axis == IdentityAxis.NATIONALITY for row in results.ranking)
    asks = any(task.kind == TaskKind.VISUAL_NATURE for task in results.study.tasks.all())
    rule = results.rule_in_use
    return nations and (not asks or (rule is not None and rule.selected > 0))
