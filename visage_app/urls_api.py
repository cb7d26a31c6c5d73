"""The API, version 1 (docs/api.md)."""

from django.contrib.auth.decorators import login_required
from django.urls import include, path, re_path

from annotation.api.docs import DocsView, SchemaView
from annotation.api.resource import NotFoundView
from visage_app.health.api import HealthView

app_name = "api"
urlpatterns = [
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", login_required(DocsView.as_view(url_name="api:schema")), name="docs"),
    path("health", HealthView.as_view(), name="health"),
    path("", include("annotation.urls_api")),
    path("", include("generation.urls_api")),
    path("", include("metrics.urls_api")),
    re_path(r"", NotFoundView.as_view(), name="nothing"),
]
