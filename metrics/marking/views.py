"""Pages of marking: image sets, and the share of texts that name the group by run."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.image_sets.access import get_visible_image_set
from generation.recipes.recipes import FAKE
from metrics.core.access import catalogue_readers_only, of_visible_sets
from metrics.core.figure_files import figure_context, figure_response
from metrics.marking import queries
from metrics.marking.data import sets_with_texts
from metrics.marking.figures import marking_figure
from metrics.marking.forms import MarkingForm

SETS_PER_PAGE = 30


@catalogue_readers_only
@require_safe
def marking(request: LoggedIn) -> HttpResponse:
    sets = of_visible_sets(request, sets_with_texts(), by="pk")
    page = Paginator(sets, SETS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "makes": policies.may_make_images(request.user)}
    return render(request, "metrics/marking/marking.html", context)


@catalogue_readers_only
@require_safe
def marking_of_set(request: LoggedIn, name: str) -> HttpResponse:
    """`?words=Asian: asian&nouns=person&alone=on&all_ranks=on`: what is looked for, and where."""
    image_set = get_visible_image_set(request, name)
    form = MarkingForm(request.GET, image_set=image_set)
    context: dict[str, Any] = {
        "image_set": image_set,
        "form": form,
        "makes": policies.may_make_images(request.user),
    }
    if not form.is_valid():
        return render(request, "metrics/marking/marking_of_set.html", context, status=422)
    found = queries.results(image_set, form.choice())
    figure = marking_figure(image_set, found)
    context |= {
        "found": found,
        "sentences": queries.sentences(found),
        "simulated": any(row.run.backend == FAKE for row in found),
    }
    if figure is not None:
        query = f"?{urlencode(form.given)}" if form.given else ""
        context |= figure_context(figure, lambda fmt: reverse("marking_figure", args=[name, fmt]) + query)
    return render(request, "metrics/marking/marking_of_set.html", context)


@catalogue_readers_only
@require_safe
def marking_figure_file(request: LoggedIn, name: str, fmt: str) -> HttpResponse:
    """The file of a set's figure; with `?download` the browser saves it."""
    image_set = get_visible_image_set(request, name)
    form = MarkingForm(request.GET, image_set=image_set)
    if not form.is_valid():
        return redirect("marking_of_set", name=name)
    rows = queries.results(image_set, form.choice())
    figure = marking_figure(image_set, rows)
    if figure is None:
        raise Http404("There is no text yet.")
    return figure_response(request, figure, fmt, filename=f"marking-{name}")
