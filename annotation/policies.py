"""Permissions: the only module that decides about roles (DESIGN §11).

Roles: an *admin* is a superuser; a *lead* leads the study in question; every other account is an *annotator*.
Leads do not see who an annotator is, and only admins export data. Admins and accounts with the permission
`annotation.add_study` create studies.
"""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.models import User as Account
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.prepared import Param, Prepared
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    ExportJob,
    Image,
    ImageSet,
    Scope,
    Source,
    Study,
    StudyStatus,
)

User = Account | AnonymousUser

_STUDY = Prepared(Study.objects.filter(name=Param("name")))
_LED_STUDY = Prepared(Study.objects.filter(name=Param("name"), leads=Param("lead")))

TAKING_PART = (EnrolmentStatus.TRAINING, EnrolmentStatus.QUALIFIED, EnrolmentStatus.FINISHED)
"""Enrolments that take part: consent was given, and they are neither withdrawn nor blocked."""


def is_admin(user: User) -> bool:
    return user.is_active and user.is_superuser


def needs_second_factor(user: User) -> bool:
    """Whether `user` must have a second factor. By the setting SECOND_FACTOR: admins, or also accounts that
    set up or lead studies."""
    if settings.SECOND_FACTOR == "optional" or not user.is_authenticated:
        return False
    if settings.SECOND_FACTOR == "admins":
        return is_admin(user)
    return may_see_catalogue(user)


def leads(user: User, study: Study) -> bool:
    """Whether `user` may see a study's progress, scores, figures and hours by pseudonym, and set up its
    webhooks."""
    if not user.is_authenticated:
        return False
    return is_admin(user) or study.leads.filter(pk=user.pk).exists()


def may_create_studies(user: User) -> bool:
    """Whether `user` may set up studies of their own."""
    return is_admin(user) or user.has_perm("annotation.add_study")


def may_make_images(user: User) -> bool:
    """Whether `user` may generate, upload and see all images, captions and embeddings: everyone who may set
    up studies, since a study may show any image set."""
    return may_create_studies(user)


def may_see_set(user: User, image_set: ImageSet) -> bool:
    """Whether `user` may see how the images of a set were made: everyone who may make images, and the leads
    of studies that show the set. Judgements of a study are for its leads only."""
    return may_make_images(user) or studies_led_by(user).filter(tasks__image_set=image_set).exists()


def may_set_up(user: User, study: Study) -> bool:
    """Whether `user` may change the tasks of `study`: its leads, while it is a draft."""
    return study.status == StudyStatus.DRAFT and may_create_studies(user) and leads(user, study)


def may_export(user: User, study: Study) -> bool:
    """Whether `user` may export annotator-level data of `study`."""
    return is_admin(user)


def may_fetch_export(user: User, job: ExportJob) -> bool:
    """Whether `user` may download, retry or delete an export: its requester, while they may export."""
    return may_export(user, job.study) and job.by_id == user.pk


def may_release(user: User, study: Study) -> bool:
    """Whether `user` may publish annotator-level data of `study`."""
    return is_admin(user)


def may_see_image(user: User, image: Image) -> bool:
    """Whether `user` may load the file of `image`: everyone who may make images, and the leads and current
    participants of studies that show its set."""
    if not user.is_authenticated:
        return False
    if may_make_images(user):
        return True
    taking_part = Enrolment.objects.filter(
        study=OuterRef("pk"), annotator__user=user.pk, status__in=TAKING_PART
    )
    return (
        Study.objects.filter(tasks__image_set=image.image_set_id)
        .filter(Q(leads=user.pk) | Exists(taking_part))
        .exists()
    )


def may_annotate(user: User, study: Study) -> bool:
    """Whether `user` may annotate in `study` while it is open: any account or, without self-enrolment, only
    enrolled ones. Leads may not answer in their own study, since they know its purpose."""
    if not user.is_authenticated or study.status != StudyStatus.OPEN:
        return False
    if study.leads.filter(pk=user.pk).exists():
        return False
    return study.self_enrol or study.enrolments.filter(annotator__user=user.pk).exists()


def studies_led_by(user: User) -> QuerySet[Study]:
    if is_admin(user):
        return Study.objects.all()
    return Study.objects.filter(leads=user.pk)


def study_led_by(user: User, *, name: str) -> Study | None:
    """The one of `studies_led_by` with this name, by a prepared query: most pages and requests ask for it."""
    return _STUDY.first(name=name) if is_admin(user) else _LED_STUDY.first(name=name, lead=user.pk)


def studies_open_to(user: User) -> QuerySet[Study]:
    """Studies that `user` can join or has joined, except those they withdrew from."""
    withdrawn = Enrolment.objects.filter(
        study=OuterRef("pk"), annotator__user=user.pk, status=EnrolmentStatus.WITHDRAWN
    )
    open_to_all = Q(status=StudyStatus.OPEN, self_enrol=True)
    return (
        Study.objects.filter(open_to_all | Q(enrolments__annotator__user=user.pk))
        .exclude(leads=user.pk)
        .exclude(status=StudyStatus.DRAFT)
        .exclude(Exists(withdrawn))
        .distinct()
    )


def token_scopes(user: User) -> tuple[str, ...]:
    """The scopes that a token of `user` can have. Each request is also checked against the other rules: a
    scope grants nothing that the account may not do."""
    admins_only = (Scope.EXPORT, Scope.ACCOUNTS)
    return tuple(scope for scope in Scope.values if scope not in admins_only or is_admin(user))


def may_edit_catalogue(user: User) -> bool:
    """Whether `user` may add sources of associations: everyone who may set up studies."""
    return may_create_studies(user)


def may_edit_source(user: User, source: Source) -> bool:
    """Whether `user` may change, delete or supersede a source, as far as studies allow it: its owner and
    admins."""
    return may_edit_catalogue(user) and (is_admin(user) or source.owner_id == user.pk)


def may_see_catalogue(user: User) -> bool:
    """Whether `user` may read associations and their votes: everyone who sets up or leads studies. They would
    show annotators what others think."""
    return may_create_studies(user) or studies_led_by(user).exists()
