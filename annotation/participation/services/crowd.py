"""Crowd platforms: people arrive with a platform's parameters in the URL and leave with a completion code.
Their platform id is stored only with their enrolment, and never shown or exported."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.models import Enrolment, EnrolmentStatus, Slot, SlotState, Study, StudyStatus
from annotation.participation.services import annotators

# Amazon Mechanical Turk sends this before somebody has accepted the work.
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# Braces and percent signs are left out: they are unfilled placeholders of a link that was opened outside the
# platform.
_ID = re.compile(r"[A-Za-z0-9._@:+-]{1,120}")


class BadLink(ValueError):
    """A link with missing or wrong parameters. The message is shown to the participant."""


@dataclass(frozen=True)
class Arrival:
    """The platform's ids of a person. `preview`: they are only looking and have not accepted the work."""

    participant: str
    session: str
    preview: bool = False


@dataclass(frozen=True)
class Completion:
    """What somebody hands in to the platform when they are done. Either field can be empty."""

    code: str
    url: str

    def __bool__(self) -> bool:
        return bool(self.code or self.url)


def accepts_newcomers(*, study: Study) -> bool:
    """Whether `study` takes new people from a platform, which needs a completion code or URL. Without this
    condition, anybody could enter an invitation-only study with a made-up id."""
    return bool(study.completion_code or study.completion_url)


def read_arrival(*, study: Study, params: Mapping[str, Sequence[str]]) -> Arrival | None:
    """The arrival that the URL parameters `params` (name -> values) describe. None if the study has no crowd
    parameters. Raises BadLink if one is missing, repeated, too long or not an id."""
    names: Mapping[str, str] = study.crowd_parameters or {}
    if not names.get("participant"):
        return None
    if any(PREVIEW in values for values in params.values()):
        return Arrival(participant="", session="", preview=True)
    ids: dict[str, str] = {}
    for role, name in names.items():
        values = params.get(name, [])
        if not name:
            continue
        if not values or not values[0]:
            raise BadLink(_("The parameter “%(name)s” of the link is missing.") % {"name": name})
        if len(values) > 1:
            raise BadLink(_("The parameter “%(name)s” is in the link more than once.") % {"name": name})
        if not _ID.fullmatch(values[0]):
            raise BadLink(_("The parameter “%(name)s” of the link is not a platform id.") % {"name": name})
        ids[role] = values[0]
    return Arrival(participant=ids["participant"], session=ids.get("session", ""))


def enrolment_of(*, study: Study, arrival: Arrival) -> Enrolment | None:
    """The enrolment of somebody who has been here before, even if they withdrew."""
    known_ids = [arrival.participant, withdrawn_id(study=study, participant=arrival.participant)]
    return (
        Enrolment.objects.filter(study=study, crowd_participant__in=known_ids)
        .select_related("annotator__user", "study")
        .first()
    )


def enter(*, study: Study, arrival: Arrival) -> Enrolment:
    """The enrolment of the person, created as *invited* with an account of its own on the first arrival; they
    still have to consent. Raises ValueError if the study is not open and they have not been here before."""
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


def withdrawn_id(*, study: Study, participant: str) -> str:
    """A keyed digest that replaces the platform's id of somebody who withdrew. It recognises them when they
    come back, but does not say who they are."""
    mac = salted_hmac("annotation.crowd.withdrawn", f"{study.pk}:{participant}", algorithm="sha256")
    return f"withdrawn {mac.hexdigest()}"


def has_open_slots(*, study: Study) -> bool:
    """Whether any slot is open. A newcomer's profile is not known yet, so strata are not considered."""
    return Slot.objects.filter(study=study, state=SlotState.OPEN).exists()


def completion(*, enrolment: Enrolment) -> Completion | None:
    """What to hand in to the platform. None for somebody who came another way, or if the study has no
    completion code or URL."""
    if not enrolment.crowd_participant:
        return None
    return study_completion(study=enrolment.study) or None


def study_completion(*, study: Study) -> Completion:
    """The completion code and URL of a study. `{code}` in the URL is replaced by the code, and a URL that
    ends in `=` is completed with it. A URL that is not http or https is dropped: it could run a script."""
    code, url = study.completion_code, study.completion_url
    if "{code}" in url:
        url = url.replace("{code}", quote(code, safe=""))
    elif url.endswith("="):
        url += quote(code, safe="")
    return Completion(code=code, url=url if urlsplit(url).scheme in {"http", "https"} else "")
