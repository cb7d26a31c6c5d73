"""Pages: runs with associations, those of a run, of a descriptor, and the sentences behind one."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation.core.leases import JobState
from annotation.core.requests import LoggedIn
from annotation.models import IdentityGroup
from generation.core.access import image_makers_only
from generation.models import Run
from metrics.associations import queries
from metrics.associations.askings import Setting
from metrics.associations.evaluation import AssociationsRefused, check_run
from metrics.associations.services import lists
from metrics.associations.study_forms import FilterForm, StudyForm
from metrics.associations.tasks import enqueue
from metrics.core.drafts import to_draft
from metrics.core.tables import requested_order
from metrics.models import AssociationList, ModelAssociation, Variant

PER_PAGE = 100
RUNS_PER_PAGE = 30
_TEXT_COLUMNS = frozenset({"descriptor", "dimension", "word", "setting"})
_FIELDS: Mapping[Variant, Mapping[str, str]] = {
    Variant.PUBLISHED: {"tf": "tf", "df": "df", "score": "score", "p": "p_value", "z": "z", "q": "q"},
    Variant.CORRECTED: {
        "tf": "corrected_tf",
        "df": "corrected_df",
        "score": "corrected_score",
        "p": "p_value",
        "z": "z",
        "q": "q",
    },
}
"""Column of the table -> field, by variant."""
_COLUMNS = {
    "dimension": gettext_lazy("Dimension"),
    "descriptor": gettext_lazy("Descriptor"),
    "word": gettext_lazy("Word"),
    "setting": gettext_lazy("Setting"),
    "tf": "tf",
    "df": "df",
    "score": gettext_lazy("Score"),
    "p": "p",
    "z": "z",
    "q": "q",
}
_SORTED_BY = {"dimension": "group__axis", "descriptor": "group__name", "word": "word", "setting": "setting"}


@image_makers_only
@require_safe
def association_runs(request: LoggedIn) -> HttpResponse:
    """All runs whose answers hold associations."""
    page = Paginator(queries.association_runs(), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "metrics/associations/runs.html", {"page": page, "here": "associations"})


@image_makers_only
@require_safe
def associations(request: LoggedIn, pk: int) -> HttpResponse:
    """The associations of a run: what was read, and a table to search and sort."""
    run = run_or_404(pk)
    found = AssociationList.objects.filter(run=run).select_related("run").first()
    context: dict[str, Any] = {"run": run, "list": found, "here": "associations"}
    if found is None or found.state != JobState.DONE:
        return render(request, "metrics/associations/associations.html", context)
    form = FilterForm(request.GET, settings=[setting for setting, _ in queries.settings_of(found)])
    choice = form.choice()
    context |= {
        "stale": lists.is_stale(found),
        "settings": queries.settings_of(found),
        "dimensions": queries.dimension_rows(found),
        "form": form,
        "study_form": StudyForm(run=run),
        **_table(request, found, choice),
    }
    return render(request, "metrics/associations/associations.html", context)


@image_makers_only
@require_safe
def descriptor(request: LoggedIn, pk: int, group: int) -> HttpResponse:
    """Everything that was said of one descriptor."""
    run = run_or_404(pk)
    found = _finished_or_404(run)
    about = get_object_or_404(IdentityGroup, pk=group)
    data = request.GET.copy()
    data.setdefault("show", "all")
    form = FilterForm(data, settings=[setting for setting, _ in queries.settings_of(found)])
    context = {
        "run": run,
        "list": found,
        "group": about,
        "others": [each for each in queries.groups_of_name(run, about) if each != about],
        "form": form,
        "here": "associations",
        **_table(request, found, form.choice(group=group)),
    }
    return render(request, "metrics/associations/descriptor.html", context)


@image_makers_only
@require_safe
def association(request: LoggedIn, pk: int, pair: int) -> HttpResponse:
    """The sentences behind one word."""
    run = run_or_404(pk)
    rows = ModelAssociation.objects.select_related("group", "association_list__run")
    one = get_object_or_404(rows.annotate(known=queries.is_known()), pk=pair, association_list__run=run)
    context = {
        "run": run,
        "one": one,
        "setting": Setting(one.setting),
        "answers": queries.answers_with(one),
        "here": "associations",
        **_words_shown(request),
    }
    return render(request, "metrics/associations/association.html", context)


@image_makers_only
@require_POST
def association_action(request: LoggedIn, pk: int, action: str) -> HttpResponse:
    """Find the associations (again), or create the draft of a study about some."""
    run = run_or_404(pk)
    back = reverse("model_associations", args=[pk])
    try:
        if action == "find":
            lists.retry(run=run)
            enqueue(lists.request(run=run))
        elif action == "study":
            form = StudyForm(request.POST, run=run)
            if not form.is_valid():
                errors = [str(error) for each in form.errors.values() for error in each]
                raise AssociationsRefused(" ".join(errors))
            study = form.create(found=_finished_or_404(run), by=request.user)
            return to_draft(request, study)
        else:
            raise Http404
    except AssociationsRefused as refused:
        messages.error(request, str(refused))
    return redirect(back)


@image_makers_only
@require_POST
def show_words(request: LoggedIn) -> HttpResponse:
    """Show the words that models gave, or blur them again, until the end of the session."""
    request.session["show_words"] = request.POST.get("show") == "yes"
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = reverse("association_runs")
    return redirect(back)


def run_or_404(pk: int) -> Run:
    run = get_object_or_404(Run, pk=pk)
    try:
        check_run(run)
    except AssociationsRefused as refused:
        raise Http404 from refused
    return run


def _finished_or_404(run: Run) -> AssociationList:
    return get_object_or_404(AssociationList.objects.select_related("run"), run=run, state=JobState.DONE)


def _words_shown(request: LoggedIn) -> dict[str, Any]:
    return {"show_words": bool(request.session.get("show_words"))}


def _table(request: LoggedIn, found: AssociationList, choice: queries.Choice) -> dict[str, Any]:
    fields = {**_SORTED_BY, **_FIELDS[choice.variant]}
    default = "z" if choice.variant == Variant.CORRECTED else "score"
    order = requested_order(request, _COLUMNS, _TEXT_COLUMNS, default=default)
    by = F(fields[order.column])
    ordered = by.desc(nulls_last=True) if order.descending else by.asc(nulls_last=True)
    page = Paginator(queries.chosen(found, choice).order_by(ordered, "pk"), PER_PAGE).get_page(
        request.GET.get("page")
    )
    numbers = _FIELDS[choice.variant]
    rows = [
        (row, Setting(row.setting), {column: getattr(row, field) for column, field in numbers.items()})
        for row in page.object_list
    ]
    query = request.GET.copy()
    query.pop("page", None)
    return {
        "page": page,
        "rows": rows,
        "variant": choice.variant,
        "query": f"{query.urlencode()}&" if query else "",
        **_words_shown(request),
        **order.context(request, _COLUMNS, _TEXT_COLUMNS),
    }
