"""The study in a URL, for accounts that may see it."""

from django.http import Http404, HttpRequest
from rest_framework.request import Request

from annotation import policies
from annotation.core.prepared import Param, Prepared
from annotation.models import Study

_STUDY = Prepared(Study.objects.filter(name=Param("name")))


def study_for_lead(request: HttpRequest | Request, name: str) -> Study:
    """The study if the account leads it; otherwise 404, as if it did not exist."""
    study = policies.study_led_by(request.user, name=name)
    if study is None:
        raise Http404
    return study


def study_for_export(request: HttpRequest | Request, name: str) -> Study:
    """The study if the account may export its data; otherwise 404, as if it did not exist."""
    study = _STUDY.first(name=name)
    if study is None or not policies.may_export(request.user, study):
        raise Http404
    return study
