"""Image files, for accounts that may see them."""

import logging
from pathlib import PurePath

from django.conf import settings
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
    HttpResponseRedirect,
)
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.images.files import CONTENT_TYPES
from annotation.images.shrinking import CannotShrink
from annotation.images.thumbnails import SIDES, thumbnail
from annotation.models import Image

log = logging.getLogger(__name__)


@require_safe
def image_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    image = _visible_or_404(request, pk)
    if settings.IMAGES_SIGNED_SECONDS:
        return _redirect_to_bucket(image)
    etag = f'"{image.sha256}"'
    if request.headers.get("If-None-Match") == etag:
        return _cached(HttpResponseNotModified(), etag, "max-age=3600")
    try:
        response = FileResponse(image.file.open("rb"), content_type=_content_type(image))
    except FileNotFoundError as error:
        raise Http404 from error
    except OSError:
        return _not_now(image)
    return _cached(response, etag, "max-age=3600")


@require_safe
def thumbnail_file(request: HttpRequest, pk: int, side: int) -> HttpResponseBase:
    """A small copy, at most `side` pixels wide and high. It always comes from here, even if images come from
    a bucket: it is small, and made here. The query says which content it is, so browsers need not ask again
    within a day."""
    image = _visible_or_404(request, pk)
    if side not in SIDES:
        raise Http404
    try:
        data = thumbnail(image, side=side)
    except (FileNotFoundError, CannotShrink) as error:
        raise Http404 from error
    except OSError:
        return _not_now(image)
    etag = f'"{image.sha256}-{side}"'
    same = request.headers.get("If-None-Match") == etag
    response = HttpResponseNotModified() if same else HttpResponse(data, content_type="image/webp")
    return _cached(response, etag, "max-age=86400, immutable")


def _visible_or_404(request: HttpRequest, pk: int) -> Image:
    """The image, if it has a file here that the user may see."""
    image = get_object_or_404(Image, pk=pk)
    if _content_type(image) is None or not policies.may_see_image(request.user, image):
        raise Http404
    return image


def _content_type(image: Image) -> str | None:
    return CONTENT_TYPES.get(PurePath(image.file.name or "").suffix.lower())


def _cached(response: HttpResponseBase, etag: str, how: str) -> HttpResponseBase:
    response["ETag"] = etag
    # Private: a shared cache would give the file to people who may not see it.
    response["Cache-Control"] = f"private, {how}"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _not_now(image: Image) -> HttpResponse:
    """A remote storage does not answer at the moment. Called while its error is handled."""
    log.exception("image %s cannot be read", image.pk)
    return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})


def _redirect_to_bucket(image: Image) -> HttpResponseRedirect:
    """Redirect to a signed URL, which works for some minutes. The browser caches the redirect for half of
    that time, so that prefetched images are used and no expired URL is followed."""
    response = HttpResponseRedirect(image.file.url)
    response["Cache-Control"] = f"private, max-age={settings.IMAGES_SIGNED_SECONDS // 2}"
    return response
