"""Pages: all image sets, one set as a gallery, and one image with its history."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.image_sets.access import get_visible_image, get_visible_image_set, visible_image_sets
from generation.image_sets.queries import sets
from generation.image_sets.queries.history import image_history
from generation.models.runs import PROMPT_SET_CHOICES
from generation.recipes.display import recipe_rows


@login_required
@require_safe
def image_set_list(request: LoggedIn) -> HttpResponse:
    may_generate = policies.may_make_images(request.user)
    if not may_generate and not policies.studies_led_by(request.user).exists():
        raise Http404
    page, rows = sets.image_set_page(
        visible_image_sets(request), user=request.user, page=request.GET.get("page")
    )
    context = {"page": page, "rows": rows, "may_generate": may_generate, "here": "sets"}
    return render(request, "generation/image_sets/image_sets.html", context)


@login_required
@require_safe
def image_set_gallery(request: LoggedIn, name: str) -> HttpResponse:
    image_set = get_visible_image_set(request, name)
    group, prompt_set = request.GET.get("group", ""), request.GET.get("prompts", "")
    gallery = sets.gallery(image_set, group=group, prompt_set=prompt_set, page=request.GET.get("page"))
    return render(
        request,
        "generation/image_sets/image_set.html",
        {
            "set": image_set,
            "gallery": gallery,
            "prompt_sets": [
                (name, gettext(dict(PROMPT_SET_CHOICES)[name]), number)
                for name, number in gallery.prompt_sets
            ],
            "page": gallery.page,
            "group": group,
            "prompt_set": prompt_set,
            "query": _query_without_page(request),
            "may_generate": policies.may_make_images(request.user),
            "studies": sets.studies_showing(image_set, user=request.user),
            "here": "set",
        },
    )


@login_required
@require_safe
def image_page(request: LoggedIn, pk: int) -> HttpResponse:
    image = get_visible_image(request, pk)
    history = image_history(image, user=request.user)
    run = history.provenance.run if history.provenance is not None else None
    return render(
        request,
        "generation/image_sets/image.html",
        {
            "image": image,
            "history": history,
            "recipe": recipe_rows(run.recipe) if run is not None else [],
            "may_generate": policies.may_make_images(request.user),
            "here": "image",
        },
    )


def _query_without_page(request: HttpRequest) -> str:
    """The filters, for links to other pages of the list."""
    query = request.GET.copy()
    query.pop("page", None)
    return f"&{query.urlencode()}" if query else ""
