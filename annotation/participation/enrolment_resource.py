"""Base class and lookups for the API resources of somebody who takes part in a study."""

from functools import partial
from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request

from annotation import policies
from annotation.api.errors import Conflict
from annotation.api.resource import Resource
from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.models import Scope, Study

operation = partial(extend_schema, tags=["work"])
STATE_MESSAGES = {
    "done": "There is nothing left for this annotator in this study.",
    "paused": "The study is paused. Come again later.",
    "closed": "The study is closed.",
    "blocked": "This annotator gets no more items in this study.",
    "screened_out": "This annotator did not pass the training of this study.",
    "withdrawn": "This annotator has withdrawn from the study.",
    "cap": "This annotator has reached the limit of one session. Come again after twelve hours.",
}


class AnnotatorResource(Resource):
    """A resource for people who take part in a study."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "DELETE"), Scope.ANNOTATE)


def find_membership(request: Request, name: str) -> tuple[Study, Membership | None]:
    """The study, and the account's membership or None. 404 if the account cannot take part in the study."""
    membership = queries.membership(user=request.user, study_name=name)
    if membership is not None:
        return membership.enrolment.study, membership
    study = get_object_or_404(Study, name=name)
    if not policies.may_annotate(request.user, study):
        raise Http404
    return study, None


def require_membership(request: Request, name: str) -> Membership:
    """The account's membership. 409 *no_consent* if it has none yet."""
    _study, membership = find_membership(request, name)
    if membership is None:
        raise consent_required(name)
    return membership


def require_unblocked(request: Request, name: str) -> Membership:
    """The account's membership. 403 if it is blocked."""
    membership = require_membership(request, name)
    if membership.blocked:
        raise exceptions.PermissionDenied(STATE_MESSAGES["blocked"])
    return membership


def consent_required(name: str) -> Conflict:
    return Conflict(
        "The person has not agreed to the study's current consent text. Show it "
        f"(GET /api/v1/studies/{name}/consent), and POST the id of the text there once they agree.",
        state="no_consent",
    )
