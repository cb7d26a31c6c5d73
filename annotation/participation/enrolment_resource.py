"""Somebody's part in a study, as front ends of one's own need it."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import exceptions
from rest_framework.request import Request

from annotation import policies
from annotation.api.errors import Conflict
from annotation.api.resource import Resource
from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.models import Scope, Study

TAGS = ["work"]
WORDS = {
    "done": "There is nothing left for this annotator in this study.",
    "paused": "The study is having a break. Come again later.",
    "closed": "The study is closed.",
    "blocked": "This annotator gets no more items in this study.",
    "screened_out": "This annotator's training answers did not let them go on.",
    "withdrawn": "This annotator has withdrawn from the study.",
    "cap": "This annotator has judged as much as one session may hold. Come again after twelve hours.",
}


class Working(Resource):
    """For who takes part in a study."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "DELETE"), Scope.ANNOTATE)


def place(request: Request, name: str) -> tuple[Study, Membership | None]:
    """The study and the account's part in it, if it has one or could have."""
    study = get_object_or_404(Study, name=name)
    membership = queries.membership(user=request.user, study_name=name)
    if membership is None and not policies.may_annotate(request.user, study):
        raise Http404
    return study, membership


def require_membership(request: Request, name: str) -> Membership:
    _study, membership = place(request, name)
    if membership is None:
        raise no_consent(name)
    return membership


def require_unblocked(request: Request, name: str) -> Membership:
    membership = require_membership(request, name)
    if membership.blocked:
        raise exceptions.PermissionDenied(WORDS["blocked"])
    return membership


def no_consent(name: str) -> Conflict:
    return Conflict(
        "The person has not agreed to the study's present text. Show it "
        f"(GET /api/v1/studies/{name}/consent), and POST the number of the text there once they agree.",
        state="no_consent",
    )
