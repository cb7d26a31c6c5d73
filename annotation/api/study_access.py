"""The study that an address names, for who may see it."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.models import Study


def led_study(request: Request, name: str) -> Study:
    """The study, if the account leads it; 404 otherwise, as if there were none."""
    return get_object_or_404(policies.studies_led_by(request.user), name=name)


def exported_study(request: Request, name: str) -> Study:
    """The study, if the account may take its data out; 404 otherwise, as if there were none."""
    study = get_object_or_404(Study, name=name)
    if not policies.may_export(request.user, study):
        raise Http404
    return study
