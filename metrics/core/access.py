"""Who may read pages and API addresses about groups of people: whoever sets up or leads studies; others get
a 404.

What is about an image set is for those alone who may see the set too (generation/image_sets/access.py).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.request import Request

from annotation import policies
from generation.image_sets.access import visible_image_sets

View = Callable[..., HttpResponse]
M = TypeVar("M", bound=Model)


def check_reader(request: HttpRequest | Request) -> None:
    """Require policies.may_see_catalogue; Http404 otherwise."""
    if not policies.may_see_catalogue(request.user):
        raise Http404


def catalogue_readers_only(view: View) -> View:
    """A view that requires policies.may_see_catalogue; Http404 otherwise."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        check_reader(request)
        return view(request, *args, **kwargs)

    return wrapper


def of_visible_sets(
    request: HttpRequest | Request, rows: QuerySet[M], *, by: str = "image_set"
) -> QuerySet[M]:
    """The `rows` about image sets that the account may see. `by`: the column that holds the set. The filter
    is a part of their query."""
    if policies.may_make_images(request.user):
        return rows
    return rows.filter(**{f"{by}__in": visible_image_sets(request)})
