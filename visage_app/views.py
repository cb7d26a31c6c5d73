"""The home page."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.demo import entry
from annotation.participation.queries import enrolments
from annotation.setup import services as setup
from annotation.studies.queries import cards


@login_not_required
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The studies of the account, and how many it has begun to set up of which there is no draft yet. Without
    a login: the login, or the ways into the demonstration where it was made."""
    if not isinstance(request.user, User):
        doors = entry.doors(request)
        if not doors:
            return redirect_to_login(request.get_full_path())
        return render(request, "annotation/demo/entry.html", {"roles": [door.role for door in doors]})
    led = cards.led_studies(request.user)
    begun = setup.documents(user=request.user) if policies.may_create_studies(request.user) else {}
    context = {
        "studies": enrolments.study_cards(request.user),
        "led": led,
        "comparable": cards.are_comparable(led),
        "begun": len(begun.keys() - {card.study.name for card in led}),
    }
    return render(request, "visage_app/home.html", context)
