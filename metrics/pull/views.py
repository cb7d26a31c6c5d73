"""The pull explorer: the figure, the scores of each group, and its images."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import Study
from generation.models import Run
from metrics.comparisons import queries as compare
from metrics.core.answers import has_simulated_answers
from metrics.core.fingerprints import snapshot
from metrics.core.request_parameters import parse_id
from metrics.core.study_access import get_study_or_404
from metrics.core.tables import default_direction, headings, url_with
from metrics.models import RunState, ScoreRun, Variant
from metrics.pull.data import embedding_runs, finished_runs
from metrics.pull.figures import BY, POINTS, published_groups
from metrics.pull.queries import comparable_runs as comparisons
from metrics.pull.queries import pull as pages
from metrics.score_runs import contrasts, queries
from metrics.score_runs import services as score_runs
from metrics.score_runs.freshness import Freshness
from metrics.score_runs.tasks import enqueue

_QUERY_PARAMETERS = ("sort", "dir", "region", "by", "points", "run", "with", "number")


@login_required
@require_safe
def pull(request: LoggedIn, name: str) -> HttpResponse:
    """`?group=7` shows the images of a group, `?run=12` the scores of another embedding run, `?with=13`
    compares with that run, and `?number=s_d_s` chooses the score to compare."""
    study = get_study_or_404(request, name)
    own, others = _runs(request, study)
    context = {
        "study": study,
        "runs": own + others,
        "simulated": has_simulated_answers(study),
        "makes": policies.may_make_images(request.user),
    }
    embedded = _embedding_run(request, own, others)
    if embedded is None:
        context["made"] = pages.image_set_status(study)
        return render(request, "metrics/pull/pull.html", context)
    parameters = {"run": request.GET["run"]} if request.GET.get("run") else {}
    comparable = comparisons.comparable_runs(embedded, _visible_runs(request, study))
    other = _comparison_run(request, comparable)
    requests = {"pull": parameters, "pull_contrast": parameters}
    if other is not None:
        requests["pull_difference"] = comparisons.comparison_parameters(embedded, other)
    found, fresh = _scores(study, requests)
    run = found["pull"]
    sort = request.GET.get("sort", "x")
    if sort not in pages.COLUMNS:
        sort = "x"
    descending = request.GET.get("dir", default_direction(sort, pages.TEXT_COLUMNS)) == "desc"
    page = pages.pull_page(run, embedded, sort=sort, descending=descending) if run is not None else None
    row = _group_row(request, page)
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
        "columns": headings(
            request, pages.COLUMNS, sort=sort, descending=descending, text_columns=pages.TEXT_COLUMNS
        ),
        "names": pages.COLUMNS,
        **_figure_context(request, page, parameters),
        "kept": urlencode({key: request.GET[key] for key in _QUERY_PARAMETERS if request.GET.get(key)}),
        "row": row,
        "behind": pages.group_images(embedded, row, page=parse_id(request.GET.get("page", "1")))
        if row
        else None,
        "sees_images": policies.may_see_set(request.user, embedded.image_set),
        "comparable_runs": comparable,
        "other": other,
        "first_name": _run_label(embedded),
        "second_name": _run_label(other) if other is not None else "",
        **_comparison_context(request, found),
    }
    return render(request, "metrics/pull/pull.html", context)


def _runs(request: LoggedIn, study: Study) -> tuple[list[Run], list[Run]]:
    """The study's own embedding runs, and the others that the user may see: all, if they may generate
    images."""
    own = list(embedding_runs(study))
    if not policies.may_make_images(request.user):
        return own, []
    return own, list(finished_runs().exclude(pk__in=[run.pk for run in own]))


def _visible_runs(request: LoggedIn, study: Study) -> list[Run]:
    led = policies.studies_led_by(request.user)
    return comparisons.visible_runs(study, led, every=policies.may_make_images(request.user))


def _embedding_run(request: HttpRequest, own: list[Run], others: list[Run]) -> Run | None:
    """The run chosen in the URL, or the study's newest; None if the study has none."""
    run_id = request.GET.get("run", "")
    if not run_id:
        return own[0] if own else None
    chosen = [run for run in own + others if str(run.pk) == run_id]
    if not chosen:
        raise Http404("There is no such embedding run.")
    return chosen[0]


