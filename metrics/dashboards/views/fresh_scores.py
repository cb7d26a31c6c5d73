"""Polled by pages (htmx) to check whether their scores are up to date, and to wait for new ones."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.requests import LoggedIn
from annotation.models import Study
from metrics.agreement import queries as agreement
from metrics.comparisons import queries as comparisons
from metrics.core.studies import get_study_or_404
from metrics.league import queries as leagues
from metrics.machine_judges.data import judge_runs
from metrics.machine_judges.queries.requests import wanted_scores
from metrics.models import Variant
from metrics.score_runs import freshness, registry
from metrics.score_runs.queries import ScoreRequest

_MAX_RUNS = 8  # that one page can wait for


@require_safe
def fresh_scores(request: LoggedIn, name: str) -> HttpResponse:
    """`?of=tendency:corrected` checks the scores of a metric, `?with=` those of a comparison, `?league=NAME`
    the league with another study, with `league_of=prevalence` of that kind of task, `?by=gender` agreement
    within and between groups of annotators, `?judge=NAME` those of a machine judge, which may be with `by`;
    `?waiting=7` polls a run. `of`, `league` and `waiting` can be repeated. A poll without news gets 204."""
    study = get_study_or_404(request, name)
    waiting = request.GET.getlist("waiting")[:_MAX_RUNS]
    if waiting:
        fresh = freshness.check_waiting(request.user, study, waiting)
        if fresh.waiting and not fresh.ready:
            return HttpResponse(status=204)
    else:
        requests = [_score_request(text) for text in request.GET.getlist("of")[:_MAX_RUNS]]
        others = request.GET.getlist("league")
        if others:
            requests.append(
                leagues.score_request(request.user, study, others, request.GET.get("league_of", ""))
            )
        fresh = freshness.check(
            study, [*requests, *_comparison_requests(request, study), *_requests_by(request, study)]
        )
    return render(
        request,
        "metrics/score_runs/_freshness.html",
        {"study": study, "fresh": fresh, "page_url": request.htmx.current_url_abs_path or ""},
    )


def _score_request(text: str) -> ScoreRequest:
    metric, _, variant = text.partition(":")
    if variant not in Variant.values or metric not in {entry.name for entry in registry.metrics()}:
        raise Http404(f"There are no scores '{text}'.")
    return metric, variant, {}


def _comparison_requests(request: HttpRequest, study: Study) -> list[ScoreRequest]:
    """The requests of a comparison of two groups of annotators, if it is offered."""
    key = request.GET.get("with", "")
    if not key:
        return []
    for choice in comparisons.choices(study):
        if choice.key == key:
            return comparisons.score_requests(choice)
    raise Http404("There is no such comparison.")


def _requests_by(request: HttpRequest, study: Study) -> list[ScoreRequest]:
    """The requests for a machine judge, if one is named; else the one for agreement between groups of
    annotators, if chosen."""
    by = request.GET.get("by", agreement.BY[0])
    if by not in agreement.BY:
        raise Http404(f"Annotators are not compared by '{by}'.")
    if "judge" in request.GET:
        run = judge_runs(study).filter(name=request.GET["judge"]).first()
        if run is None:
            raise Http404("This study has no such machine judge.")
        return wanted_scores(study, run, by).due
    return [] if by == agreement.BY[0] else [agreement.run_of(by)]
