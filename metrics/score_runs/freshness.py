"""Check whether the scores on a page are up to date: slow, so the loaded page asks for it with htmx."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest

from annotation.core.leases import OPEN, JobState
from annotation.models import Study
from annotation.policies import User
from metrics.models import ScoreRun, Variant
from metrics.score_runs import queries
from metrics.score_runs import services as score_runs
from metrics.score_runs.queries import ScoreRequest
from metrics.score_runs.tasks import enqueue


@dataclass(frozen=True)
class Freshness:
    """The state of a page's scores: `waiting` and `failed` runs, reasons why runs were `refused`, whether new
    scores are `ready`, and whether those on the page are of older answers (`stale`)."""

    waiting: tuple[ScoreRun, ...] = ()
    failed: tuple[ScoreRun, ...] = ()
    refused: tuple[str, ...] = ()
    stale: bool = False
    ready: bool = False

    @property
    def query(self) -> str:
        return urlencode([("waiting", run.pk) for run in self.waiting])


def default_requests(metrics: Iterable[str], variant: str = Variant.CORRECTED) -> list[ScoreRequest]:
    """Requests for metrics with their default parameters."""
    return [(metric, variant, {}) for metric in metrics]


def query_string(requests: Sequence[ScoreRequest], *, extra: Sequence[tuple[str, str]] = ()) -> str:
    """The query string with which a page checks its scores. Comparisons and annotator groups are requested by
    name (`extra`)."""
    plain = [("of", f"{metric}:{variant}") for metric, variant, parameters in requests if not parameters]
    return urlencode([*plain, *extra])


def page_context(
    request: HttpRequest,
    study: Study,
    requests: Sequence[ScoreRequest],
    *,
    extra: Sequence[tuple[str, str]] = (),
) -> dict[str, object]:
    """What a page needs to check whether its scores are up to date."""
    return {
        "fresh": check(study, requests) if "check" in request.GET else None,
        "freshness_query": query_string(requests, extra=extra),
    }


def check(study: Study, requests: Sequence[ScoreRequest]) -> Freshness:
    """Compare the stored scores with the present answers and the study's choice of intervals, and request the
    missing ones."""
    found: list[ScoreRun] = []
    refused: list[str] = []
    ready = False
    for metric, variant, parameters in requests:
        shown = queries.newest_run(study, metric, variant, parameters)
        if shown is not None:
            chosen = queries.has_chosen_intervals(study, shown)
            if chosen and not queries.is_stale(shown):
                continue
        try:
            run = score_runs.request(study=study, metric=metric, variant=variant, parameters=parameters)
        except ValueError as error:  # no embeddings, or no comparison chosen
            refused.append(str(error))
            continue
        enqueue(run)
        found.append(run)
        # these answers were scored before, for example if one was withdrawn and restored
        ready = ready or run.state == JobState.DONE
    return of_runs(found, ready=ready, stale=bool(found), refused=refused)


def of_runs(
    runs: Sequence[ScoreRun], *, stale: bool, ready: bool = False, refused: Sequence[str] = ()
) -> Freshness:
    """The state of a page for which `runs` were requested."""
    return Freshness(
        refused=tuple(refused),
        waiting=tuple(run for run in runs if run.state in OPEN),
        failed=tuple(run for run in runs if run.state == JobState.FAILED),
        stale=stale,
        ready=ready,
    )


def check_waiting(user: User, study: Study, waiting: Sequence[str]) -> Freshness:
    """The state of the runs with these ids, which the account may list."""
    keys = {int(text) for text in waiting if text.isdecimal() and len(text) < 19}
    runs = list(queries.runs_to_list(user, study).filter(pk__in=keys))
    # A run that no longer exists was replaced by one of the present answers.
    done = len(runs) < len(keys) or any(run.state == JobState.DONE for run in runs)
    return of_runs(runs, ready=done, stale=True)
