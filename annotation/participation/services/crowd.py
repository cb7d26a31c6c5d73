"""Crowd platforms: people who come with a platform's parameters in the URL, and go back with a code.

The platform's id of a person is kept with their enrolment alone, to find them again when they come back.
It is never shown or exported, and each study makes an annotator of its own of it, so that nobody can be
followed from one study to the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.assignment.services import slots
from annotation.models import Enrolment, EnrolmentStatus, Slot, SlotState, Study, StudyStatus
from annotation.participation.services import annotators

# What platforms send before somebody has accepted the work (Amazon Mechanical Turk).
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# Letters, digits and what platforms use between them. Not braces and per cent signs: those are the
# platform's own place-holders, sent as they are when a link is opened outside the platform.
_ID = re.compile(r"[A-Za-z0-9._@:+-]{1,120}")


class BadLink(ValueError):
    """A link without what the study expects of it. The message says what is wrong, in words for people."""


@dataclass(frozen=True)
class Arrival:
    """Who comes, by the platform's ids; `preview`: they only look, and have not accepted the work."""

    participant: str
    session: str
    preview: bool = False


@dataclass(frozen=True)
class Completion:
    """How somebody tells the platform that they are done. Either can be empty."""

    code: str
    url: str

    def __bool__(self) -> bool:
        return bool(self.code or self.url)


def recruits(*, study: Study) -> bool:
    """Whether `study` lets newcomers in from a platform: it has said how they hand their work in. Without
    that, anybody who makes up an id would be let in where nobody is meant to come without an invitation."""
    return bool(study.completion_code or study.completion_url)


def read_arrival(*, study: Study, given: Mapping[str, Sequence[str]]) -> Arrival | None:
    """Who comes with the URL parameters `given` (name -> values); None if the study expects nobody.

    `study.crowd_parameters` says what the parameters are called: participant, study, session. Raises
    BadLink for one that is missing, there twice, too long, or not an id.
    """
    names: Mapping[str, str] = study.crowd_parameters or {}
    if not names.get("participant"):
        return None
    if any(PREVIEW in values for values in given.values()):
        return Arrival(participant="", session="", preview=True)
    found: dict[str, str] = {}
    for role, name in names.items():
        values = given.get(name, [])
        if not name:
            continue
        if not values or not values[0]:
            raise BadLink(_("The part “%(name)s” of the link is missing.") % {"name": name})
        if len(values) > 1:
            raise BadLink(_("The part “%(name)s” of the link is there more than once.") % {"name": name})
        if not _ID.fullmatch(values[0]):
            raise BadLink(_("The part “%(name)s” of the link is not a platform's id.") % {"name": name})
        found[role] = values[0]
    return Arrival(participant=found["participant"], session=found.get("session", ""))


def enrolment_of(*, study: Study, arrival: Arrival) -> Enrolment | None:
    """The enrolment of somebody who has been here before, also if they withdrew."""
    known = [arrival.participant, withdrawn_mark(study=study, participant=arrival.participant)]
    return (
        Enrolment.objects.filter(study=study, crowd_participant__in=known)
        .select_related("annotator__user", "study")
        .first()
    )


def enter(*, study: Study, arrival: Arrival) -> Enrolment:
    """The enrolment of who arrives, made on first arrival with an account of its own, as *invited*: they
    still have to consent. Coming twice at once makes one.

    Raises ValueError if the study is not open and they have not been here before.
    """
    known = enrolment_of(study=study, arrival=arrival)
    if known is None:
        if study.status != StudyStatus.OPEN:
            raise ValueError(f"the study '{study.name}' is {study.status}: nobody new can enter.")
        try:
            with transaction.atomic():
                return Enrolment.objects.create(
                    study=study,
                    annotator=annotators.newcomer(),
                    status=EnrolmentStatus.INVITED,
                    crowd_participant=arrival.participant,
                    crowd_session=arrival.session,
                )
        except IntegrityError:
            known = enrolment_of(study=study, arrival=arrival)
            if known is None:
                raise
    if known.status != EnrolmentStatus.WITHDRAWN and known.crowd_session != arrival.session:
        known.crowd_session = arrival.session
        known.save(update_fields=["crowd_session"])
    return known


def withdrawn_mark(*, study: Study, participant: str) -> str:
    """What is kept in place of the platform's id of somebody who withdrew: it tells that they come again,
    and not who they are."""
    mac = salted_hmac("annotation.crowd.withdrawn", f"{study.pk}:{participant}", algorithm="sha256")
    return f"withdrawn {mac.hexdigest()}"


def has_places(*, study: Study) -> bool:
    """Whether anything is left that nobody holds: what can be told of a newcomer, whose profile is not
    known yet."""
    return Slot.objects.filter(study=study, state=SlotState.OPEN).exists()


def is_done(*, enrolment: Enrolment) -> bool:
    """Whether nothing is left for this annotator: they hold nothing, and no open item is for them."""
    mine = Slot.objects.filter(
        study=enrolment.study_id, annotator=enrolment.annotator_id, state=SlotState.LEASED
    )
    return not mine.exists() and not slots.has_open_slot(enrolment=enrolment)


def completion(*, enrolment: Enrolment) -> Completion | None:
    """What to hand in to the platform; None for who came another way, or where the study has set nothing.

    `{code}` in Study.completion_url stands for the code; a URL that ends in `=` is completed with it.
    """
    if not enrolment.crowd_participant:
        return None
    code, url = enrolment.study.completion_code, enrolment.study.completion_url
    return completion_of(code=code, url=url) or None


def completion_of(*, code: str, url: str) -> Completion:
    """A code and a link from what a study has set. A link that is not http or https is left out: it would
    run in the page."""
    if "{code}" in url:
        url = url.replace("{code}", quote(code, safe=""))
    elif url.endswith("="):
        url += quote(code, safe="")
    return Completion(code=code, url=url if urlsplit(url).scheme in {"http", "https"} else "")
