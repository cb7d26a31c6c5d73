"""The page of one machine judge, and its figure, for leads only."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import Study, TaskKind
from generation.models import Run
from generation.runs.queries import Failure, progress
from metrics.agreement.queries import BY, BY_TEXTS
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import Figure
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.figure_sources import NothingToDraw, study_title
from metrics.core.studies import get_study_or_404
from metrics.core.tables import url_with
from metrics.machine_judges import sentences, words
from metrics.machine_judges.figures import FIGURES, agreement_figure
from metrics.machine_judges.queries import requests as asked
from metrics.machine_judges.queries.judges import JudgeRow, judge_rows
from metrics.machine_judges.queries.results import Results, ScoreTables, results
from metrics.score_runs import freshness


@require_safe
def judge(request: LoggedIn, name: str, number: int) -> HttpResponse:
    """`?by=` chooses the groups of annotators; an unknown value shows all annotators together."""
    study = get_study_or_404(request, name)
    run = asked.judge_or_404(study, number)
    by = _by(request)
    found = results(study, run, by)
    wanted = asked.wanted_scores(study, run, by)
    extra = [("judge", run.name), *([("by", by)] if by != BY[0] else [])]
    context: dict[str, Any] = {
        "study": study,
        "simulated": has_simulated_answers(study),
        "by": by,
        "choices": [(each, BY_TEXTS[each], url_with(request, by=each)) for each in BY],
        "found": found,
        "finding": sentences.finding(found, asked.parameters_of(asked.ALTERNATIVE, run)),
        "warnings": sentences.warnings(),
        "stability": [(words.variant_words(one), score) for one, score in found.stability.items()],
        "scores": _named(found.scores),
        "combined": _named(found.combined),
        "refusals": asked.refusals(study, wanted, found.runs),
        "asks": bool(wanted.due),
        "makes": policies.may_make_images(request.user),
        **_facts(run, found),
        **freshness.page_context(request, study, wanted.due, extra=extra),
    }
    try:
        figure = _figure(study, run, found)
    except NothingToDraw:
        return render(request, "metrics/machine_judges/judge.html", context)
    query = f"?{urlencode({'by': by})}"

    def url(fmt: str) -> str:
        return reverse("judge_figure", args=[name, number, FIGURES[0], fmt]) + query

    context |= figure_context(figure, url)
    return render(request, "metrics/machine_judges/judge.html", context)


@require_safe
def judge_figure(request: HttpRequest, name: str, number: int, figure: str, fmt: str) -> HttpResponse:
    """The file of a figure; with `?download` the browser saves it. `?by=` as on the page."""
    study = get_study_or_404(request, name)
    run = asked.judge_or_404(study, number)
    if figure not in FIGURES:
        raise Http404(f"There is no figure '{figure}' of a machine judge.")
    try:
        drawn = _figure(study, run, results(study, run, _by(request)))
    except NothingToDraw as nothing:
        raise Http404(str(nothing)) from nothing
    return figure_response(request, drawn, fmt, filename=f"{run.name}-{figure}")


def _by(request: HttpRequest) -> str:
    by = request.GET.get("by", BY[0])
    return by if by in BY else BY[0]


def _figure(study: Study, run: Run, found: Results) -> Figure:
    return agreement_figure(run, found, study=study_title(study))


def _facts(run: Run, found: Results) -> dict[str, Any]:
    """What the judge is, how far it is and what it used. Two queries."""
    [row] = judge_rows([run])
    return {
        "run": run,
        "row": row,
        "task": TaskKind(row.design.task).label,
        "time": words.model_time(row.seconds),
        "failures": _failures(row),
        "problems": [(words.problem_words(one), score) for one, score in found.problems.items() if score.k],
    }


def _failures(row: JudgeRow) -> list[Failure]:
    """The errors of questions that were given up, the most frequent first."""
    return [each for each in progress(row.run).errors if each.parked] if row.failed else []


def _named(tables: ScoreTables) -> list[tuple[object, Any]]:
    return [(sentences.SCORE_NAMES[name], rows) for name, rows in tables]
