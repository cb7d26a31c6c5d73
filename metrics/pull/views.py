"""The pull explorer: the figure, the scores of each group, and its images."""

from collections.abc import Mapping
from urllib.parse import urlencode

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
from metrics.core.studies import get_study_or_404
from metrics.core.tables import parse_id, requested_order, url_with
from metrics.models import ScoreRun, Variant
from metrics.pull import queries as pages
from metrics.pull.data import embedding_runs, finished_runs
from metrics.pull.figures import BY, POINTS, published_groups
from metrics.score_runs import contrasts, freshness, queries
from metrics.score_runs import services as score_runs
from metrics.score_runs.tasks import enqueue

_COMPARED = contrasts.NAMES["pull_contrast"]
_QUERY_PARAMETERS = ("sort", "dir", "region", "by", "points", "run", "with", "number")


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
    if not own and not request.GET.get("run"):
        context["made"] = pages.image_set_status(study)
        return render(request, "metrics/pull/pull.html", context)
    parameters = {"run": request.GET["run"]} if request.GET.get("run") else {}
    embedded = _chosen_run(own + others, parameters["run"]) if parameters else own[0]
    comparable = pages.comparable_runs(embedded, pages.visible_runs(request.user, study))
    other = _chosen_run(comparable, request.GET["with"]) if request.GET.get("with") else None
    requests = {"pull": parameters, "pull_contrast": parameters}
    if other is not None:
        requests["pull_difference"] = {"by": "run", "first": str(embedded.pk), "second": str(other.pk)}
    found, fresh = _scores(study, requests)
    run = found["pull"]
    order = requested_order(request, pages.COLUMNS, pages.TEXT_COLUMNS, default="x")
    page = pages.pull_page(run, embedded, order) if run is not None else None
    row = _group_row(request, page)
    region = request.GET.get("region", "")
    context |= {
        "embedded": embedded,
        "run": run,
        "fresh": fresh,
        "page": page,
        "rows": [each for each in page.rows if region in {"", each.region}] if page else [],
        "region": region,
        **order.context(request, pages.COLUMNS, pages.TEXT_COLUMNS),
        "names": pages.COLUMNS,
        **_figure_context(request, page, parameters),
        "kept": urlencode({key: request.GET[key] for key in _QUERY_PARAMETERS if request.GET.get(key)}),
        "row": row,
        "behind": pages.group_images(embedded, row, page=parse_id(request.GET.get("page", "1")))
        if row
        else None,
        "sees_images": embedded.image_set is not None
        and policies.may_see_set(request.user, embedded.image_set),
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


def _chosen_run(runs: list[Run], run_id: str) -> Run:
    for run in runs:
        if str(run.pk) == run_id:
            return run
    raise Http404("There is no such embedding run.")


def _run_label(run: Run) -> str:
    label = gettext("run %(number)s") % {"number": run.pk}
    return f"{run.image_set.name if run.image_set else run.backend} ({label})"


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
    number = number if number in _COMPARED else _COMPARED[0]
    contrast_run, difference_run = found["pull_contrast"], found.get("pull_difference")
    against = contrasts.contrasts([contrast_run], _COMPARED) if contrast_run else []
    return {
        "contrast_run": contrast_run,
        "contrast_columns": [pages.COLUMNS[one] for one in _COMPARED],
        "against_regions": [row for row in against if row.group is None],
        "against_groups": [row for row in against if row.group is not None],
        "difference_run": difference_run,
        "compared": compare.comparison_rows(difference_run, [number]) if difference_run else [],
        "compared_columns": [(pages.COLUMNS[number], _("Difference"))],
        "number": number,
        "numbers": [(one, pages.COLUMNS[one], url_with(request, number=one)) for one in _COMPARED],
    }


def _scores(
    study: Study, requests: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, ScoreRun | None], freshness.Freshness]:
    """The newest scores of each metric, and the state of newly requested runs if they are stale or have other
    intervals than the study has chosen. Checking
    this is fast, because no answers are counted."""
    with snapshot():
        latest = {
            metric: queries.latest_run(study, metric, Variant.CORRECTED, parameters)
            for metric, parameters in requests.items()
        }
    requested = []
    for metric, parameters in requests.items():
        known = latest[metric].run
        if known is None or latest[metric].stale or not queries.has_chosen_intervals(study, known):
            run = score_runs.request(
                study=study, metric=metric, variant=Variant.CORRECTED, parameters=parameters
            )
            enqueue(run)
            requested.append(run)
    found = {metric: one.run for metric, one in latest.items()}
    return found, freshness.of_runs(requested, stale=bool(requested))


def _group_row(request: HttpRequest, page: pages.PullPage | None) -> pages.PullRow | None:
    """The group chosen in the URL; Http404 if it has no scores."""
    group_id = request.GET.get("group", "")
    if not group_id or page is None:
        return None
    for row in page.rows:
        if row.group is not None and row.group.pk == parse_id(group_id):
            return row
    raise Http404("This group has no pull scores.")
