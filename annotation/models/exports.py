"""Background exports (DESIGN §8)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.studies import Study


class ExportState(models.TextChoices):
    """pending -> claimed -> done | pending again | failed (after its third attempt)."""

    PENDING = "pending"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"


class ExportJob(models.Model):
    """One background export and its file.

    The row decides; a queue message only wakes a worker. `claim` is a fencing key: a worker whose lease
    expired finds another key there and stores nothing. `file` is a path in the private storage, empty once
    deleted.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="export_jobs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    format = models.CharField(max_length=20)
    filters = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=ExportState, default=ExportState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    rows = models.PositiveBigIntegerField(default=0, help_text="Judgements written so far.")
    total = models.PositiveBigIntegerField(null=True, help_text="Judgements there are to write.")
    file = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(null=True, help_text="bytes")
    sha256 = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=ExportState.values), name="exportjob_state_known"),
            models.CheckConstraint(
                condition=Q(state=ExportState.CLAIMED, claim__isnull=False, lease_expires_at__isnull=False)
                | (~Q(state=ExportState.CLAIMED) & Q(claim__isnull=True, lease_expires_at__isnull=True)),
                name="exportjob_claim_iff_claimed",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[ExportState.DONE, ExportState.FAILED], finished_at__isnull=False)
                | (
                    ~Q(state__in=[ExportState.DONE, ExportState.FAILED])
                    & Q(finished_at__isnull=True, file="")
                ),
                name="exportjob_finished_iff_done_or_failed",
            ),
            models.CheckConstraint(
                condition=~Q(state=ExportState.FAILED) | (~Q(error="") & Q(file="")),
                name="exportjob_failed_says_why",
            ),
            models.CheckConstraint(
                condition=Q(file="") | Q(size__isnull=False, sha256__regex=r"^[0-9a-f]{64}$"),
                name="exportjob_file_has_sha256",
            ),
        ]
        indexes: ClassVar = [
            # For the worker: jobs that wait or whose claim may have expired.
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=[ExportState.PENDING, ExportState.CLAIMED]),
                name="exportjob_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.format} of {self.study_id}"
