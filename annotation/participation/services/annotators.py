"""Annotators: pseudonyms, consent, enrolment and profiles (DESIGN §3)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext as _

from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    Consent,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    Invitation,
    ProfileAnswer,
    ProfileField,
    Purpose,
    Study,
    Unit,
)

# Without 0, 1, i, l and o, which look alike.
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


class ConsentRefused(ValueError):
    """Somebody cannot agree: the text has been replaced meanwhile, or they withdrew from the study."""


@dataclass(frozen=True)
class ProfileEntry:
    """An answer to one question of the profile. An empty value means *prefer not to say*. `self_described`:
    the value is in their own words. `own_words`: a text in addition to a choice."""

    value: str
    own_words: str = ""
    self_described: bool = False
    may_publish: bool = False


def annotator_for(*, user: User) -> Annotator:
    """The annotator of an account, created on first use, with a random pseudonym."""
    annotator, _created = Annotator.objects.get_or_create(user=user, defaults={"pseudonym": _pseudonym()})
    return annotator


def newcomer() -> Annotator:
    """Create an annotator with a new account, which is named like their pseudonym and has no password, so
    nobody can log in to it."""
    with transaction.atomic():
        account: User = User(username=_pseudonym())
        account.set_unusable_password()
        account.save()
        return Annotator.objects.create(user=account, pseudonym=account.username)


def agree(*, user: User, study: Study, text_id: int) -> Enrolment:
    """Record that `user` agrees to a study's consent text, and enrol them. Agreeing twice, or in two
    languages, counts once. Raises ConsentRefused if `text_id` is not of the latest version, or if they
    withdrew before."""
    with transaction.atomic():
        latest = ConsentText.objects.filter(study=study).order_by("-version").first()
        text = ConsentText.objects.filter(study=study, pk=text_id).first()
        if latest is None or text is None or text.version != latest.version:
            raise ConsentRefused(_("The text has changed since you opened this page. Please read it again."))
        annotator = annotator_for(user=user)
        enrolment = enrol(annotator=annotator, study=study)
        if enrolment.status == EnrolmentStatus.WITHDRAWN:
            raise ConsentRefused(_("You withdrew from this study."))
        given = Consent.objects.filter(
            annotator=annotator,
            text__study=study,
            text__version=text.version,
            withdrawn_at__isnull=True,
        )
        if not given.exists():
            Consent.objects.create(annotator=annotator, text=text, given_at=timezone.now())
        return enrolment


def decline(*, annotator: Annotator, study: Study) -> bool:
    """Delete the enrolment of somebody who has neither agreed nor answered, and give back the use of the
    invitation. Returns whether their account was deleted too: it is if it was created for this visit
    alone."""
    with transaction.atomic():
        Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk)
        enrolment = (
            Enrolment.objects.select_for_update(no_key=True)
            .filter(annotator=annotator, study=study, status=EnrolmentStatus.INVITED)
            .first()
        )
        agreed = Consent.objects.filter(annotator=annotator, text__study=study)
        answered = annotator.responses.filter(unit__task__study=study)
        if enrolment is None or agreed.exists() or answered.exists():
            return False
        if enrolment.invitation_id is not None:
            Invitation.objects.filter(pk=enrolment.invitation_id, uses__gt=0).update(uses=F("uses") - 1)
        enrolment.delete()
        user = annotator.user
        if annotator.enrolments.exists() or annotator.responses.exists():
            return False
        if user is None or user.has_usable_password() or user.is_staff or user.is_superuser:
            return False
        annotator.delete()
        user.delete()
        return True


def enrol(*, annotator: Annotator, study: Study) -> Enrolment:
    """Let `annotator` work in `study`, starting with its training items if it has any. Somebody who is
    blocked, was screened out or withdrew stays so."""
    with transaction.atomic():
        enrolment, created = Enrolment.objects.get_or_create(annotator=annotator, study=study)
        if created or enrolment.status == EnrolmentStatus.INVITED:
            training = Unit.objects.filter(task__study=study, purpose=Purpose.TRAINING)
            enrolment.status = EnrolmentStatus.TRAINING if training.exists() else EnrolmentStatus.QUALIFIED
            enrolment.save(update_fields=["status"])
        return enrolment


def save_profile(
    *, annotator: Annotator, entries: Mapping[str, ProfileEntry], own_questions: Collection[str] = ()
) -> bool:
    """Save the profile of `annotator`; fields are those of ProfileField and `own_questions`. An empty field
    is deleted. Returns whether any value changed: then their leased items are released and every queue starts
    again."""
    unknown = set(entries) - set(ProfileField.values) - set(own_questions)
    if unknown:
        there = ", ".join([*ProfileField.values, *own_questions])
        raise ValueError(f"There is no profile field '{min(unknown)}'. There are: {there}.")
    with transaction.atomic():
        Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk)
        before = dict(annotator.profile_answers.values_list("field", "value"))
        for field, entry in entries.items():
            value = " ".join(entry.value.split())
            if not value:
                annotator.profile_answers.filter(field=field).delete()
                continue
            ProfileAnswer.objects.update_or_create(
                annotator=annotator,
                field=field,
                defaults={
                    "value": value,
                    "own_words": " ".join(entry.own_words.split()),
                    "self_described": entry.self_described,
                    "may_publish": entry.may_publish,
                },
            )
        changed = before != dict(annotator.profile_answers.values_list("field", "value"))
        if changed:
            for enrolment in annotator.enrolments.all():
                slots.release_leases(enrolment=enrolment)
            slots.restart_queue(annotator=annotator)
        return changed


def _pseudonym() -> str:
    return "a-" + get_random_string(8, LETTERS)
