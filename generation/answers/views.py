"""Pages: the answers of a run, one answer, its whole text, and downloads."""

from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_safe

from annotation.core.requests import LoggedIn
from generation.answers import queries
from generation.answers.forms import FilterForm
from generation.answers.services import downloads
from generation.core.access import image_makers_only
from generation.models import ASKINGS, Answer, Run
from generation.plans.queries.runs import visible_runs
from generation.recipes.display import recipe_rows

PER_PAGE = 50
SHOWN = 20_000
"""Characters of one answer on its page; the rest is in its text file."""


def _run(request: LoggedIn, pk: int) -> Run:
    """A run that asks a model, if the account may see it; Http404 for others."""
    return get_object_or_404(visible_runs(request.user), pk=pk, kind__in=ASKINGS)


@image_makers_only
@require_safe
def answer_list(request: LoggedIn, pk: int) -> HttpResponse:
    run = _run(request, pk)
    endings = queries.endings(run)
    form = FilterForm(request.GET, endings=endings)
    filters = form.filters()
    position = form.cleaned_data if form.is_valid() else {}
    found = queries.find(
        run, filters, after=position.get("after"), before=position.get("before"), limit=PER_PAGE
    )
    chosen = {name: form.cleaned_data.get(name) for name in ("ended", "text", "key")}
    query = urlencode({name: value for name, value in chosen.items() if value})
    context = {
        "run": run,
        "form": form,
        "found": found,
        "total": sum(number for _, number in endings),
        "filtered": bool(query),
        "query": f"{query}&" if query else "",
        "formats": downloads.FORMATS,
        "searched": queries.SEARCHED,
        "here": "run",
    }
    return render(request, "generation/answers/answers.html", context, status=200 if form.is_valid() else 422)


@image_makers_only
@require_safe
def answer_page(request: LoggedIn, pk: int, job: int) -> HttpResponse:
    """What was asked and what came back. A long text is cut; all of it is at `answer_text`."""
    run = _run(request, pk)
    found = queries.one(run, job, characters=SHOWN)
    if found is None:
        raise Http404
    context = {
        "run": run,
        "answer": found.row,
        "more": found,
        "recipe": recipe_rows(run.recipe),
        "system": run.recipe.get("system", ""),
        "shown": SHOWN,
        "here": "run",
    }
    return render(request, "generation/answers/answer.html", context)


@image_makers_only
@require_safe
def answer_text(request: LoggedIn, pk: int, job: int) -> HttpResponse:
    """The whole text of an answer, as a file."""
    answer = get_object_or_404(Answer.objects.only("text"), run=_run(request, pk), job=job)
    return HttpResponse(
        answer.text,
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="answer-{job}.txt"'},
    )


@image_makers_only
@require_GET
def answer_download(request: LoggedIn, pk: int, fmt: str) -> HttpResponseBase:
    """All answers that match the page's filters."""
    run = _run(request, pk)
    if fmt not in downloads.FORMATS:
        raise Http404
    form = FilterForm(request.GET, endings=queries.endings(run))
    if not form.is_valid():
        return answer_list(request, pk)
    return StreamingHttpResponse(
        downloads.stream_answers(run=run, fmt=fmt, filters=form.filters(), by=request.user),
        content_type=downloads.FORMATS[fmt],
        headers={"Content-Disposition": f'attachment; filename="{run.name}-answers.{fmt}"'},
    )
