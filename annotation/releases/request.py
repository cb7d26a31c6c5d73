"""What is asked of a release, and why one may be refused."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Judgement, Purpose, Response, Study

LEAST_K = 2


class ReleaseRefused(ValueError):
    """A release that cannot be made as asked. The message says what to do."""


@dataclass(frozen=True)
class Wanted:
    """`k`: how many people each combination of profile values needs. `withhold`: fields that are told of
    nobody. `without_pseudonyms`: nobody can tell which answers are of one person, and nothing is told of
    people. `licence` is an SPDX identifier or any words; `citation` how the data are to be cited."""

    k: int = 5
    with_text: bool = False
    images: bool = False
    licence: str = ""
    citation: str = ""
    withhold: tuple[str, ...] = ()
    without_pseudonyms: bool = False

    def check(self) -> None:
        """Raises ReleaseRefused for a `k` that protects nobody."""
        if self.k < LEAST_K:
            raise ReleaseRefused(
                f"k is {self.k}: somebody could stand alone with what is told of them. Ask for {LEAST_K} "
                "or more; 5 is usual."
            )


def responses(study: Study) -> QuerySet[Response]:
    """The answers that a release holds: the latest ones about data, never withdrawn ones."""
    return Response.objects.filter(
        unit__task__study=study, unit__purpose=Purpose.DATA, current=True, withdrawn_at__isnull=True
    )


def judgements(study: Study) -> QuerySet[Judgement]:
    """Their judgements."""
    return Judgement.objects.filter(
        response__unit__task__study=study,
        response__unit__purpose=Purpose.DATA,
        response__current=True,
        response__withdrawn_at__isnull=True,
    )


def withdrawn(study: Study) -> int:
    """How many answers were ever withdrawn. It only grows: it tells whether somebody left meanwhile."""
    return Response.objects.filter(unit__task__study=study, withdrawn_at__isnull=False).count()


__all__ = ["ReleaseRefused", "Wanted", "judgements", "responses", "withdrawn"]
