"""Annotators, known outside the team only by a pseudonym (PROTOCOL §1, DESIGN §3)."""

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, UniqueConstraint

from annotation.models.studies import ConsentText, Study


class ProfileField(models.TextChoices):
    """Fields of the self-described profile, all voluntary (PROTOCOL §1)."""

    ORIGIN = "origin", "geographic origin"
    RESIDENCE = "residence", "region of residence"
    IDENTITY_REGION = "identity_region", "region of identity"
    GENDER = "gender", "gender"
    AGE_BAND = "age_band", "age"
    LANGUAGES = "languages", "languages"


class Annotator(models.Model):
    """A person who annotates or, if `simulated`, a program in the demonstration."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="annotator"
    )
    pseudonym = models.CharField(max_length=40, unique=True)
    simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            CheckConstraint(condition=~Q(pseudonym=""), name="annotator_has_pseudonym"),
            # A program has no account: nobody can log in as a simulated annotator.
            CheckConstraint(
                condition=Q(simulated=False) | Q(user__isnull=True), name="annotator_simulated_has_no_account"
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class ProfileAnswer(models.Model):
    """One field of a self-described profile, with its own permission to be published.

    Strata compare `value`: the chosen option or, without one, free text (`self_described`). `own_words` is
    free text in addition to an option.
    """

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="profile_answers")
    field = models.CharField(max_length=40)
    value = models.CharField(max_length=200)
    own_words = models.CharField(max_length=200, blank=True)
    self_described = models.BooleanField(default=False)
    may_publish = models.BooleanField(default=False)
    answered_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["annotator", "field"], name="profileanswer_unique_field"),
            CheckConstraint(condition=~Q(value=""), name="profileanswer_has_value"),
        ]

    def __str__(self) -> str:
        return f"{self.field}: {self.value}"


class Consent(models.Model):
    """An annotator's consent to one version of a text, and when it was withdrawn."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="consents")
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    given_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["annotator", "text"],
                condition=Q(withdrawn_at__isnull=True),
                name="consent_given_once",
            ),
            CheckConstraint(
                condition=Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gte=F("given_at")),
                name="consent_withdrawn_after_given",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.text}"


class Invitation(models.Model):
    """A link with which people can join a study, with a maximum number of uses and an expiry time."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    code = models.CharField(max_length=40, unique=True)
    label = models.CharField(max_length=120, blank=True)
    max_uses = models.PositiveIntegerField(null=True, blank=True)
    uses = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            CheckConstraint(condition=~Q(code=""), name="invitation_has_code"),
            CheckConstraint(
                condition=Q(max_uses__isnull=True) | Q(uses__lte=F("max_uses")),
                name="invitation_uses_within_limit",
            ),
        ]

    def __str__(self) -> str:
        return self.label or self.code


class EnrolmentStatus(models.TextChoices):
    INVITED = "invited"
    TRAINING = "training"
    QUALIFIED = "qualified"
    BLOCKED = "blocked"
    FINISHED = "finished"
    SCREENED_OUT = "screened_out", "screened out"
    WITHDRAWN = "withdrawn"


class Enrolment(models.Model):
    """An annotator in a study.

    `position` is a lower bound in the study's queue: every open slot up to it belongs to a unit that the
    annotator has seen. It only grows, so *next* never scans the same slots twice
    (assignment/services/slots.py).
    """

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="enrolments")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="enrolments")
    status = models.CharField(max_length=12, choices=EnrolmentStatus, default=EnrolmentStatus.INVITED)
    position = models.BigIntegerField(default=0)
    invitation = models.ForeignKey(
        Invitation, on_delete=models.SET_NULL, null=True, blank=True, related_name="enrolments"
    )
    crowd_participant = models.CharField(max_length=120, blank=True)
    crowd_session = models.CharField(max_length=120, blank=True)
    # The strata that the profile matches, stored so that *next* need not compute them; null: not computed.
    strata = models.JSONField(null=True, blank=True)
    # Updated with each answer, so that no page has to count (annotate/services/responses.py).
    answered = models.PositiveIntegerField(default=0, help_text="Units answered, gold and training left out.")
    golds = models.PositiveIntegerField(default=0, help_text="Gold items and attention checks answered.")
    session_started_at = models.DateTimeField(null=True, blank=True)
    session_units = models.PositiveIntegerField(default=0)
    session_active_ms = models.PositiveBigIntegerField(default=0, help_text="Work since the last break.")
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["annotator", "study"], name="enrolment_unique"),
            CheckConstraint(condition=Q(status__in=EnrolmentStatus.values), name="enrolment_status_known"),
            CheckConstraint(condition=Q(position__gte=0), name="enrolment_position_not_negative"),
            UniqueConstraint(
                fields=["study", "crowd_participant"],
                condition=~Q(crowd_participant=""),
                name="enrolment_unique_crowd_participant",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.study}"


class AuditEvent(models.Model):
    """An entry of the audit log: who did what to people and data. It names no annotator."""

    what = models.CharField(max_length=40)
    study = models.ForeignKey(Study, on_delete=models.SET_NULL, null=True, related_name="audit_events")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at"]
        constraints = [
            CheckConstraint(condition=~Q(what=""), name="auditevent_says_what"),
        ]
        indexes = [
            # For the time of the last backup (visage_app/observability/queries/metrics.py).
            Index(fields=["at"], condition=Q(what="backup"), name="auditevent_backup"),
        ]

    def __str__(self) -> str:
        return self.what
