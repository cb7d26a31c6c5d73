"""The planning page, its figure and its files, for leads only."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.core.code_version import code_version
from metrics.core.figure_files import figure_context, figure_response
from metrics.planning import plan_form, queries, sentences
from metrics.planning.curves import PlanResult
from metrics.planning.figures import plan_figure
from metrics.planning.plan_form import PlanForm
from metrics.planning.queries import Planned
from metrics.planning.stats import POWER

FILES = {"txt": "text/plain; charset=utf-8", "csv": "text/csv; charset=utf-8"}


@require_safe
def plan_study(request: HttpRequest, name: str) -> HttpResponse:
    """The form with what is expected of the study it describes; without parameters, of the defaults."""
    planned = queries.planned_or_404(request.user, name)
    form = _form(request, planned)
    context: dict[str, Any] = {
        "planned": planned,
        "study": planned.study,
        "form": form,
        "size": plan_form.fields_of(form, plan_form.SIZE),
        "shares": plan_form.fields_of(form, plan_form.SHARES),
        "spread": plan_form.fields_of(form, plan_form.SPREAD),
        "work": plan_form.fields_of(form, plan_form.WORK),
    }
    if form.is_valid() and form.result is not None:
        result = form.result
        query = urlencode(form.resolved(), doseq=True)
        with_pilot = urlencode({**form.resolved(), **_pilot_of(form)}, doseq=True)
        context |= {
            "result": result,
            "expected": _shown(form),
            "power": _per_cent(result.chosen.values.get(POWER)),
            "size_of_difference": 100 * result.plan.difference,
            "pilot": form.pilot_found,
            "paragraph": _paragraph(form),
            "files": [
                (file_format, f"{reverse('plan_file', args=[name, file_format])}?{with_pilot}")
                for file_format in FILES
            ],
            **figure_context(
                plan_figure(result, planned.title),
                lambda fmt: f"{reverse('plan_figure', args=[name, fmt])}?{query}",
            ),
        }
    return render(request, "metrics/planning/plan.html", context, status=422 if form.errors else 200)


@require_safe
def plan_figure_file(request: HttpRequest, name: str, fmt: str) -> HttpResponse:
    """The file of a plan's figure; with `?download` the browser saves it."""
    planned = queries.planned_or_404(request.user, name)
    figure = plan_figure(_valid(_form(request, planned)), planned.title)
    return figure_response(request, figure, fmt, filename=f"{name}-plan")


@require_safe
def plan_file(request: HttpRequest, name: str, fmt: str) -> HttpResponse:
    """The paragraph for a preregistration, or the table as CSV."""
    planned = queries.planned_or_404(request.user, name)
    if fmt not in FILES:
        raise Http404(f"There is no format '{fmt}'.")
    form = _form(request, planned)
    result = _valid(form)
    text = _paragraph(form) if fmt == "txt" else sentences.as_csv(result)
    response = HttpResponse(text, content_type=FILES[fmt])
    response["Content-Disposition"] = f'attachment; filename="{name}-plan.{fmt}"'
    return response


def _form(request: HttpRequest, planned: Planned) -> PlanForm:
    given: dict[str, Any] = {name: value for name, value in request.GET.items() if name != "measures"}
    if "measures" in request.GET:
        given["measures"] = request.GET.getlist("measures")
    return PlanForm({**plan_form.initial(planned), **given}, pilots=queries.pilots(request.user))


def _valid(form: PlanForm) -> PlanResult:
    if not form.is_valid() or form.result is None:
        raise Http404("These numbers are not a plan.")
    return form.result


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _pilot_of(form: PlanForm) -> dict[str, str]:
    pilot = form.cleaned_data["pilot"]
    return {} if pilot is None else {"pilot": pilot.name}


def _paragraph(form: PlanForm) -> str:
    assert form.result is not None
    return sentences.paragraph(form.result, version=code_version(), pilot=form.pilot_found)


def _shown(form: PlanForm) -> list[tuple[Any, str, str, float]]:
    """Name, expected value, half-width, and per cent of studies without an interval of each measure."""
    assert form.result is not None
    result = form.result
    return [
        (
            plan_form.MEASURE_NAMES[name],
            sentences.value_shown(name, result.true_values[name]),
            sentences.shown(name, result.chosen.values[name]),
            100 * result.undefined[name],
        )
        for name in result.measures
    ]
