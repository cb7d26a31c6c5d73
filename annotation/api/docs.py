"""The OpenAPI schema as a file and as a page to read and try out."""

from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from annotation.api.auth import HasScope
from annotation.api.resource import Resource


class SchemaView(SpectacularAPIView):
    """The OpenAPI schema of this API, for logged-in users and tokens."""

    authentication_classes = Resource.authentication_classes
    permission_classes = (HasScope,)
    throttle_classes = Resource.throttle_classes

    def needed_scope(self, method: str) -> None:
        return None

    def _get_schema_response(self, request: Request) -> HttpResponse:
        renderer = request.accepted_renderer
        language = translation.get_language()
        supported = language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        return HttpResponse(
            _rendered(supported, renderer.__class__),
            content_type=renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="{self._get_filename(request, None)}"'},
        )


@cache
def _rendered(language: str, renderer: type[BaseRenderer]) -> bytes:
    return renderer().render(_schema(language))


@cache
def _schema(language: str) -> dict[str, Any]:
    """Cached, since it takes seconds and is the same for everybody while this process lives."""
    with translation.override(language):
        return SchemaGenerator().get_schema(request=None, public=True)


class DocsView(SpectacularSwaggerSplitView):
    """The schema to read and try out in the browser."""

    template_name = "annotation/api/docs.html"
