"""How a study stands: its progress, and what the stored scores say of it so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from annotation import scales
from annotation.models import Study, TaskKind
from metrics import figures, frames, queries, registry
from metrics.models import Score, ScoreRun, Variant
from metrics.queries_pages import alerts, progress

_MEANS = (3.5, 4.0)
AGREEMENT = "agreement"


@dataclass(frozen=True)
class Rule:
    """How many attributes a rule for 'visual' selects (PROTOCOL §2); `ours` if it is the study's.

    The rule is that `least` of `of` annotators agree, that all do (`least` None), or that the mean score is
    at least `mean`.
    """

    least: int | None
    of: int
    mean: float | None
    selected: int
    percent: float
    ours: bool


@dataclass(frozen=True)
class Overview:
    """`progress` is None where it must be counted first; everything else but `failed` comes from stored
    runs, and is empty without. `rated`: the attributes that the rules choose from."""

    study: Study
    progress: progress.Progress | None
    simulated: bool
    figure: figures.Figure | None
    rules: tuple[Rule, ...]
    rated: int
    agreement: tuple[tuple[str, dict[str, Score]], ...]
    failed: tuple[ScoreRun, ...]
    runs: tuple[ScoreRun, ...]


def overview(study: Study, *, now: datetime) -> Overview:
    """What can be shown at once, in as many queries however large the study is."""
    simulated = frames.holds_simulated(study)
    figure = None
    rules: tuple[Rule, ...] = ()
    rated = 0
    runs: list[ScoreRun] = []
    shown = wanted(study)
    for metric in shown:
        run = queries.newest_run(study, metric, Variant.CORRECTED)
        if run is None:
            continue
        runs.append(run)
        if metric == "consensus":
            figure = _consensus(study, run, simulated=simulated)
        elif metric == "visual_nature":
            rules, rated = _rules(study, run)
    stored = [run for run in runs if run.metric == AGREEMENT]
    return Overview(
        study=study,
        progress=progress.at_once(study, now=now),
        simulated=simulated,
        figure=figure,
        rules=rules,
        rated=rated,
        agreement=_agreement(stored),
        # those of the scores below stand with them
        failed=tuple(run for run in alerts.failed_runs(study) if run.metric not in shown),
        runs=tuple(runs),
    )


def wanted(study: Study) -> list[str]:
    """The metrics that the page shows."""
    kinds = {task.kind for task in study.tasks.all()}
    names = ["consensus", "visual_nature"] if TaskKind.VISUAL_NATURE in kinds else []
    if kinds and AGREEMENT in {metric.name for metric in registry.METRICS}:
        names.append(AGREEMENT)
    return names


def _consensus(study: Study, run: ScoreRun, *, simulated: bool) -> figures.Figure | None:
    scores = {score.name: score for score in run.scores.all()}
    found = [(label.name, scores.get(label.name.lower().replace(" ", "_"))) for label in scales.VISUAL_NATURE]
    bars = tuple(
        figures.Bar(label=name, percent=score.value, k=score.k or 0, n=score.n)
        for name, score in found
        if score is not None and score.value is not None and score.n
    )
    return figures.consensus(bars, study=study.title, simulated=simulated) if bars else None


def _rules(study: Study, run: ScoreRun) -> tuple[tuple[Rule, ...], int]:
    """What each rule would select of the attributes rated so far, and how many those are.

    The study's own rule as the run applied it; for the others, the answers to an attribute that was asked
    twice count together.
    """
    rated = dict[int, tuple[int, int]]()
    passed, means = 0, list[float]()
    rows = run.scores.filter(part="").values_list("attribute", "name", "value", "k", "n")
    for attribute, name, value, k, n in rows:
        if name == "visual":
            rated[attribute or 0] = (k or 0, n)
            passed += value == 1
        elif name == "mean_score" and value is not None:
            means.append(value)
    if not rated:
        return (), 0
    overlaps = [task.overlap for task in study.tasks.all() if task.kind == TaskKind.VISUAL_NATURE]
    most = max(*overlaps, study.visual_rule or 1, 1)
    counts = list(rated.values())
    selected: list[tuple[int | None, float | None, int]] = [
        (None, None, passed if study.visual_rule is None else sum(k == n for k, n in counts))
    ]
    for least in range(most, 0, -1):
        if least == study.visual_rule:
            selected.append((least, None, passed))
        elif least < most:
            selected.append((least, None, sum(k >= least for k, _ in counts)))
    selected += [(None, mean, sum(value >= mean for value in means)) for mean in _MEANS]
    rules = tuple(
        Rule(
            least=least,
            of=most,
            mean=mean,
            selected=number,
            percent=100 * number / len(counts),
            ours=mean is None and least == study.visual_rule,
        )
        for least, mean, number in selected
    )
    return rules, len(counts)


def _agreement(stored: Sequence[ScoreRun]) -> tuple[tuple[str, dict[str, Score]], ...]:
    """{name: score} of each part of the agreement over the study as a whole."""
    found: dict[str, dict[str, Score]] = {}
    if stored:
        whole = Score.objects.filter(run=stored[0], group__isnull=True, attribute__isnull=True)
        for score in whole.order_by("part", "pk"):
            found.setdefault(score.part, {})[score.name] = score
    return tuple(found.items())
