"""Entering the demonstration by a click (demo/entry.py). The page with the buttons is the first page of
whoever is not logged in (visage_app/views.py)."""

from django.contrib import auth
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.demo import entry

_BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@never_cache
@require_POST
def enter(request: HttpRequest) -> HttpResponse:
    """Log in as the demonstration's account that has the role in the form; 404 where that is not possible."""
    role = request.POST.get("role", "")
    door = next((door for door in entry.doors(request) if door.role == role), None)
    if door is None:
        raise Http404
    auth.login(request, door.user, backend=_BACKEND)
    return redirect(door.page, *([door.study] if door.study else []))
