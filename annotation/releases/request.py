"""The options of a release, and the answers that it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation import policies
from annotation.models import Judgement, Purpose, Response, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MIN_K, MAX_K = 2, 10_000


class ReleaseRefused(ValueError):
    """A release that cannot be made as requested. The message says what to do."""


@dataclass(frozen=True)
class ReleaseOptions:
    """Options of a release.

    `k`: the least number of people who share each combination of profile values. `withhold`: profile fields
    that are published for nobody. `without_pseudonyms`: leave out pseudonyms and profiles, so that nobody can
    tell which answers are by the same person. `licence` is an SPDX identifier or free text.
    """

    k: int = 5
    with_text: bool = False
    images: bool = False
    licence: str = ""
    citation: str = ""
    withhold: tuple[str, ...] = ()
    without_pseudonyms: bool = False

    def check(self) -> None:
        """Raises ReleaseRefused if `k` is too small to protect anybody."""
        if self.k < MIN_K:
            raise ReleaseRefused(
                f"k is {self.k}: a person could be unique in the published profiles. Use {MIN_K} or more; 5 "
                "is usual."
            )


def study_to_release(user: User, name: str) -> Study:
    """The study, if the account may release its data; 404 otherwise, as if it did not exist."""
    study = get_object_or_404(Study, name=name)
    if not policies.may_release(user, study):
        raise Http404
    return study


def responses(study: Study) -> QuerySet[Response]:
    """The responses that a release holds: current ones to data units, never withdrawn ones."""
    return Response.objects.filter(
        unit__task__study=study, unit__purpose=Purpose.DATA, current=True, withdrawn_at__isnull=True
    )


def judgements(study: Study) -> QuerySet[Judgement]:
    """The judgements of `responses`."""
    return Judgement.objects.filter(
        response__unit__task__study=study,
        response__unit__purpose=Purpose.DATA,
        response__current=True,
        response__withdrawn_at__isnull=True,
    )
