"""The study in a URL, for accounts that may see it."""

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.models import Study


def study_for_lead(request: HttpRequest | Request, name: str) -> Study:
    """The study if the account leads it; otherwise 404, as if it did not exist."""
    return get_object_or_404(policies.studies_led_by(request.user), name=name)


def study_for_export(request: HttpRequest | Request, name: str) -> Study:
    """The study if the account may export its data; otherwise 404, as if it did not exist."""
    study = get_object_or_404(Study, name=name)
    if not policies.may_export(request.user, study):
        raise Http404
    return study
