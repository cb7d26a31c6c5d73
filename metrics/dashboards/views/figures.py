"""Views of figures: the list, the page of a figure, and its files."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.models import Study
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.figure_sources import UnknownFigure
from metrics.core.studies import get_study_or_404
from metrics.dashboards.figures import FIGURES, draw_figure


@require_safe
def figure_list(request: HttpRequest, name: str) -> HttpResponse:
    """All figures; each is loaded separately, or says why it cannot be drawn."""
    study = get_study_or_404(request, name)
    return render(
        request,
        "metrics/dashboards/figures.html",
        {"study": study, "sources": FIGURES.items()},
    )


@require_safe
@vary_on_headers("HX-Request")
def figure_page(request: HttpRequest, name: str, figure: str) -> HttpResponse:
    """The page of one figure; for htmx requests, only the figure."""
    study = get_study_or_404(request, name)
    # an empty form field is ignored
    chosen = {option: value for option, value in request.GET.dict().items() if value}
    options = _options(figure, chosen)
    context = {
        "study": study,
        "name": figure,
        "source": FIGURES.get(figure),
        "options": options,
        "has_form": any(not option["choices"] for option in options),
        **_figure_context(study, figure, chosen),
    }
    partial = "HX-Request" in request.headers
    return render(
        request,
        "metrics/core/_figure_content.html" if partial else "metrics/dashboards/figure.html",
        context,
    )


@require_safe
def figure_file(request: HttpRequest, name: str, figure: str, fmt: str) -> HttpResponse:
    """The file of a figure; with `?download` the browser saves it."""
    study = get_study_or_404(request, name)
    try:
        chosen = {name: value for name, value in request.GET.dict().items() if name != "download"}
        drawing = draw_figure(study, figure, chosen)
    except ValueError as error:
        raise Http404(str(error)) from error
    return figure_response(request, drawing, fmt, filename=f"{study.name}-{figure}")


def _figure_context(study: Study, name: str, chosen: Mapping[str, str]) -> dict[str, object]:
    """The figure with the size of its picture, or the reason why it cannot be drawn. Http404 for an unknown
    figure."""
    try:
        drawing = draw_figure(study, name, chosen)
    except UnknownFigure as error:
        raise Http404(str(error)) from error
    except ValueError as error:
        return {"problem": str(error)}
    query = f"?{urlencode(chosen)}" if chosen else ""
    return figure_context(drawing, lambda fmt: reverse("figure", args=[study.name, name, fmt]) + query)


def _options(name: str, chosen: Mapping[str, str]) -> list[dict[str, object]]:
    """The figure's options, with a link for each allowed value."""
    source = FIGURES.get(name)
    if source is None:
        return []
    return [
        {
            "name": option,
            "meaning": meaning,
            "value": chosen.get(option, ""),
            "choices": [
                {
                    "value": value,
                    "link": f"?{urlencode({**chosen, option: value})}",
                    "current": value == chosen.get(option, source.choices[option][0]),
                }
                for value in source.choices.get(option, ())
            ],
        }
        for option, meaning in source.options.items()
    ]
