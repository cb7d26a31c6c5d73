"""The league of any number of models or studies: its page and its table as CSV."""

import csv
from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.csv_text import safe_cell
from annotation.core.requests import LoggedIn
from annotation.models import Study, TaskKind
from metrics.core.answers import has_simulated_answers
from metrics.core.tables import requested_order
from metrics.league import protocols, queries
from metrics.league.access import kind_of, kinds_of, led_studies
from metrics.league.kinds import DEPICTION, KINDS, Kind
from metrics.league.queries import League
from metrics.league.rows import Row
from metrics.models import ScoreRun, Variant
from metrics.score_runs import freshness
from metrics.score_runs import queries as score_runs

_TEXT = frozenset({"name"})
_MOST = 200
"""Groups or attributes in a table; the API has all."""


@require_safe
def league(request: LoggedIn, /) -> HttpResponse:
    """`?study=` names a study that the account leads, and can be repeated; `?of=` is the kind of task that is
    compared, by default the first that all have. One study with several image sets is several models.
    `?sort=` and `?dir=` order the table."""
    led = list(policies.studies_led_by(request.user).prefetch_related("tasks").order_by("title", "pk"))
    if not policies.is_admin(request.user) and not led:
        raise Http404
    names, task = _names(request), request.GET.get("of", "")
    offered = [(kind, [study for study in led if kind in kinds_of(study)]) for kind in KINDS.values()]
    if names:
        studies = led_studies(request.user, names)
        kind = kind_of(studies, task)
    else:
        studies, kind = [], _first_kind(offered, task)
    context: dict[str, object] = {
        "kind": kind,
        "kinds": [(one, TaskKind(one.task).label) for one, there in offered if there or one == kind],
        "offered": dict(offered)[kind],
        "chosen": names,
    }
    if studies:
        context |= _chosen(request, kind, studies)
    return render(request, "metrics/league/league.html", context)


def _first_kind(offered: Sequence[tuple[Kind, Sequence[Study]]], task: str) -> Kind:
    """The kind of league that is asked for, else the first with two studies, else with one."""
    if task:
        return kind_of([], task)
    most = sorted(offered, key=lambda pair: -min(len(pair[1]), 2))
    return most[0][0]


def _columns(kind: Kind) -> dict[str, str | Promise]:
    return {
        "name": _("Model") if kind.of_models else _("Study"),
        **({"images": _("Images")} if kind.of_models else {}),
        "people": _("People"),
        "answers": _("Answers"),
        **dict(zip(kind.scores, kind.headings, strict=True)),
    }


def _chosen(request: LoggedIn, kind: Kind, studies: Sequence[Study]) -> dict[str, object]:
    study, parameters = queries.anchor(studies), queries.parameters(studies)
    wanted = [(kind.metric, Variant.CORRECTED.value, parameters)]
    run = score_runs.newest_run(study, kind.metric, Variant.CORRECTED, parameters)
    found = queries.stored_league(kind, run, studies) if run is not None else None
    columns = _columns(kind)
    order = requested_order(request, columns, _TEXT, default=kind.scores[0])
    different = protocols.differences(studies, kind.task)
    others = [("league", one.name) for one in studies if one != study]
    if kind != DEPICTION:
        others.append(("league_of", kind.task))
    return {
        **order.context(request, columns, _TEXT),
        "study": study,
        "studies": studies,
        "simulated": has_simulated_answers(*studies),
        "run": run,
        "league": found,
        "rows": [
            (row, list(zip(row.numbers, found.column_axes.values(), strict=True)))
            for row in order.sorted(found.rows, _sort_value)
        ]
        if found
        else [],
        "units": [
            (row, [list(zip(cell, found.unit_axes, strict=True)) for cell in row.cells])
            for row in found.units[:_MOST]
        ]
        if found
        else [],
        "missing": _missing(studies, found),
        "matters": [one for one in different if one.matters],
        "different": different,
        "fresh": freshness.check(study, wanted) if "check" in request.GET else None,
        "freshness_query": freshness.query_string(wanted, extra=others),
        "check_query": urlencode([("study", one.name) for one in studies] + [("of", kind.task)]),
        "may_create": policies.may_create_studies(request.user),
    }


def _names(request: HttpRequest) -> list[str]:
    return sorted({name for name in request.GET.getlist("study") if name})


def _missing(studies: Sequence[Study], found: League | None) -> list[Study]:
    """The studies without answers, which have no row."""
    there = {row.study.pk for row in found.rows} if found else set()
    return [one for one in studies if found and one.pk not in there]


def _sort_value(row: Row, column: str) -> str | float | None:
    if column == "name":
        return f"{row.label} {row.study.title}".casefold()
    if column in row.kind.scores:
        return row.scores[column].value if column in row.scores else None
    value: int | None = getattr(row, column)
    return value


@require_safe
def league_csv(request: LoggedIn, /) -> HttpResponse:
    """The stored league table of the studies `?study=`, of the kind `?of=`; only its heading where there is
    none yet."""
    names = _names(request)
    if not names:
        raise Http404("Name at least one study.")
    studies = led_studies(request.user, names)
    kind = kind_of(studies, request.GET.get("of", ""))
    run = score_runs.newest_run(
        queries.anchor(studies), kind.metric, Variant.CORRECTED, queries.parameters(studies)
    )
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="league.csv"'
    writer = csv.writer(response, lineterminator="\n")
    scores = [*kind.scores, *kind.also, *kind.ranks.values()]
    about = ("study", "image_set", "model", "images") if kind.of_models else ("study",)
    bounds = [f"{name}{end}" for name in scores for end in ("", "_low", "_high")]
    writer.writerow([*about, "people", "answers", kind.units, "left_out", *bounds])
    for row in _csv_rows(kind, scores, run, studies):
        writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return response


def _csv_rows(
    kind: Kind, scores: Sequence[str], run: ScoreRun | None, studies: Sequence[Study]
) -> list[list[str | float | None]]:
    if run is None:
        return []
    found = queries.stored_league(kind, run, studies)
    left_out = "; ".join(f"{one.name}: {one.reason}" for one in found.left_out)
    rows = []
    for row in found.rows:
        cells: list[str | float | None] = [row.study.name]
        if kind.of_models:
            cells += [row.set_name, row.model_name, row.images]
        cells += [row.people, row.answers, found.compared, left_out]
        for name in scores:
            score = row.scores.get(name)
            cells += [None] * 3 if score is None else [score.value, score.low, score.high]
        rows.append(cells)
    return rows