def _run_label(run: Run) -> str:
    label = gettext("run %(number)s") % {"number": run.pk}
    return f"{run.image_set.name if run.image_set else run.backend} ({label})"


def _comparison_run(request: HttpRequest, comparable: list[Run]) -> Run | None:
    """The run to compare with, if chosen in the URL."""
    run_id = request.GET.get("with", "")
    if not run_id:
        return None
    for run in comparable:
        if str(run.pk) == run_id:
            return run
    raise Http404("There is no such embedding run to compare with.")


def _figure_context(
    request: HttpRequest, page: pages.PullPage | None, parameters: Mapping[str, str]
) -> dict[str, object]:
    """The chosen options of the figure, and the available ones. Published points are offered if they include
    a group that is reported here."""
    by, points = request.GET.get("by", BY[0]), request.GET.get("points", POINTS[0])
    reported = [row.group for row in page.rows if row.group is not None] if page else []
    offered = POINTS if published_groups(reported) else POINTS[:1]
    by, points = by if by in BY else BY[0], points if points in offered else POINTS[0]
    drawn = {"by": by} if points == POINTS[0] else {"by": by, "points": points}
    return {
        "by": by,
        "points": points,
        "views": [(each, url_with(request, by=each)) for each in BY],
        "points_offered": [(each, url_with(request, points=each)) for each in offered],
        "figure_query": urlencode({**drawn, **parameters}),
    }


def _comparison_context(request: HttpRequest, found: Mapping[str, ScoreRun | None]) -> dict[str, object]:
    """The contrasts of groups and regions, and the comparison with another run."""
    number = request.GET.get("number", "")
    number = number if number in comparisons.NUMBERS else comparisons.NUMBERS[0]
    contrast_run, difference_run = found["pull_contrast"], found.get("pull_difference")
    against = contrasts.contrasts([contrast_run], comparisons.NUMBERS) if contrast_run else []
    return {
        "contrast_run": contrast_run,
        "contrast_columns": [pages.COLUMNS[one] for one in comparisons.NUMBERS],
        "against_regions": [row for row in against if row.group is None],
        "against_groups": [row for row in against if row.group is not None],
        "difference_run": difference_run,
        "compared": compare.comparison_rows(difference_run, [number]) if difference_run else [],
        "compared_columns": [(pages.COLUMNS[number], _("Difference"))],
        "number": number,
        "numbers": [(one, pages.COLUMNS[one], url_with(request, number=one)) for one in comparisons.NUMBERS],
    }


def _scores(
    study: Study, requests: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, ScoreRun | None], Freshness]:
    """The newest scores of each metric, and the state of newly requested runs if they are stale. Checking
    this is fast, because no answers are counted."""
    with snapshot():
        latest = {
            metric: queries.latest_run(study, metric, Variant.CORRECTED, parameters)
            for metric, parameters in requests.items()
        }
    requested = []
    for metric, parameters in requests.items():
        if latest[metric].stale:
            run = score_runs.request(
                study=study, metric=metric, variant=Variant.CORRECTED, parameters=parameters
            )
            enqueue(run)
            requested.append(run)
    return {metric: one.run for metric, one in latest.items()}, Freshness(
        waiting=tuple(run for run in requested if run.state in {RunState.PENDING, RunState.CLAIMED}),
        failed=tuple(run for run in requested if run.state == RunState.FAILED),
        stale=bool(requested),
    )


def _group_row(request: HttpRequest, page: pages.PullPage | None) -> pages.PullRow | None:
    """The group chosen in the URL; Http404 if it has no scores."""
    group_id = request.GET.get("group", "")
    if not group_id or page is None:
        return None
    for row in page.rows:
        if row.group is not None and row.group.pk == parse_id(group_id):
            return row
    raise Http404("This group has no pull scores.")
