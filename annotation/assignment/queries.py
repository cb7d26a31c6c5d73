"""An account's enrolment in a study, read in one query. Nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, OuterRef, Subquery

from annotation.core.prepared import Param, Prepared
from annotation.models import (
    Consent,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    Study,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Membership:
    """An account's enrolment in a study. `consented`: they agreed to the latest consent text; `leads`: they
    lead the study, and so may not answer in it."""

    enrolment: Enrolment
    consented: bool
    leads: bool = False

    @property
    def blocked(self) -> bool:
        return self.enrolment.status == EnrolmentStatus.BLOCKED


_LATEST_TEXT = ConsentText.objects.filter(study=OuterRef(OuterRef("study"))).order_by("-version")

MEMBERSHIPS = (
    Enrolment.objects.filter(annotator__user=Param("user"), study__name=Param("study"))
    .select_related("study")
    .annotate(
        consented=Exists(
            Consent.objects.filter(
                annotator=OuterRef("annotator"),
                withdrawn_at__isnull=True,
                text__study=OuterRef("study"),
                text__version=Subquery(_LATEST_TEXT.values("version")[:1]),
            )
        ),
        leads=Exists(Study.leads.through.objects.filter(study=OuterRef("study"), user=Param("user"))),
    )
)
"""The query set that `membership` reads."""

_MEMBERSHIP = Prepared(MEMBERSHIPS)


def membership(*, user: User, study_name: str, query: Prepared[Any] = _MEMBERSHIP) -> Membership | None:
    """The membership of `user` in a study, or None, in one query. `query` is made from MEMBERSHIPS."""
    enrolment: Any = query.first(user=user.pk, study=study_name)
    if enrolment is None:
        return None
    return Membership(enrolment=enrolment, consented=enrolment.consented, leads=enrolment.leads)
