"""Pages of visual questions: their runs, one run's results, its figures, and a new run with its preview."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.models import Run
from generation.recipes import recipes
from generation.runs import queries as runs_queries
from generation.runs.planning_page import preview_or_start
from metrics.core.access import catalogue_readers_only, of_visible_sets
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.tables import url_with
from metrics.visual_questions import queries
from metrics.visual_questions.data import question_runs, questions_of, times_of
from metrics.visual_questions.figures import question_figure
from metrics.visual_questions.forms import VisualQuestionsForm
from metrics.visual_questions.queries import QuestionResult
from metrics.visual_questions.sentences import in_words

RUNS_PER_PAGE = 30


@catalogue_readers_only
@require_safe
def visual_questions(request: LoggedIn) -> HttpResponse:
    runs = of_visible_sets(request, question_runs()).select_related("created_by", "image_set")
    page = Paginator(runs, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(row, len(questions_of(row.run))) for row in runs_queries.run_rows(list(page))]
    context = {"page": page, "rows": rows, "may_ask": policies.may_make_images(request.user)}
    return render(request, "metrics/visual_questions/visual_questions.html", context)


@catalogue_readers_only
@require_safe
def visual_question_run(request: LoggedIn, pk: int) -> HttpResponse:
    """`?question=american` shows another question of the run."""
    run = _run(request, pk)
    found = queries.results(run)
    shown = _shown(request, found)
    context: dict[str, Any] = {
        "run": run,
        "questions": questions_of(run),
        "times": times_of(run),
        "progress": runs_queries.progress(run),
        "simulated": run.backend == recipes.FAKE,
        "makes": policies.may_make_images(request.user),
        "found": found,
        "groups": _groups(found),
        "by_question": [(one, _cells(one, _groups(found))) for one in found],
        "shown": shown,
    }
    if shown is not None:
        query = urlencode({"question": shown.question.name})
        context |= {
            "question_links": [
                (one.question, url_with(request, question=one.question.name)) for one in found
            ],
            "sentence": _sentence(shown),
            "has_published": any(row.published is not None for row in shown.groups),
            **figure_context(
                question_figure(run, shown),
                lambda fmt: f"{reverse('visual_question_figure', args=[run.pk, fmt])}?{query}",
            ),
        }
    return render(request, "metrics/visual_questions/visual_question_run.html", context)


@catalogue_readers_only
@require_safe
def visual_question_figure(request: LoggedIn, pk: int, fmt: str) -> HttpResponse:
    """The file of a question's figure; with `?download` the browser saves it."""
    run = _run(request, pk)
    shown = _shown(request, queries.results(run))
    if shown is None:
        raise Http404("There is no answer yet.")
    filename = f"{run.name}-{shown.question.name}"
    return figure_response(request, question_figure(run, shown), fmt, filename=filename)


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_visual_questions(request: LoggedIn) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    context: dict[str, Any] = {}
    if request.method == "POST":
        form = VisualQuestionsForm(request.POST, user=request.user)
        started, context = preview_or_start(request, form)
        if started is not None:
            return redirect("visual_question_run", pk=started.pk)
        if "preview" in context:
            # each once, and not again for every image
            prompts = list(dict.fromkeys(context["preview"].prompts))
            context["preview"] = replace(context["preview"], prompts=prompts)
    else:
        initial = {"image_set": request.GET["set"]} if "set" in request.GET else None
        form = VisualQuestionsForm(user=request.user, initial=initial)
    context["form"] = form
    status = 422 if form.errors else 200
    return render(request, "metrics/visual_questions/new_visual_questions.html", context, status=status)


def _run(request: HttpRequest, pk: int) -> Run:
    return get_object_or_404(of_visible_sets(request, question_runs()).select_related("image_set"), pk=pk)


def _shown(request: HttpRequest, found: list[QuestionResult]) -> QuestionResult | None:
    """The question that the address names, else the first with an answer."""
    name = request.GET.get("question")
    return next((one for one in found if one.question.name == name), found[0] if found else None)


def _groups(found: list[QuestionResult]) -> list[Any]:
    """All groups of a run, once each, by name."""
    groups = {row.group for one in found for row in one.groups}
    return sorted(groups, key=lambda group: (group.name, group.axis))


def _cells(one: QuestionResult, groups: list[Any]) -> list[Any]:
    """For each of `groups` the share of the answer that stands for the question; None without answers."""
    rows = {row.group: row.of(one.counts_for) for row in one.groups}
    return [rows.get(group) for group in groups]


def _sentence(one: QuestionResult) -> str:
    labels = one.labels()
    high, low = ((labels[row.group.pk], row.of(one.counts_for).value) for row in one.extremes())
    return in_words(one.counts_for_name, high, low if len(one.groups) > 1 else None)
