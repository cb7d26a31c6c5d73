"""Merge two annotators who are one person. If both answered a unit, the first answer stays, and the second,
by somebody who had seen the unit before, becomes a surplus: stored, in no score, and its slot open."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.services import accounts
from annotation.assignment.constants import SESSION_LENGTH
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)
from annotation.participation.services import withdrawals

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
    """What merging does. Profile fields `added` come from the duplicate; of those `dropped`, both had an
    answer. `account`: what happens to the duplicate's. `second`: (study, unit, annotator) of each
    answer that becomes a surplus."""

    studies: tuple[StudyPlan, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    account: AccountOutcome
    enrolments: EnrolmentsByStudy
    second: list[tuple[int, int, int]]

    @property
    def twice(self) -> int:
        return sum(each.twice for each in self.studies)


def merge(*, kept: Annotator, duplicate: Annotator, by: User, now: datetime | None = None) -> Plan:
    """Merge `duplicate` into `kept`, permanently. Returns what was done. Raises MergeRefused if both are the
    same annotator, if one is simulated, if the duplicate has a role, if one leads a study of the other, or if
    one withdrew from a study that both are in."""
    now = now or timezone.now()
    with transaction.atomic():
        kept, duplicate = _lock(kept, duplicate)
        plan = preview(kept=kept, duplicate=duplicate)
        for enrolment in (each for both in plan.enrolments.values() for each in both):
            slots.release_leases(enrolment=enrolment)
        _make_surplus(plan)
        Slot.objects.filter(annotator=duplicate).update(annotator=kept)
        Response.objects.filter(annotator=duplicate).update(annotator=kept)
        Skip.objects.filter(annotator=duplicate, unit__skips__annotator=kept).delete()
        Skip.objects.filter(annotator=duplicate).update(annotator=kept)
        _merge_consents(kept, duplicate)
        answered = list(kept.profile_answers.values_list("field", flat=True))
        duplicate.profile_answers.exclude(field__in=answered).update(annotator=kept)
        for both in plan.enrolments.values():
            _merge_enrolments(kept, both, now=now)
        _remove_duplicate(kept, duplicate, plan.account)
        # The profile and the answered units may have changed.
        slots.restart_queue(annotator=kept)
        AuditEvent.objects.create(
            what="annotators merged",
            by=by,
            details={
                "studies": len(plan.studies),
                "answers": sum(each.answers for each in plan.studies),
                "surplus": plan.twice,
                "released": sum(each.held for each in plan.studies),
                "account": plan.account,
            },
        )
        return plan


def _lock(kept: Annotator, duplicate: Annotator) -> tuple[Annotator, Annotator]:
    """Lock both annotators and their rows, in the same order as everywhere: annotators, enrolments, studies,
    slots, each by primary key."""
    both = (kept.pk, duplicate.pk)
    annotators = {
        each.pk: each
        for each in Annotator.objects.select_for_update(no_key=True).filter(pk__in=both).order_by("pk")
    }
    if len(annotators) < len(set(both)):
        raise MergeRefused(_("One of the two no longer exists: they were erased or merged."))
    theirs = Enrolment.objects.filter(annotator__in=both).order_by("study_id", "pk")
    studies = [enrolment.study_id for enrolment in theirs.select_for_update(no_key=True)]
    list(Study.objects.select_for_update(no_key=True).filter(pk__in=studies).order_by("pk"))
    list(Slot.objects.select_for_update(no_key=True).filter(annotator__in=both).order_by("pk"))
    return annotators[kept.pk], annotators[duplicate.pk]


def _make_surplus(plan: Plan) -> None:
    units_by_annotator: defaultdict[int, list[int]] = defaultdict(list)
    for _study, unit, annotator in plan.second:
        units_by_annotator[annotator].append(unit)
    for annotator, units in units_by_annotator.items():
        Response.objects.filter(annotator=annotator, unit__in=units, slot__isnull=False).update(slot=None)
        filled = Slot.objects.filter(annotator=annotator, unit__in=units, state=SlotState.FILLED)
        for both in plan.enrolments.values():
            withdrawals.reopen(filled=filled, study=both[0].study)


def _merge_consents(kept: Annotator, duplicate: Annotator) -> None:
    given = {each.text_id: each for each in kept.consents.filter(withdrawn_at__isnull=True)}
    for consent in duplicate.consents.all():
        same = given.get(consent.text_id) if consent.withdrawn_at is None else None
        if same is None:
            Consent.objects.filter(pk=consent.pk).update(annotator=kept)
        else:  # keep one consent, with the earlier time
            Consent.objects.filter(pk=same.pk).update(given_at=min(same.given_at, consent.given_at))
            consent.delete()


def _merge_enrolments(kept: Annotator, enrolments: list[Enrolment], *, now: datetime) -> None:
    """Merge the two enrolments in a study, or transfer the only one, which is the duplicate's."""
    if len(enrolments) == 1:
        Enrolment.objects.filter(pk=enrolments[0].pk).update(annotator=kept)
        return
    first, second = enrolments
    second.delete()  # before `first` takes its platform id, which is unique in the study
    first.status = _merged_status(enrolments)
    first.answered += second.answered
    first.golds += second.golds
    first.joined_at = min(first.joined_at, second.joined_at)
    first.invitation = first.invitation or second.invitation
    if not first.crowd_participant:
        first.crowd_participant, first.crowd_session = second.crowd_participant, second.crowd_session
    sessions = [
        (each.session_started_at, each.session_units, each.session_active_ms)
        for each in enrolments
        if each.session_started_at is not None and now - each.session_started_at <= SESSION_LENGTH
    ]
    # Both sessions were one person's work and count towards the cap together.
    first.session_started_at = max((started for started, _units, _ms in sessions), default=None)
    first.session_units = sum(units for _started, units, _ms in sessions)
    first.session_active_ms = sum(ms for _started, _units, ms in sessions)
    first.save()


