"""What merging two annotators would do, and whether it can be done (accounts/services/merging.py).

Asked by the page before anything is done, and again inside the merge, when everything is held.
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

Fate = Literal["none", "taken over", "deleted", "switched off"]
# Of two states in one study, the one that comes first here. Who stopped under one name and works under the
# other is at work; who was shut out under one name is shut out.
_STRONGEST = (
    EnrolmentStatus.BLOCKED,
    EnrolmentStatus.SCREENED_OUT,
    EnrolmentStatus.QUALIFIED,
    EnrolmentStatus.FINISHED,
    EnrolmentStatus.TRAINING,
    EnrolmentStatus.INVITED,
    EnrolmentStatus.WITHDRAWN,
)
# (unit, annotator) whose answer becomes a surplus
Second = tuple[int, int]


Pair = dict[int, list[Enrolment]]
"""Study -> the enrolments of the two in it, the kept one's first; studies of the duplicate only."""


class MergeRefused(ValueError):
    """Two annotators who cannot be made one. The message says why and what to do."""


@dataclass(frozen=True)
class StudyPlan:
    """What merging does in one study where the duplicate is: `status` of the person afterwards; `answers`
    to change hands; `twice`: units that both answered, whose second answer becomes a surplus; `held`:
    items in hand of the two, which go back to the queue."""

    study: Study
    status: EnrolmentStatus
    answers: int
    twice: int
    held: int
    skips: int


@dataclass(frozen=True)
class Plan:
    """What merging does: `added` are the profile fields taken from the duplicate, `dropped` those that both
    had; `account` is what becomes of the duplicate's."""

    studies: tuple[StudyPlan, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    account: Fate

    @property
    def twice(self) -> int:
        return sum(each.twice for each in self.studies)


def preview(*, kept: Annotator, duplicate: Annotator) -> Plan:
    """What `merge` would do now; changes nothing. Raises MergeRefused as `merge`."""
    pair = pair_of(kept, duplicate)
    check(kept, duplicate, pair)
    second = second_of(kept, duplicate, pair)
    return plan_of(kept, duplicate, pair, second)


def pair_of(kept: Annotator, duplicate: Annotator) -> Pair:
    found: Pair = defaultdict(list)
    theirs = Enrolment.objects.filter(annotator__in=(kept.pk, duplicate.pk)).select_related("study")
    for enrolment in theirs.order_by("study_id"):
        place = 0 if enrolment.annotator_id == kept.pk else len(found[enrolment.study_id])
        found[enrolment.study_id].insert(place, enrolment)
    return {
        study: here
        for study, here in found.items()
        if any(enrolment.annotator_id == duplicate.pk for enrolment in here)
    }


def check(kept: Annotator, duplicate: Annotator, pair: Pair) -> None:
    if kept.pk == duplicate.pk:
        raise MergeRefused(_("These are one and the same. Choose somebody else."))
    if kept.simulated != duplicate.simulated:
        raise MergeRefused(_("One of the two is a program: its answers are not a person's."))
    going = duplicate.user
    if going is not None and (
        going.is_superuser
        or going.is_staff
        or going.user_permissions.exists()
        or Study.objects.filter(leads=going).exists()
    ):
        raise MergeRefused(_("The duplicate's account has a role. Take that away first, or keep this one."))
    led = Study.objects.filter(leads=kept.user_id) if kept.user_id else Study.objects.none()
    for study in led.filter(enrolments__annotator=duplicate):
        raise MergeRefused(
            _("The one leads “%(study)s” and the other takes part in it.") % {"study": study.title}
        )
    for here in pair.values():
        if [each.status for each in here].count(EnrolmentStatus.WITHDRAWN) == 1 and len(here) == 2:
            raise MergeRefused(
                _("One of the two withdrew from “%(study)s”. Withdraw the other from it too, or leave them.")
                % {"study": here[0].study.title}
            )


def second_of(kept: Annotator, duplicate: Annotator, pair: Pair) -> list[Second]:
    """Where both fill a slot of one unit: the unit, and who answered it second. Later revisions of an
    answer do not make it a later one."""
    shared = [study for study, here in pair.items() if len(here) == 2]
    filling = Response.objects.filter(
        annotator__in=(kept.pk, duplicate.pk),
        unit__task__study__in=shared,
        slot__isnull=False,
        withdrawn_at__isnull=True,
    )
    firsts: defaultdict[int, list[tuple[bool, datetime | None, int, int]]] = defaultdict(list)
    found = filling.order_by().values_list("unit", "annotator")
    for unit, annotator, at, first in found.annotate(at=Min("submitted_at"), first=Min("pk")):
        firsts[unit].append((at is None, at, first, annotator))
    return [(unit, max(both)[-1]) for unit, both in sorted(firsts.items()) if len(both) == 2]


def plan_of(kept: Annotator, duplicate: Annotator, pair: Pair, second: Iterable[Second]) -> Plan:
    twice = set(
        Response.objects.filter(unit__in=[unit for unit, _who in second], annotator=duplicate)
        .order_by()
        .values_list("unit__task__study", "unit")
    )
    studies = []
    for study, here in pair.items():
        theirs = {"annotator": duplicate, "unit__task__study": study}
        held = Slot.objects.filter(
            annotator__in=(kept.pk, duplicate.pk), study=study, state=SlotState.LEASED
        ).count()
        studies.append(
            StudyPlan(
                study=here[0].study,
                status=status_of(here),
                answers=Response.objects.filter(**theirs, current=True, withdrawn_at__isnull=True).count(),
                twice=sum(of == study for of, _unit in twice),
                held=held,
                skips=Skip.objects.filter(**theirs).count(),
            )
        )
    said = set(kept.profile_answers.values_list("field", flat=True))
    theirs_too = sorted(duplicate.profile_answers.values_list("field", flat=True))
    return Plan(
        studies=tuple(studies),
        added=tuple(field for field in theirs_too if field not in said),
        dropped=tuple(field for field in theirs_too if field in said),
        account=_fate(kept, duplicate),
    )


def _fate(kept: Annotator, duplicate: Annotator) -> Fate:
    if duplicate.user is None:
        return "none"
    if kept.user is None:
        return "taken over"
    return "switched off" if duplicate.user.has_usable_password() else "deleted"


def status_of(here: Iterable[Enrolment]) -> EnrolmentStatus:
    statuses = {EnrolmentStatus(enrolment.status) for enrolment in here}
    return next(status for status in _STRONGEST if status in statuses)


__all__ = [
    "Fate",
    "MergeRefused",
    "Pair",
    "Plan",
    "Second",
    "StudyPlan",
    "check",
    "pair_of",
    "plan_of",
    "preview",
    "second_of",
    "status_of",
]
