"""Find a lead's study for a page or the API: a study that they do not lead is not found."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.core import replica
from annotation.models import Study, TaskKind


def get_study_or_404(request: HttpRequest | Request, name: str) -> Study:
    """The study `name`, if the account leads it or is an admin; Http404 otherwise."""
    with replica.from_primary():
        study = get_object_or_404(
            Study.objects.select_related("stereotype_source").prefetch_related("tasks"), name=name
        )
        if not policies.leads(request.user, study):
            raise Http404
    return study


def get_depiction_study_or_404(request: HttpRequest | Request, name: str) -> Study:
    """As `get_study_or_404`, but Http404 also for a study without a depiction task."""
    study = get_study_or_404(request, name)
    if not any(task.kind == TaskKind.DEPICTION for task in study.tasks.all()):
        raise Http404("This study has no task about what images depict.")
    return study
