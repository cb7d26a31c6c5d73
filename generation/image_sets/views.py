"""Image sets: all of them, one as a gallery, and one image with its whole history."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.image_sets.access import get_visible_image, get_visible_image_set
from generation.image_sets.queries import sets
from generation.image_sets.queries.history import history
from generation.models.runs import PROMPT_SET_CHOICES
from generation.recipes.display import recipe_rows


@login_required
@require_safe
def set_list(request: LoggedIn) -> HttpResponse:
    makes = policies.may_make_images(request.user)
    if not makes and not policies.studies_led_by(request.user).exists():
        raise Http404
    page, rows = sets.set_rows(user=request.user, page=request.GET.get("page"))
    context = {"page": page, "rows": rows, "makes": makes, "here": "sets"}
    return render(request, "generation/image_sets/image_sets.html", context)


@login_required
@require_safe
def image_set(request: LoggedIn, name: str) -> HttpResponse:
    found = get_visible_image_set(request, name)
    group, prompt_set = request.GET.get("group", ""), request.GET.get("prompts", "")
    shown = sets.gallery(found, group=group, prompt_set=prompt_set, page=request.GET.get("page"))
    return render(
        request,
        "generation/image_sets/image_set.html",
        {
            "set": found,
            "shown": shown,
            "prompt_sets": [
                (name, gettext(dict(PROMPT_SET_CHOICES)[name]), number) for name, number in shown.prompt_sets
            ],
            "page": shown.page,
            "group": group,
            "prompt_set": prompt_set,
            "kept": _kept(request),
            "makes": policies.may_make_images(request.user),
            "studies": sets.studies_showing(found, user=request.user),
            "here": "set",
        },
    )


@login_required
@require_safe
def image_history(request: LoggedIn, pk: int) -> HttpResponse:
    image = get_visible_image(request, pk)
    known = history(image, user=request.user)
    run = known.origin.run if known.origin is not None else None
    return render(
        request,
        "generation/image_sets/image.html",
        {
            "image": image,
            "known": known,
            "recipe": recipe_rows(run.recipe) if run is not None else [],
            "makes": policies.may_make_images(request.user),
            "here": "image",
        },
    )


def _kept(request: HttpRequest) -> str:
    """The reader's choices, for links to other pages of the same list."""
    query = request.GET.copy()
    query.pop("page", None)
    return f"&{query.urlencode()}" if query else ""
