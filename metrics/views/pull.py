"""The pull explorer: the figure, the numbers of each group, and the images behind them."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.models import Study
from annotation.views.requests import LoggedIn
from generation.models import Run
from metrics import frames, queries, tasks
from metrics.led import led_study
from metrics.models import RunState, ScoreRun, Variant
from metrics.queries_pages import pull as pages
from metrics.queries_pages.charts.pull import BY
from metrics.services import score_runs
from metrics.views.access import whole_number
from metrics.views.freshness import Freshness
from metrics.views.tables import changed, first_direction, headings

_CHOICES = ("sort", "dir", "region", "by", "run")


@login_required
@require_safe
def pull(request: LoggedIn, name: str) -> HttpResponse:
    """`?group=7` shows the images behind a group's point, `?run=12` the numbers of another embedding run."""
    study = led_study(request, name)
    own, others = _runs(request, study)
    context = {
        "study": study,
        "runs": own + others,
        "simulated": frames.holds_simulated(study),
        "makes": policies.may_make_images(request.user),
    }
    embedded = _chosen(request, own, others)
    if embedded is None:
        context["made"] = pages.made_so_far(study)
        return render(request, "metrics/pull.html", context)
    asked = {"run": request.GET["run"]} if request.GET.get("run") else {}
    run, fresh = _scores(study, asked)
    sort = request.GET.get("sort", "x")
    if sort not in pages.COLUMNS:
        sort = "x"
    descending = request.GET.get("dir", first_direction(sort, pages.WORDS)) == "desc"
    by = request.GET.get("by", BY[0])
    page = pages.pull_page(run, embedded, sort=sort, descending=descending) if run is not None else None
    row = _row(request, page)
    region = request.GET.get("region", "")
    context |= {
        "embedded": embedded,
        "run": run,
        "fresh": fresh,
        "page": page,
        "rows": [each for each in page.rows if region in {"", each.region}] if page else [],
        "region": region,
        "sort": sort,
        "direction": "desc" if descending else "asc",
        "columns": headings(request, pages.COLUMNS, sort=sort, descending=descending, words=pages.WORDS),
        "names": pages.COLUMNS,
        "by": by if by in BY else BY[0],
        "views": [(each, changed(request, by=each)) for each in BY],
        "figure_query": urlencode({"by": by if by in BY else BY[0], **asked}),
        "kept": urlencode({key: request.GET[key] for key in _CHOICES if request.GET.get(key)}),
        "row": row,
        "behind": pages.images_behind(embedded, row, page=whole_number(request.GET.get("page", "1")))
        if row
        else None,
        "sees_images": policies.may_see_set(request.user, embedded.image_set),
    }
    return render(request, "metrics/pull.html", context)


def _runs(request: LoggedIn, study: Study) -> tuple[list[Run], list[Run]]:
    """The study's own embedding runs, and the others that may be looked at: all, for who makes images."""
    own = list(frames.embedding_runs(study))
    if not policies.may_make_images(request.user):
        return own, []
    return own, list(frames.finished_runs().exclude(pk__in=[run.pk for run in own]))


def _chosen(request: HttpRequest, own: list[Run], others: list[Run]) -> Run | None:
    """The run that is asked for by its number, else the study's newest; None if the study has none."""
    asked = request.GET.get("run", "")
    if not asked:
        return own[0] if own else None
    chosen = [run for run in own + others if str(run.pk) == asked]
    if not chosen:
        raise Http404("There is no such embedding run to look at.")
    return chosen[0]


def _scores(study: Study, asked: dict[str, str]) -> tuple[ScoreRun | None, Freshness]:
    """The newest scores, and the run that was asked for if they are not of today's embeddings: to find that
    out is quick here, where no answers are counted."""
    latest = queries.latest_run(study, "pull", Variant.CORRECTED, asked)
    if not latest.stale:
        return latest.run, Freshness()
    wanted = score_runs.request(study=study, metric="pull", variant=Variant.CORRECTED, parameters=asked)
    tasks.ring(wanted)
    return latest.run, Freshness(
        waiting=(wanted,) if wanted.state in {RunState.PENDING, RunState.CLAIMED} else (),
        failed=(wanted,) if wanted.state == RunState.FAILED else (),
        stale=True,
    )


def _row(request: HttpRequest, page: pages.PullPage | None) -> pages.PullRow | None:
    """The group whose images are asked for; Http404 for one that has no scores."""
    asked = request.GET.get("group", "")
    if not asked or page is None:
        return None
    for row in page.rows:
        if row.group is not None and row.group.pk == whole_number(asked):
            return row
    raise Http404("No pull of this group is known.")
