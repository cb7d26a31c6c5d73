"""Keeps an export's lease and tells how far it is, while it is being made."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType

from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.heartbeat import PeriodicThread
from annotation.exports.selection import Selection
from annotation.models import ExportJob

SECONDS = 1.0


class Beat:
    """`with Beat(mine, selection, lease) as beat: ... beat.lost`; `mine` is the job while it is claimed.

    On a connection of its own: that of the export is in a transaction that sees nothing and writes nothing.
    `lost` is set when the job is no longer under its claim.
    """

    def __init__(self, mine: QuerySet[ExportJob], selection: Selection, lease: timedelta) -> None:
        self.lost = False
        self._mine, self._selection, self._lease = mine, selection, lease
        self._pulse = PeriodicThread(self._tell, every=self._seconds, name="export-beat")

    def __enter__(self) -> Beat:
        self._pulse.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.__exit__(kind, error, trace)

    def _seconds(self) -> float:
        return min(SECONDS, self._lease.total_seconds() / 3)

    def _tell(self) -> bool:
        until = timezone.now() + self._lease
        self.lost = not self._mine.all().update(rows=self._selection.rows, lease_expires_at=until)
        return not self.lost


__all__ = ["Beat"]
