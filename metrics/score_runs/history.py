"""Scores of a group in past score runs, to show how they changed with new answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import IdentityGroup, Study
from metrics.models import RunState, Score, ScoreRun

MAX_RUNS = 10


@dataclass(frozen=True)
class PastRun:
    """The scores of a finished run. `comparable`: it has the version and rule of the newest run, so that
    differences come from the answers only."""

    run: ScoreRun
    scores: tuple[Score | None, ...]
    comparable: bool


def score_history(
    study: Study, group: IdentityGroup, *, metric: str, names: Sequence[str], variant: str
) -> list[PastRun]:
    """The scores `names` of `group` in the latest finished runs of `metric`, newest first. Two queries."""
    runs = list(
        ScoreRun.objects.filter(
            study=study, metric=metric, variant=variant, state=RunState.DONE, parameters="{}"
        ).order_by("-finished_at", "-pk")[:MAX_RUNS]
    )
    found = {
        (score.run_id, score.name): score
        for score in Score.objects.filter(
            run__in=[run.pk for run in runs],
            group=group,
            attribute__isnull=True,
            part="",
            name__in=list(names),
        )
    }
    return [
        PastRun(
            run=run,
            scores=tuple(found.get((run.pk, name)) for name in names),
            comparable=(run.version, run.rule) == (runs[0].version, runs[0].rule),
        )
        for run in runs
    ]
