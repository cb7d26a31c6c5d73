"""Whether the scores that a page shows are of today's answers.

A page shows stored scores at once. Whether answers have changed since costs an aggregate over all of them,
so the page asks that here once it is there (htmx), waits here for the runs it asked for, and then takes in
its own new content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe
from django_htmx.middleware import HtmxDetails

from annotation import policies
from annotation.models import Study
from metrics import queries, registry, tasks
from metrics.led import led_study
from metrics.models import RunState, ScoreRun, Variant
from metrics.queries_pages import agreement, compare
from metrics.services import score_runs

Wanted = tuple[str, str, Mapping[str, str]]
"""A metric, its variant and what is chosen of its parameters."""
_MOST = 8  # runs that one page can wait for


@dataclass(frozen=True)
class Freshness:
    """What a page is told: runs on their way, runs that failed, why others cannot be asked for, and whether
    there is something new to show.

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


def usual(metrics: Iterable[str], variant: str = Variant.CORRECTED) -> list[Wanted]:
    """Metrics as they are computed where nothing is chosen."""
    return [(metric, variant, {}) for metric in metrics]


def of_comparison(choice: compare.Choice) -> list[Wanted]:
    """The two sides of a choice, and their differences, in everything that is compared."""
    return [(metric, Variant.CORRECTED, choice.parameters) for metric in compare.METRICS]


def of_agreement(by: str) -> Wanted:
    """Agreement, as a page shows it: of groups of annotators unless `by` is the first of agreement.BY."""
    return agreement.METRIC, Variant.CORRECTED, {} if by == agreement.BY[0] else {"by": by}


def question(wanted: Sequence[Wanted], *, more: Sequence[tuple[str, str]] = ()) -> str:
    """What a page puts into the address that it asks. A comparison, and groups of annotators, are asked for
    by their name (`more`)."""
    plain = [("of", f"{metric}:{variant}") for metric, variant, parameters in wanted if not parameters]
    return urlencode([*plain, *more])


def check(study: Study, wanted: Sequence[Wanted]) -> Freshness:
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
        tasks.ring(run)
        found.append(run)
        # answers that were scored before: taken back, and given again
        ready = ready or run.state == RunState.DONE
    return _told(found, ready=ready, stale=bool(found), refused=refused)


def _told(runs: Sequence[ScoreRun], *, ready: bool, stale: bool, refused: Sequence[str] = ()) -> Freshness:
    return Freshness(
        refused=tuple(refused),
        waiting=tuple(run for run in runs if run.state in {RunState.PENDING, RunState.CLAIMED}),
        failed=tuple(run for run in runs if run.state == RunState.FAILED),
        stale=stale,
        ready=ready,
    )


@login_required
@require_safe
def fresh_scores(request: HttpRequest, name: str) -> HttpResponse:
    """`?of=tendency:corrected` asks whether scores are of today's answers, `?with=` the same of a comparison,
    `?by=gender` of agreement within and between groups of annotators, `?waiting=7` how runs get on; `of`
    and `waiting` can be there several times. While nothing has changed for who waits, the answer is empty
    (204)."""
    study = led_study(request, name)
    waiting = request.GET.getlist("waiting")[:_MOST]
    if waiting:
        told = _waited_for(study, waiting)
        if told.waiting and not told.ready:
            return HttpResponse(status=204)
    else:
        wanted = [_wanted(text) for text in request.GET.getlist("of")[:_MOST]]
        told = check(study, [*wanted, *_difference(request, study), *_agreement(request)])
    return render(
        request, "metrics/_freshness.html", {"study": study, "fresh": told, "page_url": _page_of(request)}
    )


def _waited_for(study: Study, waiting: Sequence[str]) -> Freshness:
    keys = {int(text) for text in waiting if text.isdecimal() and len(text) < 19}
    runs = list(ScoreRun.objects.filter(study=study, pk__in=keys))
    # A run that is gone was moot: another one stands for the answers as they are now.
    done = len(runs) < len(keys) or any(run.state == RunState.DONE for run in runs)
    return _told(runs, ready=done, stale=True)


def _wanted(text: str) -> Wanted:
    metric, _, variant = text.partition(":")
    if variant not in Variant.values or metric not in {entry.name for entry in registry.METRICS}:
        raise Http404(f"There are no scores '{text}'.")
    return metric, variant, {}


def _difference(request: HttpRequest, study: Study) -> list[Wanted]:
    """What is compared, if it is offered to whoever asks: another study must be theirs too."""
    asked = request.GET.get("with", "")
    if not asked:
        return []
    for choice in compare.choices(study, policies.studies_led_by(request.user)):
        if choice.key == asked:
            return of_comparison(choice)
    raise Http404("There is nothing of that name to compare.")


def _agreement(request: HttpRequest) -> list[Wanted]:
    """`?by=`: agreement of groups of annotators."""
    by = request.GET.get("by", agreement.BY[0])
    if by not in agreement.BY:
        raise Http404(f"Annotators are not compared by '{by}'.")
    return [] if by == agreement.BY[0] else [of_agreement(by)]


def _page_of(request: HttpRequest) -> str:
    """The page that asked, if it is one of ours."""
    details = getattr(request, "htmx", None)
    page = details.current_url_abs_path if isinstance(details, HtmxDetails) else None
    return page or ""


@login_required
@require_POST
def retry_scores(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """Give a failed run another chance, and go back to where that was asked for."""
    study = led_study(request, name)
    run = get_object_or_404(ScoreRun, pk=run_id, study=study)
    try:
        if score_runs.retry(run_id=run.pk):
            run.refresh_from_db()
            tasks.ring(run)
    except ValueError as why:
        messages.error(request, str(why))
    back = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        return redirect(back)
    return redirect("overview", name=study.name)
