"""The options of a release, and the answers that it holds."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Judgement, Purpose, Response, Study

MIN_K = 2


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
