"""Who may do what: the one place where roles are decided (DESIGN §11).

Roles: *admin* is any superuser; *lead* is whoever leads the study at hand; *annotator* is any other
account. A lead does not see who an annotator is, and only an admin takes data out. Studies are made by
admins and by accounts with the permission `annotation.add_study`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    ExportJob,
    Image,
    ImageSet,
    Scope,
    Study,
    StudyStatus,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    User = AbstractBaseUser | AnonymousUser

AT_WORK = (EnrolmentStatus.TRAINING, EnrolmentStatus.QUALIFIED, EnrolmentStatus.FINISHED)
"""Who takes part in a study: they have agreed, and neither left nor were shut out."""


def is_admin(user: User) -> bool:
    return bool(user.is_authenticated and user.is_active and getattr(user, "is_superuser", False))


def needs_second_factor(user: User) -> bool:
    """Whether `user` must have a second factor to do anything: by the setting SECOND_FACTOR, admins, or
    whoever sets studies up or leads one as well."""
    if settings.SECOND_FACTOR == "optional" or not user.is_authenticated:
        return False
    if is_admin(user) or settings.SECOND_FACTOR == "admins":
        return is_admin(user)
    return may_see_catalogue(user)


def leads(user: User, study: Study) -> bool:
    """Whether `user` may see a study's progress, scores and figures."""
    if not user.is_authenticated:
        return False
    return is_admin(user) or study.leads.filter(pk=user.pk).exists()


def may_create_studies(user: User) -> bool:
    """Whether `user` may set up studies of their own."""
    if not user.is_authenticated or not user.is_active:
        return False
    return is_admin(user) or bool(getattr(user, "has_perm", lambda name: False)("annotation.add_study"))


def may_make_images(user: User) -> bool:
    """Whether `user` may plan, steer and bring in pictures, captions and embeddings, and see all of them:
    who may set up studies, since a study may show any image set."""
    return may_create_studies(user)


def may_see_set(user: User, image_set: ImageSet) -> bool:
    """Whether `user` may see how the images of a set were made and judged: who makes images, and whoever
    leads a study that shows the set. What was judged in a study is for its leads alone."""
    return may_make_images(user) or studies_led_by(user).filter(tasks__image_set=image_set).exists()


def may_set_up(user: User, study: Study) -> bool:
    """Whether `user` may change what `study` asks: who leads it, as long as it is a draft."""
    return study.status == StudyStatus.DRAFT and may_create_studies(user) and leads(user, study)


def may_steer_webhooks(user: User, study: Study) -> bool:
    """Whether `user` may have an address told of what happens in `study`: who leads it. Messages hold ids,
    counts and times only."""
    return leads(user, study)


def may_read_audit_log(user: User) -> bool:
    """Whether `user` may see what was done to people and data, by whom."""
    return is_admin(user)


def may_see_hours(user: User, study: Study) -> bool:
    """Whether `user` may see how long each annotator of `study` worked and what they met, by pseudonym."""
    return leads(user, study)


def may_see_all_hours(user: User) -> bool:
    """Whether `user` may see the same over all studies together."""
    return is_admin(user)


def may_export(user: User, study: Study) -> bool:
    """Whether `user` may take annotator-level data out of `study`."""
    return is_admin(user)


def may_fetch_export(user: User, job: ExportJob) -> bool:
    """Whether `user` may fetch, repeat or delete an export: who asked for it, while they may export."""
    return may_export(user, job.study) and job.by_id == user.pk


def may_release(user: User, study: Study) -> bool:
    """Whether `user` may publish annotator-level data of `study`."""
    return is_admin(user)


def may_see_image(user: User, image: Image) -> bool:
    """Whether `user` may load the file of `image`: who makes images, and whoever leads a study that shows
    its set or has agreed to take part in one and neither left nor was shut out."""
    if not user.is_authenticated:
        return False
    if may_make_images(user):
        return True
    at_work = Enrolment.objects.filter(study=OuterRef("pk"), annotator__user=user.pk, status__in=AT_WORK)
    return (
        Study.objects.filter(tasks__image_set=image.image_set_id)
        .filter(Q(leads=user.pk) | Exists(at_work))
        .exists()
    )


def may_annotate(user: User, study: Study) -> bool:
    """Whether `user` may give answers in `study`: while it is open, any account, or, if it does not let
    people enrol themselves, who was let in. A lead may not answer in their own study, since they know
    what it looks for."""
    if not user.is_authenticated or study.status != StudyStatus.OPEN:
        return False
    if study.leads.filter(pk=user.pk).exists():
        return False
    return study.self_enrol or study.enrolments.filter(annotator__user=user.pk).exists()


def studies_led_by(user: User) -> QuerySet[Study]:
    if is_admin(user):
        return Study.objects.all()
    return Study.objects.filter(leads=user.pk)


def studies_open_to(user: User) -> QuerySet[Study]:
    """Studies that `user` could start in or has started in, without those that they withdrew from."""
    left = Enrolment.objects.filter(
        study=OuterRef("pk"), annotator__user=user.pk, status=EnrolmentStatus.WITHDRAWN
    )
    to_all = Q(status=StudyStatus.OPEN, self_enrol=True)
    return (
        Study.objects.filter(to_all | Q(enrolments__annotator__user=user.pk))
        .exclude(leads=user.pk)
        .exclude(status=StudyStatus.DRAFT)
        .exclude(Exists(left))
        .distinct()
    )


def token_scopes(user: User) -> tuple[str, ...]:
    """What a token of `user` can be made for. Each use asks the other rules here as well: a scope opens
    nothing that is closed to the account."""
    for_admins = (Scope.EXPORT, Scope.ACCOUNTS)
    return tuple(scope for scope in Scope.values if scope not in for_admins or is_admin(user))


def may_see_catalogue(user: User) -> bool:
    """Whether `user` may read associations and the votes behind them: who sets studies up or leads one.
    Annotators would learn from them what others think."""
    return may_create_studies(user) or studies_led_by(user).exists()
