"""The stored score runs that a report shows, and which of their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import QuerySet

from annotation.models import Study, TaskKind
from metrics.core.annotator_groups import MIN_GROUP_SIZE
from metrics.league.kinds import METRICS as LEAGUES
from metrics.models import Score, ScoreRun, Variant
from metrics.report.queries.few import Few, read_few
from metrics.report.queries.people import Answers, answers_by_task
from metrics.report.queries.pools import few_in_parts, read_few_pools
from metrics.report.refused import FEW, OUTDATED
from metrics.score_runs import queries, registry
from metrics.score_runs.metric import Metric


@dataclass(frozen=True)
class StoredRun:
    """A finished run. `few_tasks`: kinds of task that too few people answered; `few`: what too few people
    answered about in the task of its metric; `few_parts`: (text in a score's part, the same for those parts),
    if its scores are of several tasks, or of pools of annotators."""

    run: ScoreRun
    metric: Metric
    few_tasks: frozenset[str] = frozenset()
    few: Few = field(default_factory=Few)
    few_parts: tuple[tuple[str, Few], ...] = ()

    @property
    def slug(self) -> str:
        """Its name in addresses and files."""
        return self.metric.name + ("" if self.run.variant == Variant.CORRECTED else f"-{self.run.variant}")

    @cached_property
    def n_left_out(self) -> int:
        """How many scores are not shown. Two queries."""
        return self.run.scores.count() - self.scores().count()

    @property
    def reads_answers(self) -> bool:
        """Whether its scores are of this study's answers, and not only of votes of a source or of images."""
        return self.metric.source in ("answers", "ratings") or bool(self.metric.task)

    @property
    def lacks_totals(self) -> bool:
        """Whether means or totals are left out because of what could be found from them by subtraction."""
        return self.few.hides_totals or any(few.hides_totals for _text, few in self.few_parts)

    def shows_total(self, part: str) -> bool:
        """Whether the score of all groups and attributes with this part is shown, if there is one."""
        hidden = any(text in part and few.hides_totals for text, few in self.few_parts)
        of_few = any(part.startswith(_of_task(kind)) for kind in self.few_tasks)
        return not (self.few.hides_totals or hidden or of_few)

    def scores(self) -> QuerySet[Score]:
        """Its scores, without those that could be the answers of one person, and without other studies."""
        found = Score.objects.filter(run=self.run).exclude(part__startswith="study: ")
        if not self.reads_answers:
            return found
        found = found.exclude(attribute__isnull=False, n__lt=MIN_GROUP_SIZE)
        found = found.exclude(self.few.hidden)
        for text, few in self.few_parts:
            found = found.exclude(few.hidden, part__contains=text)
        for kind in sorted(self.few_tasks):
            found = found.exclude(part__startswith=_of_task(kind))
        return found


@dataclass(frozen=True)
class LeftOut:
    """A run that is not shown, and which of FEW and OUTDATED is the reason."""

    metric: Metric
    reason: str


@dataclass(frozen=True)
class Runs:
    """What a report is made of, in the order of the registry. `answers` and `few` by kind of task: its
    counted answers, and what too few people answered about."""

    shown: tuple[StoredRun, ...]
    left_out: tuple[LeftOut, ...]
    answers: Mapping[str, Answers] = field(default_factory=dict)
    few: Mapping[str, Few] = field(default_factory=dict)

    @property
    def newest(self) -> ScoreRun:
        """The one that was computed last. Only if there is one."""
        return max((stored.run for stored in self.shown), key=lambda run: (run.finished_at, run.pk))

    @property
    def outdated(self) -> tuple[LeftOut, ...]:
        return tuple(one for one in self.left_out if one.reason == OUTDATED)


def stored_runs(study: Study) -> Runs:
    """The newest finished run of each metric and variant, as pages show it: with default parameters only, so
    none of other studies or of groups of annotators, and none of machine judges. Call it in a snapshot.

    Runs of other answers than the present ones are left out: they may hold what somebody has withdrawn or had
    erased since, and who gave those answers is no longer known."""
    answers, few = answers_by_task(study), read_few(study)
    few_tasks = frozenset(kind for kind, one in answers.items() if one.are_few)
    few_pools = few_in_parts(read_few_pools(study)) if TaskKind.PREVALENCE in few else []
    of_tasks = [(_of_task(kind), one) for kind, one in few.items()]
    shown: list[StoredRun] = []
    left_out: list[LeftOut] = []
    for metric, run in newest_stored(study):
        few_parts = few_pools if metric.task == TaskKind.PREVALENCE else [] if metric.task else of_tasks
        stored = StoredRun(run, metric, few_tasks, few.get(metric.task, Few()), tuple(few_parts))
        reason = OUTDATED if _is_stale(run) else _why_not(stored, answers)
        if reason:
            left_out.append(LeftOut(metric, reason))
        else:
            shown.append(stored)
    return Runs(tuple(shown), tuple(left_out), answers, few)


def may_be_reported(metric: Metric) -> bool:
    """Whether a report may show scores of a metric: none of machine judges, and none of leagues, for which
    nobody counts how many people answered about each image set, and whose scores have another metric."""
    return metric.source != "machine judge" and metric.name not in LEAGUES


def newest_stored(study: Study) -> list[tuple[Metric, ScoreRun]]:
    """The newest finished run of each metric and variant that a report may show, in the order of the
    registry. Two queries."""
    metrics = [metric for metric in registry.metrics() if may_be_reported(metric)]
    found = {
        variant: queries.newest_runs(
            study,
            [one.name for one in metrics if one.variants_differ or variant == Variant.CORRECTED],
            variant,
        )
        for variant in Variant.values
    }
    stored = [
        (metric, of_variant[metric.name])
        for metric in metrics
        for of_variant in found.values()
        if metric.name in of_variant
    ]
    for _, run in stored:
        run.study = study
    return stored


def all_of_few(study: Study, stored: Sequence[tuple[Metric, ScoreRun]]) -> bool:
    """Whether each of the newest stored runs is of too few people, so that there is no report. One query over
    the answers."""
    answers = answers_by_task(study)
    return all(_why_not(StoredRun(run, metric), answers) for metric, run in stored)


def _of_task(kind: str) -> str:
    """How the parts of scores of a kind of task begin."""
    return f"task: {kind};"


def _is_stale(run: ScoreRun) -> bool:
    try:
        return queries.is_stale(run)
    except ValueError:  # the captions or embeddings that it was computed from are gone
        return True


def _why_not(stored: StoredRun, answers: Mapping[str, Answers]) -> str:
    """Why a run of the present answers is left out; empty if it is shown."""
    if not stored.reads_answers:
        return ""
    if stored.metric.task:
        found = answers.get(stored.metric.task)
        return FEW if found is not None and found.are_few else ""
    return FEW if answers and all(one.are_few for one in answers.values()) else ""
