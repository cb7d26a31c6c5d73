"""What merging two annotators would do, and whether it is allowed (accounts/services/merging.py).

The page shows the plan first. The merge makes it again, with everything locked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Min
from django.utils.translation import gettext as _

from annotation.models import Annotator, Enrolment, EnrolmentStatus, Response, Skip, Slot, SlotState, Study

AccountOutcome = Literal["none", "taken over", "deleted", "switched off"]
# Of two statuses in one study, the first in this list wins.
_STATUS_PRECEDENCE = (
    EnrolmentStatus.BLOCKED,
    EnrolmentStatus.SCREENED_OUT,
    EnrolmentStatus.QUALIFIED,
    EnrolmentStatus.FINISHED,
    EnrolmentStatus.TRAINING,
    EnrolmentStatus.INVITED,
    EnrolmentStatus.WITHDRAWN,
)
SecondAnswer = tuple[int, int]
"""(unit, annotator) of an answer that becomes a surplus."""

EnrolmentsByStudy = dict[int, list[Enrolment]]
"""Study -> the enrolments of both annotators in it, the kept one's first. Only studies of the duplicate."""


class MergeRefused(ValueError):
    """The two annotators cannot be merged. The message says why and what to do."""


@dataclass(frozen=True)
class StudyPlan:
    """What merging does in one of the duplicate's studies. `status`: the person's status afterwards.
    `answers` and `skips` of the duplicate are transferred. `twice`: units that both answered, whose second
    answer becomes a surplus. `held`: leased items of both, which go back to the queue."""

    study: Study
    status: EnrolmentStatus
    answers: int
    twice: int
    held: int
    skips: int


@dataclass(frozen=True)
class Plan:
    """What merging does. `added`: profile fields taken from the duplicate. `dropped`: profile fields that
    both answered. `account`: what happens to the duplicate's account."""

    studies: tuple[StudyPlan, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    account: AccountOutcome

    @property
    def twice(self) -> int:
        return sum(each.twice for each in self.studies)


def preview(*, kept: Annotator, duplicate: Annotator) -> Plan:
    """What `merge` would do. Changes nothing. Raises MergeRefused like `merge`."""
    enrolments = enrolments_by_study(kept, duplicate)
    check(kept, duplicate, enrolments)
    return make_plan(kept, duplicate, enrolments, second_answers(kept, duplicate, enrolments))


def enrolments_by_study(kept: Annotator, duplicate: Annotator) -> EnrolmentsByStudy:
    both = Enrolment.objects.filter(annotator__in=(kept.pk, duplicate.pk)).select_related("study")
    found: EnrolmentsByStudy = defaultdict(list)
    for enrolment in sorted(both, key=lambda each: (each.study_id, each.annotator_id != kept.pk)):
        found[enrolment.study_id].append(enrolment)
    return {
        study: enrolments
        for study, enrolments in found.items()
        if enrolments[-1].annotator_id == duplicate.pk
    }


def check(kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy) -> None:
    if kept.pk == duplicate.pk:
        raise MergeRefused(_("These are the same annotator. Choose another one."))
    if kept.simulated != duplicate.simulated:
        raise MergeRefused(_("One of the two is simulated: its answers are not a person's."))
    account = duplicate.user
    if account is not None and (
        account.is_superuser
        or account.is_staff
        or account.user_permissions.exists()
        or Study.objects.filter(leads=account).exists()
    ):
        raise MergeRefused(
            _("The duplicate's account has a role. Remove the role first, or keep this account.")
        )
    led = Study.objects.filter(leads=kept.user_id) if kept.user_id else Study.objects.none()
    for study in led.filter(enrolments__annotator=duplicate):
        raise MergeRefused(
            _("One of the two leads “%(study)s” and the other takes part in it.") % {"study": study.title}
        )
    for both in enrolments.values():
        if len(both) == 2 and [each.status for each in both].count(EnrolmentStatus.WITHDRAWN) == 1:
            raise MergeRefused(
                _("One of the two withdrew from “%(study)s”. Withdraw the other from it too, or leave them.")
                % {"study": both[0].study.title}
            )


def second_answers(
    kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy
) -> list[SecondAnswer]:
    """The second answers of units of which both fill a slot. The time of the first revision decides."""
    shared = [study for study, both in enrolments.items() if len(both) == 2]
    filling = Response.objects.filter(
        annotator__in=(kept.pk, duplicate.pk),
        unit__task__study__in=shared,
        slot__isnull=False,
        withdrawn_at__isnull=True,
    )
    answers: defaultdict[int, list[tuple[bool, datetime | None, int, int]]] = defaultdict(list)
    grouped = filling.order_by().values_list("unit", "annotator")
    for unit, annotator, at, first in grouped.annotate(at=Min("submitted_at"), first=Min("pk")):
        answers[unit].append((at is None, at, first, annotator))
    return [(unit, max(both)[-1]) for unit, both in sorted(answers.items()) if len(both) == 2]


def make_plan(
    kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy, second: Iterable[SecondAnswer]
) -> Plan:
    twice = set(
        Response.objects.filter(unit__in=[unit for unit, _annotator in second], annotator=duplicate)
        .order_by()
        .values_list("unit__task__study", "unit")
    )
    studies = []
    for study, both in enrolments.items():
        theirs = {"annotator": duplicate, "unit__task__study": study}
        held = Slot.objects.filter(
            annotator__in=(kept.pk, duplicate.pk), study=study, state=SlotState.LEASED
        ).count()
        studies.append(
            StudyPlan(
                study=both[0].study,
                status=merged_status(both),
                answers=Response.objects.filter(**theirs, current=True, withdrawn_at__isnull=True).count(),
                twice=sum(unit_study == study for unit_study, _unit in twice),
                held=held,
                skips=Skip.objects.filter(**theirs).count(),
            )
        )
    kept_fields = set(kept.profile_answers.values_list("field", flat=True))
    duplicate_fields = set(duplicate.profile_answers.values_list("field", flat=True))
    return Plan(
        studies=tuple(studies),
        added=tuple(sorted(duplicate_fields - kept_fields)),
        dropped=tuple(sorted(duplicate_fields & kept_fields)),
        account=_account_outcome(kept, duplicate),
    )


def _account_outcome(kept: Annotator, duplicate: Annotator) -> AccountOutcome:
    if duplicate.user is None:
        return "none"
    if kept.user is None:
        return "taken over"
    return "switched off" if duplicate.user.has_usable_password() else "deleted"


def merged_status(enrolments: Iterable[Enrolment]) -> EnrolmentStatus:
    statuses = {EnrolmentStatus(enrolment.status) for enrolment in enrolments}
    return next(status for status in _STATUS_PRECEDENCE if status in statuses)
