"""Who may see the pages, and the stored file that an address names."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from annotation import policies
from metrics.embedding_tests.stored import stored_files
from metrics.models import EmbeddingTestFile

View = Callable[..., HttpResponse]


def catalogue_readers_only(view: View) -> View:
    """Require policies.may_see_catalogue, since the pages compare groups of people; Http404 otherwise."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_see_catalogue(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return wrapper


def stored_file(pk: int) -> EmbeddingTestFile:
    found: EmbeddingTestFile = get_object_or_404(stored_files(), pk=pk)
    return found
