"""Data of the overview page: the study's progress and its stored scores."""

from dataclasses import dataclass
from datetime import datetime

from annotation.core import scales
from annotation.models import Study, TaskKind
from metrics.agreement.queries import METRIC as AGREEMENT
from metrics.agreement.queries import by_part
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import Figure
from metrics.dashboards.queries import progress
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs import queries, registry
from metrics.score_runs.queries import failed_runs
from metrics.visual_nature import visual_rule
from metrics.visual_nature.charts import Bar, consensus_chart


@dataclass(frozen=True)
class VisualRule:
    """How many attributes a rule for 'visual' selects (PROTOCOL §2); `in_use` if it is the study's rule.

    The rule: at least `least` of `of` annotators agree, all agree (`least` None), or the mean score is at
    least `mean`. It selects `percent` of the attributes, with the interval `low` to `high`.
    """

    least: int | None
    of: int
    mean: float | None
    selected: int
    percent: float
    low: float | None
    high: float | None
    in_use: bool


@dataclass(frozen=True)
class Overview:
    """`progress` is None if it must be counted first. Everything else except `failed` comes from stored runs,
    and is empty without them. `rated`: the number of attributes that the rules apply to."""

    study: Study
    progress: progress.Progress | None
    simulated: bool
    figure: Figure | None
    rules: tuple[VisualRule, ...]
    rated: int
    agreement: tuple[tuple[str, dict[str, Score]], ...]
    failed: tuple[ScoreRun, ...]
    runs: tuple[ScoreRun, ...]


def read_overview(study: Study, *, now: datetime) -> Overview:
    """The data that can be shown without counting answers of a large study. A fixed number of queries."""
    simulated = has_simulated_answers(study)
    figure = None
    rules: tuple[VisualRule, ...] = ()
    rated = 0
    runs: list[ScoreRun] = []
    shown = shown_metrics(study)
    for metric in shown:
        run = queries.newest_run(study, metric, Variant.CORRECTED)
        if run is None:
            continue
        runs.append(run)
        if metric == "consensus":
            figure = _consensus(study, run, simulated=simulated)
        elif metric == "visual_rules":
            rules, rated = _rules(run)
    stored = [run for run in runs if run.metric == AGREEMENT]
    return Overview(
        study=study,
        progress=progress.immediate_progress(study, now=now),
        simulated=simulated,
        figure=figure,
        rules=rules,
        rated=rated,
        agreement=tuple(by_part(stored[0]).items()) if stored else (),
        # failed runs of the scores on this page are shown there
        failed=tuple(run for run in failed_runs(study) if run.metric not in shown),
        runs=tuple(runs),
    )


def shown_metrics(study: Study) -> list[str]:
    """The metrics that the overview page shows."""
    kinds = {task.kind for task in study.tasks.all()}
    names = ["consensus", "visual_rules"] if TaskKind.VISUAL_NATURE in kinds else []
    if kinds and AGREEMENT in {metric.name for metric in registry.metrics()}:
        names.append(AGREEMENT)
    return names


def _consensus(study: Study, run: ScoreRun, *, simulated: bool) -> Figure | None:
    scores = {score.name: score for score in run.scores.all()}
    found = [(label.name, scores.get(label.name.lower().replace(" ", "_"))) for label in scales.VISUAL_NATURE]
    bars = tuple(
        Bar(name, score.value, score.k or 0, score.n, score.low, score.high)
        for name, score in found
        if score is not None and score.value is not None and score.n
    )
    return consensus_chart(bars, study=study.title, simulated=simulated) if bars else None


def _rules(run: ScoreRun) -> tuple[tuple[VisualRule, ...], int]:
    """What each rule would select, and the number of attributes rated so far."""
    used, shares = set[str](), list[Score]()
    for score in run.scores.order_by("pk"):
        if score.name == "share":
            shares.append(score)
        elif score.name == "in_use" and score.value:
            used.add(score.part)
    read = [visual_rule.parse_part(score.part) for score in shares]
    most = max((least for least, _ in read if least is not None), default=0)
    rules = tuple(
        VisualRule(
            least=least,
            of=most,
            mean=mean,
            selected=score.k or 0,
            percent=100 * (score.value or 0),
            low=None if score.low is None else 100 * score.low,
            high=None if score.high is None else 100 * score.high,
            in_use=score.part in used,
        )
        for score, (least, mean) in zip(shares, read, strict=True)
    )
    return rules, shares[0].n if shares else 0
