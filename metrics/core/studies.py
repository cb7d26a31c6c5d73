"""Find a lead's study for a page or the API, and say whether it is too large to count there."""

from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest
from rest_framework.request import Request

from annotation import policies
from annotation.core import replica
from annotation.core.prepared import Param, Prepared
from annotation.models import Slot, Study, TaskKind

MAX_SMALL = 20_000
"""A study with at most this many slots is counted during the request."""
_STUDY = Prepared(Study.objects.select_related("stereotype_source").filter(name=Param("name")))


def get_study_or_404(request: HttpRequest | Request, name: str) -> Study:
    """The study `name`, if the account leads it or is an admin; Http404 otherwise."""
    with replica.from_primary():
        study = _STUDY.first(name=name)
        if study is None:
            raise Http404
        prefetch_related_objects([study], "tasks")
        if not policies.leads(request.user, study):
            raise Http404
    return study


def get_depiction_study_or_404(request: HttpRequest | Request, name: str) -> Study:
    """As `get_study_or_404`, but Http404 also for a study without a depiction task."""
    study = get_study_or_404(request, name)
    if not any(task.kind == TaskKind.DEPICTION for task in study.tasks.all()):
        raise Http404("This study has no task about what images depict.")
    return study


def is_large(study: Study) -> bool:
    """Whether counting it would take too long for a page."""
    return Slot.objects.filter(study=study).order_by()[MAX_SMALL : MAX_SMALL + 1].exists()
