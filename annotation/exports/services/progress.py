"""Renews an export's lease and stores its progress while it is being made."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType

from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.heartbeat import PeriodicThread
from annotation.exports.selection import Selection
from annotation.models import ExportJob

SECONDS = 1.0


class LeaseRenewal:
    """`with LeaseRenewal(claimed, selection, duration) as lease: ... lease.lost`; `claimed` is the job as
    long as it has this worker's claim.

    It uses a connection of its own: the export's is in a read-only snapshot. `lost` is set when the job no
    longer has the claim.
    """

    def __init__(self, claimed: QuerySet[ExportJob], selection: Selection, duration: timedelta) -> None:
        self.lost = False
        self._claimed, self._selection, self._duration = claimed, selection, duration
        self._pulse = PeriodicThread(self._renew, every=self._seconds, name="export-lease")

    def __enter__(self) -> LeaseRenewal:
        self._pulse.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.__exit__(kind, error, trace)

    def _seconds(self) -> float:
        return min(SECONDS, self._duration.total_seconds() / 3)

    def _renew(self) -> bool:
        until = timezone.now() + self._duration
        self.lost = not self._claimed.all().update(rows=self._selection.rows, lease_expires_at=until)
        return not self.lost
