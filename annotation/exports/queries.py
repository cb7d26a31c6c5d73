"""What the export page shows: whether a study is large, and the exports that somebody asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings

from annotation.models import ExportJob, ExportState, Judgement, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LARGE = 100_000
"""Judgements above which the page offers to make an export in the background: some seconds' work."""
SHOWN = 30


@dataclass(frozen=True)
class Asked:
    """One export that somebody asked for. `share` is in per cent, None while it is not known."""

    job: ExportJob
    expires_at: datetime | None
    share: int | None

    @property
    def waiting(self) -> bool:
        return self.job.state in (ExportState.PENDING, ExportState.CLAIMED)

    @property
    def again(self) -> bool:
        """Whether it can be made again: it failed, or its file is gone."""
        return not self.waiting and not self.job.file


def is_large(study: Study) -> bool:
    """Whether the study has more than LARGE judgements; counted up to there and no further."""
    held = Judgement.objects.filter(
        response__unit__task__study=study, response__withdrawn_at__isnull=True
    ).order_by()
    return held[: LARGE + 1].count() > LARGE


def asked_by(user: User, study: Study) -> list[Asked]:
    """The exports of `study` that `user` asked for, newest first."""
    jobs = ExportJob.objects.filter(study=study, by=user)[:SHOWN]
    keep = timedelta(days=settings.EXPORT_KEEP_DAYS)
    return [
        Asked(
            job=job,
            expires_at=job.finished_at + keep if job.file and job.finished_at else None,
            share=min(100, job.rows * 100 // job.total) if job.total else None,
        )
        for job in jobs
    ]


__all__ = ["LARGE", "Asked", "asked_by", "is_large"]
