"""The home page."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.participation.queries import enrolments


@require_safe
def home(request: LoggedIn) -> HttpResponse:
    led = policies.studies_led_by(request.user).order_by("title")
    context = {"studies": enrolments.study_cards(request.user), "led": led}
    return render(request, "visage_app/home.html", context)
