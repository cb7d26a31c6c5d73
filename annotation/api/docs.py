"""The schema as a file, and as a page to read and to try things out."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotation.api.auth import Scoped
from annotation.api.resource import Resource


class SchemaView(SpectacularAPIView):
    """The OpenAPI schema of this API, for who is logged in or has a token."""

    authentication_classes = Resource.authentication_classes
    permission_classes = (Scoped,)
    throttle_classes = Resource.throttle_classes

    def needed_scope(self, method: str) -> None:
        return None


class DocsView(SpectacularSwaggerSplitView):
    """The schema to read and to try out, in the browser."""

    template_name = "annotation/api_docs.html"
