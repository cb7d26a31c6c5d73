"""The program's pages, and an empty one to compare with: it asks who is logged in and says nothing more."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_POST


@require_POST
def empty(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.user.get_username())


urlpatterns = [path("empty/", empty), path("", include("visage_app.urls"))]
