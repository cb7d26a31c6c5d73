"""Pages: all image sets, one set as a gallery, and one image with its history."""

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn, query_without_page
from generation.image_sets import queries as sets
from generation.image_sets.access import get_visible_image, get_visible_image_set, visible_image_sets
from generation.image_sets.queries import image_history
from generation.models.runs import PROMPT_SET_CHOICES
from generation.recipes.display import recipe_rows

SETS_PER_PAGE = 48


@require_safe
def image_set_list(request: LoggedIn) -> HttpResponse:
    may_generate = policies.may_make_images(request.user)
    if not may_generate and not policies.studies_led_by(request.user).exists():
        raise Http404
    visible = visible_image_sets(request).order_by("title", "pk")
    page = Paginator(visible, SETS_PER_PAGE).get_page(request.GET.get("page"))
    rows = sets.image_set_rows(list(page), user=request.user)
    context = {"page": page, "rows": rows, "may_generate": may_generate, "here": "sets"}
    return render(request, "generation/image_sets/image_sets.html", context)


@require_safe
def image_set_gallery(request: LoggedIn, name: str) -> HttpResponse:
    image_set = get_visible_image_set(request, name)
    group, prompt_set = request.GET.get("group", ""), request.GET.get("prompts", "")
    labels = dict(PROMPT_SET_CHOICES)
    gallery = sets.gallery(
        image_set, user=request.user, group=group, prompt_set=prompt_set, page=request.GET.get("page")
    )
    return render(
        request,
        "generation/image_sets/image_set.html",
        {
            "set": image_set,
            "gallery": gallery,
            "prompt_sets": [(name, gettext(labels[name]), number) for name, number in gallery.prompt_sets],
            "page": gallery.page,
            "group": group,
            "prompt_set": prompt_set,
            "query": query_without_page(request),
            "may_generate": policies.may_make_images(request.user),
            "studies": sets.studies_showing(image_set, user=request.user),
            "here": "set",
        },
    )


@require_safe
def image_page(request: LoggedIn, pk: int) -> HttpResponse:
    image = get_visible_image(request, pk)
    history = image_history(image, user=request.user)
    run = history.provenance.run if history.provenance is not None else None
    origin = history.made_from
    initial = origin.initial if origin is not None else None
    may_see_initial = initial is not None and policies.may_see_set(request.user, initial.image_set)
    return render(
        request,
        "generation/image_sets/image.html",
        {
            "image": image,
            "history": history,
            "recipe": recipe_rows(run.recipe) if run is not None else [],
            "may_see_initial": may_see_initial,
            "may_generate": policies.may_make_images(request.user),
            "here": "image",
        },
    )