def _remove_duplicate(kept: Annotator, duplicate: Annotator, outcome: AccountOutcome) -> None:
    """Delete the duplicate, and transfer, delete or switch off its account."""
    account = duplicate.user
    duplicate.delete()
    if account is None:
        return
    if outcome == "taken over":
        Annotator.objects.filter(pk=kept.pk).update(user=account)
        return
    accounts.end_sessions_and_tokens(user=account)
    if outcome == "deleted":
        account.delete()
    else:
        User.objects.filter(pk=account.pk).update(is_active=False)


def preview(*, kept: Annotator, duplicate: Annotator) -> Plan:
    """What `merge` would do. Changes nothing. Raises MergeRefused like `merge`."""
    enrolments = _enrolments_by_study(kept, duplicate)
    _check(kept, duplicate, enrolments)
    second = _second_answers(kept, duplicate, enrolments)
    kept_fields = set(kept.profile_answers.values_list("field", flat=True))
    duplicate_fields = set(duplicate.profile_answers.values_list("field", flat=True))
    return Plan(
        studies=_study_plans(kept, duplicate, enrolments, second),
        added=tuple(sorted(duplicate_fields - kept_fields)),
        dropped=tuple(sorted(duplicate_fields & kept_fields)),
        account=_account_outcome(kept, duplicate),
        enrolments=enrolments,
        second=second,
    )


def _enrolments_by_study(kept: Annotator, duplicate: Annotator) -> EnrolmentsByStudy:
    both = Enrolment.objects.filter(annotator__in=(kept.pk, duplicate.pk)).select_related("study")
    found: EnrolmentsByStudy = defaultdict(list)
    for enrolment in sorted(both, key=lambda each: (each.study_id, each.annotator_id != kept.pk)):
        found[enrolment.study_id].append(enrolment)
    return {
        study: enrolments
        for study, enrolments in found.items()
        if enrolments[-1].annotator_id == duplicate.pk
    }


def _check(kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy) -> None:
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


def _second_answers(
    kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy
) -> list[tuple[int, int, int]]:
    """The second answers of units of which both fill a slot. The time of the first revision decides."""
    shared = [study for study, both in enrolments.items() if len(both) == 2]
    filling = Response.objects.filter(
        annotator__in=(kept.pk, duplicate.pk),
        unit__task__study__in=shared,
        slot__isnull=False,
        withdrawn_at__isnull=True,
    )
    answers: defaultdict[tuple[int, int], list[tuple[bool, datetime | None, int, int]]] = defaultdict(list)
    grouped = filling.order_by().values_list("unit__task__study", "unit", "annotator")
    for study, unit, annotator, at, first in grouped.annotate(at=Min("submitted_at"), first=Min("pk")):
        answers[study, unit].append((at is None, at, first, annotator))
    return [(*unit, max(both)[-1]) for unit, both in sorted(answers.items()) if len(both) == 2]


def _study_plans(
    kept: Annotator, duplicate: Annotator, enrolments: EnrolmentsByStudy, second: list[tuple[int, int, int]]
) -> tuple[StudyPlan, ...]:
    held = Slot.objects.filter(annotator__in=(kept.pk, duplicate.pk), state=SlotState.LEASED)
    plans = []
    for study, both in enrolments.items():
        theirs = {"annotator": duplicate, "unit__task__study": study}
        plans.append(
            StudyPlan(
                study=both[0].study,
                status=_merged_status(both),
                answers=Response.objects.filter(**theirs, current=True, withdrawn_at__isnull=True).count(),
                twice=sum(unit_study == study for unit_study, _unit, _annotator in second),
                held=held.filter(study=study).count(),
                skips=Skip.objects.filter(**theirs).count(),
            )
        )
    return tuple(plans)


def _account_outcome(kept: Annotator, duplicate: Annotator) -> AccountOutcome:
    if duplicate.user is None:
        return "none"
    if kept.user is None:
        return "taken over"
    return "switched off" if duplicate.user.has_usable_password() else "deleted"


def _merged_status(enrolments: Iterable[Enrolment]) -> EnrolmentStatus:
    return min((EnrolmentStatus(each.status) for each in enrolments), key=_STATUS_PRECEDENCE.index)
