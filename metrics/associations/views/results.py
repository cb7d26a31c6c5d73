"""Pages: the figures of a run's associations, two sides compared, and planning their judgements."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.leases import JobState
from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.runs.planning_page import preview_or_start
from metrics.associations.comparison import LISTS, compare
from metrics.associations.figures import FIGURES, association_figure
from metrics.associations.judgements import FIELDS, LEVEL, SENTIMENT, TOXICITY, judged
from metrics.associations.results_forms import FORMS, VARIANTS, CompareForm, variant_of
from metrics.associations.summary import summary
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.tables import url_with
from metrics.models import AssociationList

PER_PAGE = 100
ASKED: dict[str, Promise] = {
    SENTIMENT: _("Ask a classifier whether they are negative"),
    TOXICITY: _("Ask a classifier whether they are toxic"),
    LEVEL: _("Ask a model how biased they are"),
}
TITLES: dict[str, Promise] = {
    "shared": _("Shared"),
    "only_here": _("Only the first"),
    "only_there": _("Only the second"),
}


@image_makers_only
@require_safe
def association_figures(request: LoggedIn, pk: int) -> HttpResponse:
    """Shares and levels of a run by dimension and setting; `?variant=published` takes the other variant."""
    found, variant = _list_or_404(pk), variant_of(request.GET.get("variant"))
    rows = summary(found, variant=variant)
    drawn = []
    for name in FIGURES:
        figure = association_figure(found, rows, name, variant=variant)
        context = figure_context(figure, _figure_url(found, name, variant)) if figure else {}
        drawn.append({"name": name, **context})
    context = {
        "run": found.run,
        "list": found,
        "variant": variant,
        "variants": [(value, label, url_with(request, variant=value)) for value, label in VARIANTS],
        "figures": drawn,
        "judged": [(what, ASKED[what], judged(found.run, what)) for what in FIELDS],
    }
    return render(request, "metrics/associations/figures.html", context)


@image_makers_only
@require_safe
def association_figure_file(request: LoggedIn, pk: int, figure: str, fmt: str) -> HttpResponse:
    """The file of a figure; with `?download` the browser saves it."""
    found, variant = _list_or_404(pk), variant_of(request.GET.get("variant"))
    if figure not in FIGURES:
        raise Http404(f"There is no figure '{figure}'.")
    rows = summary(found, variant=variant)
    drawn = association_figure(found, rows, figure, variant=variant)
    if drawn is None:
        raise Http404("Nothing was judged yet.")
    return figure_response(request, drawn, fmt, filename=f"{found.run.name}-{figure}-{variant}")


@image_makers_only
@require_safe
def compare_associations(request: LoggedIn) -> HttpResponse:
    """`?here=7&there=9&here_setting=t2t-noun&variant=published` compares; `?list=only_here` shows another
    list of pairs."""
    form = CompareForm(request.GET or None)
    context: dict[str, Any] = {"form": form, "show_words": request.session.get("show_words")}
    if form.is_valid():
        here, there = form.sides()
        found = compare(
            here,
            there,
            variant=form.cleaned_data["variant"],
        )
        which = request.GET.get("list", LISTS[0])
        which = which if which in LISTS else LISTS[0]
        pages = Paginator(found.lists[which], PER_PAGE)
        page = pages.get_page(request.GET.get("page"))
        query = request.GET.copy()
        query.pop("page", None)
        context |= {
            "found": found,
            "sides": [(here, found.here), (there, found.there)],
            "which": which,
            "lists": [
                (name, TITLES[name], len(found.lists[name]), url_with(request, list=name, page="1"))
                for name in LISTS
            ],
            "page": page,
            "pairs": found.pairs(which, max(0, page.start_index() - 1), PER_PAGE),
            "query": f"{query.urlencode()}&",
        }
    return render(request, "metrics/associations/compare.html", context)


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_judgements(request: LoggedIn, pk: int, what: str) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    found = _list_or_404(pk)
    if what not in FORMS:
        raise Http404(f"Nothing called '{what}' is asked.")
    data = request.POST if request.method == "POST" else None
    form = FORMS[what](data, found=found, user=request.user, what=what)
    context: dict[str, Any] = {}
    if form.is_bound:
        started, context = preview_or_start(request, form)
        if started is not None:
            return redirect("run", pk=started.pk)
    context |= {
        "form": form,
        "run": found.run,
        "what": what,
        "heading": ASKED[what],
        "show_words": request.session.get("show_words"),
    }
    return render(request, "metrics/associations/judge.html", context, status=422 if form.errors else 200)


def _figure_url(found: AssociationList, name: str, variant: str) -> Any:
    query = f"?{urlencode({'variant': variant})}"
    return lambda fmt: reverse("association_figure", args=[found.run_id, name, fmt]) + query


def _list_or_404(pk: int) -> AssociationList:
    """The list of a run whose associations are found."""
    return get_object_or_404(AssociationList.objects.select_related("run"), run=pk, state=JobState.DONE)
