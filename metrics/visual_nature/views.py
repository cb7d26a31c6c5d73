"""Pages of attributes: the table, and one attribute over all groups."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.core.requests import query_without_page
from annotation.models import Attribute, Study, TaskKind
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404
from metrics.core.tables import requested_order
from metrics.score_runs import freshness
from metrics.visual_nature import queries as pages

_TEXT_COLUMNS = frozenset({"text"})
_METRIC_OF_TASK = {TaskKind.VISUAL_NATURE: "visual_nature", TaskKind.DEPICTION: "likelihood"}


@require_safe
def attributes(request: HttpRequest, name: str) -> HttpResponse:
    study = get_study_or_404(request, name)
    order = requested_order(request, pages.COLUMNS, _TEXT_COLUMNS, default="text")
    search = request.GET.get("q", "")
    return render(
        request,
        "metrics/visual_nature/attributes.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "page": pages.attribute_table(
                study, search=search, order=order, page=request.GET.get("page", "1")
            ),
            "search": search,
            **order.context(request, pages.COLUMNS, _TEXT_COLUMNS),
            "pager": query_without_page(request),
            **_fresh(request, study),
        },
    )


@require_safe
def attribute(request: HttpRequest, name: str, attribute_id: int) -> HttpResponse:
    study = get_study_or_404(request, name)
    chosen = get_object_or_404(Attribute, pk=attribute_id)
    if not chosen.options.filter(unit__task__study=study).exists():
        raise Http404("This study does not ask about this attribute.")
    return render(
        request,
        "metrics/visual_nature/attribute.html",
        {
            "study": study,
            "simulated": has_simulated_answers(study),
            "page": pages.attribute_page(study, chosen),
            **_fresh(request, study),
        },
    )


def _fresh(request: HttpRequest, study: Study) -> dict[str, object]:
    """Context for checking whether the scores on the page are up to date."""
    kinds = {task.kind for task in study.tasks.all()}
    wanted = freshness.default_requests(metric for kind, metric in _METRIC_OF_TASK.items() if kind in kinds)
    return freshness.page_context(request, study, wanted)
