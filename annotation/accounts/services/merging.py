"""Merge two annotators who are one person, e.g. somebody with an account who came again from a platform.

If both answered a unit, the first answer stays: the second was given by somebody who had seen the unit
before. The second becomes a surplus: stored, in no score, and its slot is open for somebody else. Answers to
training, gold and attention items have no slots, and all of them stay.

The kept annotator's profile answers stay. Answers that they left out are taken from the duplicate, like the
enrolments, consents and skips that only the duplicate has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.services import accounts, merging_plan
from annotation.accounts.services.merging_plan import (
    AccountOutcome,
    EnrolmentsByStudy,
    MergeRefused,
    Plan,
    SecondAnswer,
)
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)
from annotation.participation.constants import SESSION_LENGTH
from annotation.participation.services import withdrawals

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def merge(*, kept: Annotator, duplicate: Annotator, by: User, now: datetime | None = None) -> Plan:
    """Merge `duplicate` into `kept`, permanently. Returns what was done.

    Leased items of both go back to the queue first. If `kept` has no account, it gets the duplicate's.
    Otherwise the duplicate's account is deleted if it has no password, and switched off if it has one.

    Raises MergeRefused if both are the same annotator, if one is simulated, if the duplicate has a role, if
    one leads a study of the other, or if one withdrew from a study that both are in.
    """
    now = now or timezone.now()
    with transaction.atomic():
        kept, duplicate = _lock(kept, duplicate)
        enrolments = merging_plan.enrolments_by_study(kept, duplicate)
        merging_plan.check(kept, duplicate, enrolments)
        second = merging_plan.second_answers(kept, duplicate, enrolments)
        plan = merging_plan.make_plan(kept, duplicate, enrolments, second)
        for enrolment in (each for both in enrolments.values() for each in both):
            slots.release_leases(enrolment=enrolment)
        _make_surplus(second, enrolments)
        Slot.objects.filter(annotator=duplicate).update(annotator=kept)
        Response.objects.filter(annotator=duplicate).update(annotator=kept)
        Skip.objects.filter(annotator=duplicate, unit__skips__annotator=kept).delete()
        Skip.objects.filter(annotator=duplicate).update(annotator=kept)
        _merge_consents(kept, duplicate)
        _merge_profile(kept, duplicate)
        for both in enrolments.values():
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


def _make_surplus(second: Iterable[SecondAnswer], enrolments: EnrolmentsByStudy) -> None:
    units_by_annotator: defaultdict[int, list[int]] = defaultdict(list)
    for unit, annotator in second:
        units_by_annotator[annotator].append(unit)
    for annotator, units in units_by_annotator.items():
        Response.objects.filter(annotator=annotator, unit__in=units, slot__isnull=False).update(slot=None)
        filled = Slot.objects.filter(annotator=annotator, unit__in=units, state=SlotState.FILLED)
        for both in enrolments.values():
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


def _merge_profile(kept: Annotator, duplicate: Annotator) -> None:
    answered = list(kept.profile_answers.values_list("field", flat=True))
    duplicate.profile_answers.exclude(field__in=answered).update(annotator=kept)


def _merge_enrolments(kept: Annotator, enrolments: list[Enrolment], *, now: datetime) -> None:
    """Merge the two enrolments in a study, or transfer the only one, which is the duplicate's."""
    if len(enrolments) == 1:
        Enrolment.objects.filter(pk=enrolments[0].pk).update(annotator=kept)
        return
    first, second = enrolments
    second.delete()  # before `first` takes its platform id, which is unique in the study
    first.status = merging_plan.merged_status(enrolments)
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
        get_user_model().objects.filter(pk=account.pk).update(is_active=False)
