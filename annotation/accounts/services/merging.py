"""One person who came twice, by an account and by a platform's link say, made one annotator again.

Two answers of one person to one unit are not two people's. The first one given stands: the second was
given by somebody who had met the unit before. The second becomes a surplus, as an answer that came too
late does: kept, in no score, and its slot is open for somebody else. Answers to training, gold and
attention items have no slots, and all of them stay.

What the person says of themselves stays as the annotator who is kept says it; what they left out is taken
from the duplicate. So are the enrolments, consents and skips that only the duplicate has.
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
    Fate,
    MergeRefused,
    Pair,
    Plan,
    Second,
    StudyPlan,
    preview,
)
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    ProfileAnswer,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)
from annotation.participation.services import withdrawals
from annotation.participation.constants import SESSION_LENGTH

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def merge(*, kept: Annotator, duplicate: Annotator, by: User, now: datetime | None = None) -> Plan:
    """Make `duplicate` part of `kept`, for good; what was done.

    What either holds goes back to the queue first. The duplicate's account becomes that of `kept` if there
    was none; otherwise it is deleted if it has no password, and switched off if it has.

    Raises MergeRefused for one annotator given twice, a program and a person, a duplicate with a role, a
    lead of a study that the other takes part in, and a study from which one of the two withdrew.
    """
    now = now or timezone.now()
    with transaction.atomic():
        kept, duplicate = _lock(kept, duplicate)
        pair = merging_plan.pair_of(kept, duplicate)
        merging_plan.check(kept, duplicate, pair)
        second = merging_plan.second_of(kept, duplicate, pair)
        plan = merging_plan.plan_of(kept, duplicate, pair, second)
        for enrolment in (each for here in pair.values() for each in here):
            slots.release_all(enrolment=enrolment)
        _make_surplus(second, pair)
        Slot.objects.filter(annotator=duplicate).update(annotator=kept)
        Response.objects.filter(annotator=duplicate).update(annotator=kept)
        Skip.objects.filter(annotator=duplicate, unit__skips__annotator=kept).delete()
        Skip.objects.filter(annotator=duplicate).update(annotator=kept)
        _consents(kept, duplicate)
        _profile(kept, duplicate)
        for here in pair.values():
            _enrolment(kept, duplicate, here, now=now)
        _account(kept, duplicate, plan.account)
        # Under other strata than before, and past other units: the queues are walked from their start.
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
    """Both, held, with all that is theirs. The same order as everywhere: annotators, enrolments (as answers
    do), studies, slots; of each kind by their numbers."""
    both = (kept.pk, duplicate.pk)
    found = {
        each.pk: each
        for each in Annotator.objects.select_for_update(no_key=True).filter(pk__in=both).order_by("pk")
    }
    if len(found) < len(set(both)):
        raise MergeRefused(_("One of the two is gone: they were erased or merged meanwhile."))
    theirs = Enrolment.objects.filter(annotator__in=both).order_by("study_id", "pk")
    studies = [enrolment.study_id for enrolment in theirs.select_for_update(no_key=True)]
    list(Study.objects.select_for_update(no_key=True).filter(pk__in=studies).order_by("pk"))
    list(Slot.objects.select_for_update(no_key=True).filter(annotator__in=both).order_by("pk"))
    return found[kept.pk], found[duplicate.pk]


def _make_surplus(second: Iterable[Second], pair: Pair) -> None:
    mine: defaultdict[int, list[int]] = defaultdict(list)
    for unit, who in second:
        mine[who].append(unit)
    for who, units in mine.items():
        Response.objects.filter(annotator=who, unit__in=units, slot__isnull=False).update(slot=None)
        filled = Slot.objects.filter(annotator=who, unit__in=units, state=SlotState.FILLED)
        for here in pair.values():
            withdrawals.reopen(filled=filled, study=here[0].study)


def _consents(kept: Annotator, duplicate: Annotator) -> None:
    given = {each.text_id: each for each in kept.consents.filter(withdrawn_at__isnull=True)}
    for consent in duplicate.consents.all():
        same = given.get(consent.text_id) if consent.withdrawn_at is None else None
        if same is None:
            Consent.objects.filter(pk=consent.pk).update(annotator=kept)
        else:  # given twice is given once, at the earlier moment
            Consent.objects.filter(pk=same.pk).update(given_at=min(same.given_at, consent.given_at))
            consent.delete()


def _profile(kept: Annotator, duplicate: Annotator) -> None:
    said = kept.profile_answers.values("field")
    ProfileAnswer.objects.filter(annotator=duplicate).exclude(
        field__in=list(said.values_list("field", flat=True))
    ).update(annotator=kept)


def _enrolment(kept: Annotator, duplicate: Annotator, here: list[Enrolment], *, now: datetime) -> None:
    """One enrolment of the two in a study; one that only the duplicate has changes hands."""
    first, *others = here
    if not others:
        Enrolment.objects.filter(pk=first.pk).update(annotator=kept)
        return
    (second,) = others
    second.delete()  # its platform's id is unique in the study
    first.status = merging_plan.status_of(here)
    first.answered += second.answered
    first.golds += second.golds
    first.joined_at = min(first.joined_at, second.joined_at)
    first.invitation = first.invitation or second.invitation
    if not first.crowd_participant:
        first.crowd_participant, first.crowd_session = second.crowd_participant, second.crowd_session
    begun = [
        (each.session_started_at, each.session_units, each.session_active_ms)
        for each in here
        if each.session_started_at is not None and now - each.session_started_at <= SESSION_LENGTH
    ]
    # Both sessions were one person's work: together they count towards the cap.
    first.session_started_at = max((began for began, _units, _ms in begun), default=None)
    first.session_units = sum(units for _began, units, _ms in begun)
    first.session_active_ms = sum(ms for _began, _units, ms in begun)
    first.save()


def _account(kept: Annotator, duplicate: Annotator, fate: Fate) -> None:
    """Delete the duplicate, and see to its account."""
    going = duplicate.user
    duplicate.delete()
    if going is None:
        return
    if fate == "taken over":
        Annotator.objects.filter(pk=kept.pk).update(user=going)
        return
    accounts.end_sessions_and_tokens(user=going)
    if fate == "deleted":
        going.delete()
    else:
        get_user_model().objects.filter(pk=going.pk).update(is_active=False)


__all__ = ["MergeRefused", "Plan", "StudyPlan", "merge", "preview"]
