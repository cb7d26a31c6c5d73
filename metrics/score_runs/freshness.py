"""Whether the scores that a page shows are of today's answers.

A page shows stored scores at once. Whether answers have changed since costs an aggregate over all of them,
so the page asks that here once it is there (htmx), waits here for the runs it asked for, and then takes in
its own new content.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from annotation.models import Study
from metrics.models import RunState, ScoreRun, Variant
from metrics.score_runs import queries
from metrics.score_runs import services as score_runs
from metrics.score_runs.queries import ScoreRequest
from metrics.score_runs.tasks import enqueue


@dataclass(frozen=True)
class Freshness:
    """What a page shows of it: runs on their way, runs that failed, why others cannot be asked for, and
    whether there is something new to show.

    `stale`: what the page shows is of other answers than today's.
    """

    waiting: tuple[ScoreRun, ...] = ()
    failed: tuple[ScoreRun, ...] = ()
    refused: tuple[str, ...] = ()
    stale: bool = False
    ready: bool = False

    @property
    def query(self) -> str:
        return urlencode([("waiting", run.pk) for run in self.waiting])


def default_requests(metrics: Iterable[str], variant: str = Variant.CORRECTED) -> list[ScoreRequest]:
    """Metrics as they are computed where nothing is chosen."""
    return [(metric, variant, {}) for metric in metrics]


def query_string(wanted: Sequence[ScoreRequest], *, more: Sequence[tuple[str, str]] = ()) -> str:
    """What a page puts into the address that it asks. A comparison, and groups of annotators, are asked for
    by their name (`more`)."""
    plain = [("of", f"{metric}:{variant}") for metric, variant, parameters in wanted if not parameters]
    return urlencode([*plain, *more])


def check(study: Study, wanted: Sequence[ScoreRequest]) -> Freshness:
    """Compare what is stored with today's answers, and ask for what is missing."""
    found: list[ScoreRun] = []
    refused: list[str] = []
    ready = False
    for metric, variant, parameters in wanted:
        shown = queries.newest_run(study, metric, variant, parameters)
        if shown is not None and not queries.is_stale(shown):
            continue
        try:
            run = score_runs.request(study=study, metric=metric, variant=variant, parameters=parameters)
        except ValueError as why:  # nothing is embedded, or not said what to compare
            refused.append(str(why))
            continue
        enqueue(run)
        found.append(run)
        # answers that were scored before: taken back, and given again
        ready = ready or run.state == RunState.DONE
    return _freshness(found, ready=ready, stale=bool(found), refused=refused)


def _freshness(
    runs: Sequence[ScoreRun], *, ready: bool, stale: bool, refused: Sequence[str] = ()
) -> Freshness:
    return Freshness(
        refused=tuple(refused),
        waiting=tuple(run for run in runs if run.state in {RunState.PENDING, RunState.CLAIMED}),
        failed=tuple(run for run in runs if run.state == RunState.FAILED),
        stale=stale,
        ready=ready,
    )


def check_waiting(study: Study, waiting: Sequence[str]) -> Freshness:
    """How the runs with these numbers get on."""
    keys = {int(text) for text in waiting if text.isdecimal() and len(text) < 19}
    runs = list(ScoreRun.objects.filter(study=study, pk__in=keys))
    # A run that is gone was moot: another one stands for the answers as they are now.
    done = len(runs) < len(keys) or any(run.state == RunState.DONE for run in runs)
    return _freshness(runs, ready=done, stale=True)
