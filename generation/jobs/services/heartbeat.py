"""Puts off the end of leases while their jobs are being done."""

from __future__ import annotations

from types import TracebackType
from uuid import UUID

from annotation.core.heartbeat import PeriodicThread
from generation.jobs.services import claims
from generation.jobs.services.claims import Claimed


class Heartbeat:
    """`with Heartbeat() as beat: beat.hold(claimed) ... beat.release(claimed)`: three beats a lease."""

    def __init__(self) -> None:
        self._held: dict[UUID, Claimed] = {}
        self._pulse = PeriodicThread(
            self._renew, every=lambda: claims.lease().total_seconds() / 3, name="heartbeat"
        )

    def __enter__(self) -> Heartbeat:
        self._pulse.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.__exit__(kind, error, trace)

    def hold(self, claimed: Claimed) -> None:
        self._held[claimed.key] = claimed

    def release(self, claimed: Claimed) -> None:
        self._held.pop(claimed.key, None)

    def _renew(self) -> bool:
        for claimed in list(self._held.values()):
            claims.renew(claimed)
        return True


__all__ = ["Heartbeat"]
