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
from annotation.models import Image

log = logging.getLogger(__name__)


@require_safe
def image_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    image = get_object_or_404(Image, pk=pk)
    content_type = CONTENT_TYPES.get(PurePath(image.file.name or "").suffix.lower())
    if content_type is None or not policies.may_see_image(request.user, image):
        raise Http404
    if settings.IMAGES_SIGNED_SECONDS:
        return _redirect_to_bucket(image)
    response: HttpResponseBase
    etag = f'"{image.sha256}"'
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
    else:
        try:
            response = FileResponse(image.file.open("rb"), content_type=content_type)
        except FileNotFoundError as error:
            raise Http404 from error
        except OSError:
            # A remote storage does not answer at the moment.
            log.exception("image %s cannot be read", image.pk)
            return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})
    response["ETag"] = etag
    # Private: a shared cache would give the file to people who may not see it.
    response["Cache-Control"] = "private, max-age=3600"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _redirect_to_bucket(image: Image) -> HttpResponseRedirect:
    """Redirect to a signed URL, which works for some minutes. The browser caches the redirect for half of
    that time, so that prefetched images are used and no expired URL is followed."""
    response = HttpResponseRedirect(image.file.url)
    response["Cache-Control"] = f"private, max-age={settings.IMAGES_SIGNED_SECONDS // 2}"
    return response
