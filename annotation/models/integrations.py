"""API tokens, webhooks and their deliveries, background exports and imports (DESIGN §8)."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from annotation.core.leases import CLAIM_IFF_CLAIMED, JobState, LeasedJob
from annotation.models.studies import Study

_UNFINISHED = Q(state__in=["pending", "claimed"])


class Scope(models.TextChoices):
    """What a token may do, never more than its account."""

    READ = "read", "read studies, progress, scores and figures"
    MANAGE = "manage", "set up studies, control runs, invite and block people"
    ANNOTATE = "annotate", "fetch items and send answers"
    EXPORT = "export", "export annotator-level data"
    ACCOUNTS = "accounts", "see who people are, give roles, merge and erase people"


class ApiToken(models.Model):
    """A secret with which a program acts as an account, for a limited time and with some scopes.

    Only the SHA-256 of the secret is stored; `prefix` lets its owner recognize it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            CheckConstraint(condition=~Q(name=""), name="apitoken_has_name"),
            CheckConstraint(condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="apitoken_digest_is_sha256"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class Webhook(models.Model):
    """A URL that is notified of events in a study. `secret` signs each message (HMAC-SHA256).

    Answers are announced afterwards: `seen_response` is the last response processed for this webhook
    (webhooks/services/events.py). `failing_since` is the first failed attempt after the last success; nothing
    is sent before `rests_until`.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    secret = models.CharField(max_length=64)
    events = models.JSONField(default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_why = models.TextField(blank=True, help_text="Why the program itself disabled it.")
    seen_response = models.BigIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    rests_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(fields=["study", "url"], name="webhook_unique_url"),
            CheckConstraint(condition=~Q(secret=""), name="webhook_has_secret"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def state(self) -> str:
        """*on*, *failing* (the last attempt failed, others follow), *given up* (disabled after failing too
        long) or *off* (disabled by an account)."""
        if self.disabled_at is not None:
            return "given up" if self.disabled_why else "off"
        return "failing" if self.failing_since is not None else "on"


class Delivery(LeasedJob):
    """One message to one webhook. `key` is the same at every attempt, so receivers can detect repeats."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    key = models.UUIDField(unique=True, default=uuid.uuid4)
    event = models.CharField(max_length=40)
    payload = models.JSONField(default=dict)
    status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of the last answer.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            CheckConstraint(condition=Q(state__in=JobState.values), name="delivery_state_known"),
            CheckConstraint(condition=~Q(event=""), name="delivery_has_event"),
            CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="delivery_claim_iff_claimed"),
            CheckConstraint(
                condition=Q(state__in=[JobState.DONE, JobState.FAILED], finished_at__isnull=False)
                | (~Q(state__in=[JobState.DONE, JobState.FAILED]) & Q(finished_at__isnull=True)),
                name="delivery_finished_iff_done_or_failed",
            ),
            CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="delivery_failed_says_why"
            ),
        ]
        indexes = [
            Index(fields=["created_at"], condition=_UNFINISHED, name="delivery_waiting"),
            # For metrics (visage_app/observability/queries/queues.py) and deletion after a month.
            Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="delivery_finished"),
            Index(fields=["webhook"], condition=Q(state=JobState.FAILED), name="delivery_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}"


class ExportJob(LeasedJob):
    """One background export and its file.

    The row decides; a queue message only wakes a worker. `claim` is a fencing key: a worker whose lease
    expired finds another key there and stores nothing. `file` is a path in the private storage, empty once
    deleted.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="export_jobs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    format = models.CharField(max_length=20)
    filters = models.JSONField(default=dict)
    rows = models.PositiveBigIntegerField(default=0, help_text="Judgements written so far.")
    total = models.PositiveBigIntegerField(null=True, help_text="Judgements there are to write.")
    file = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(null=True, help_text="bytes")
    sha256 = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            CheckConstraint(condition=Q(state__in=JobState.values), name="exportjob_state_known"),
            CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="exportjob_claim_iff_claimed"),
            CheckConstraint(
                condition=Q(state__in=[JobState.DONE, JobState.FAILED], finished_at__isnull=False)
                | (~Q(state__in=[JobState.DONE, JobState.FAILED]) & Q(finished_at__isnull=True, file="")),
                name="exportjob_finished_iff_done_or_failed",
            ),
            CheckConstraint(
                condition=~Q(state=JobState.FAILED) | (~Q(error="") & Q(file="")),
                name="exportjob_failed_says_why",
            ),
            CheckConstraint(
                condition=Q(file="") | Q(size__isnull=False, sha256__regex=r"^[0-9a-f]{64}$"),
                name="exportjob_file_has_sha256",
            ),
        ]
        indexes = [
            # For the worker: jobs that wait or whose claim may have expired.
            Index(fields=["created_at"], condition=_UNFINISHED, name="exportjob_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.format} of {self.study_id}"


class CatalogueImport(LeasedJob):
    """One background import of uploaded files into the catalogue: SeeGULL's associations or ViSAGe's study.

    The row decides; a queue message only wakes a worker. `options`: what an import command is given (axis and
    source, or study). `files`: which of the release's files -> the name it was uploaded under. Its content is
    in the private storage under `key` until the import is done or has failed.
    """

    class Kind(models.TextChoices):
        SEEGULL = "seegull", "SeeGULL"
        VISAGE = "visage", "ViSAGe"

    kind = models.CharField(max_length=10, choices=Kind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    key = models.UUIDField(unique=True, default=uuid.uuid4)
    options = models.JSONField(default=dict)
    files = models.JSONField(default=dict)
    step = models.CharField(max_length=40, blank=True, help_text="What the worker does.")
    done = models.PositiveBigIntegerField(default=0, help_text="Rows of this step that are done.")
    total = models.PositiveBigIntegerField(default=0, help_text="Rows of this step.")
    report = models.JSONField(default=dict, help_text="Rows created, and oddities, once it is done.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            CheckConstraint(condition=Q(state__in=JobState.values), name="catalogueimport_state_known"),
            CheckConstraint(condition=Q(kind__in=["seegull", "visage"]), name="catalogueimport_kind_known"),
            CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="catalogueimport_claim_iff_claimed"),
            CheckConstraint(
                condition=Q(state__in=[JobState.DONE, JobState.FAILED], finished_at__isnull=False)
                | (~Q(state__in=[JobState.DONE, JobState.FAILED]) & Q(finished_at__isnull=True)),
                name="catalogueimport_finished_iff_done_or_failed",
            ),
            CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="catalogueimport_failed_says_why"
            ),
        ]
        indexes = [
            Index(fields=["created_at"], condition=_UNFINISHED, name="catalogueimport_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
