"""Renew leases while their jobs are being done."""

from __future__ import annotations

from types import TracebackType
from uuid import UUID

from annotation.core.heartbeat import PeriodicThread
from generation.jobs.services import claims
from generation.jobs.services.claims import Claim


class Heartbeat:
    """Renews claims in a thread, three times per lease.

    `with Heartbeat() as heartbeat: heartbeat.add(claim) ... heartbeat.remove(claim)`
    """

    def __init__(self) -> None:
        self._claims: dict[UUID, Claim] = {}
        self._pulse = PeriodicThread(
            self._renew, every=lambda: claims.lease_length().total_seconds() / 3, name="heartbeat"
        )

    def __enter__(self) -> Heartbeat:
        self._pulse.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.__exit__(kind, error, trace)

    def add(self, claim: Claim) -> None:
        self._claims[claim.key] = claim

    def remove(self, claim: Claim) -> None:
        self._claims.pop(claim.key, None)

    def _renew(self) -> bool:
        for claim in list(self._claims.values()):
            claims.renew(claim)
        return True
