"""Queries of the export page and the API: whether a study is large, and a user's background exports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation import policies
from annotation.core.leases import OPEN
from annotation.models import ExportJob, Judgement, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LARGE = 100_000
"""Number of judgements above which the page offers background exports: some seconds' work."""
MAX_LISTED = 30


@dataclass(frozen=True)
class ListedExport:
    """One background export. `share` is its progress in per cent, None while unknown."""

    job: ExportJob
    expires_at: datetime | None
    share: int | None

    @property
    def waiting(self) -> bool:
        return self.job.state in OPEN

    @property
    def can_retry(self) -> bool:
        """Whether it can be made again: it failed, or its file was deleted."""
        return not self.waiting and not self.job.file


def is_large(study: Study) -> bool:
    """Whether the study has more than LARGE judgements. The count stops there."""
    judgements = Judgement.objects.filter(
        response__unit__task__study=study, response__withdrawn_at__isnull=True
    ).order_by()
    return judgements[: LARGE + 1].count() > LARGE


def export_job(user: User, study: Study, *, pk: int) -> ExportJob:
    """One background export of `study`; 404 unless `user` requested it and may still fetch it."""
    job = get_object_or_404(ExportJob.objects.select_related("study"), study=study, pk=pk)
    if not policies.may_fetch_export(user, job):
        raise Http404
    return job


def exports_of(user: User, study: Study) -> list[ListedExport]:
    """The background exports of `study` that `user` requested, newest first."""
    jobs = ExportJob.objects.filter(study=study, by=user)[:MAX_LISTED]
    keep = timedelta(days=settings.EXPORT_KEEP_DAYS)
    return [
        ListedExport(
            job=job,
            expires_at=job.finished_at + keep if job.file and job.finished_at else None,
            share=min(100, job.rows * 100 // job.total) if job.total else None,
        )
        for job in jobs
    ]
