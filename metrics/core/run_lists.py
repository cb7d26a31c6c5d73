"""What a worker finds in the answers of a run and stores: candidates, associations.

The row of such a list decides: it is pending, claimed by a worker, done or failed. Its `digest` identifies
the answers that are to be read, or were read. While a worker stores new rows, the list has some of them only,
so pages show those of finished lists.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from typing import Any, Generic, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet

from annotation.core.leases import Claim, Heartbeat, JobState, LeasedJob, Leases
from generation.models import Run

log = logging.getLogger(__name__)
L = TypeVar("L", bound=LeasedJob)
M = TypeVar("M", bound=Model)
_AT_ONCE = 2000
_WAITING: dict[str, Any] = {
    "state": JobState.PENDING,
    "attempts": 0,
    "claim": None,
    "lease_expires_at": None,
    "not_before": None,
    "finished_at": None,
    "error": "",
}


@dataclass(frozen=True)
class RunLists(Generic[L]):
    """The lists of a table that has one row for each run, with `digest` and `created_at`.

    `digest`: of the present answers of a list's run. `find`: finds what is in them and stores it, ending with
    `claim.finish`. `refused`: errors of `find` that trying again does not help.
    """

    table: type[L]
    digest: Callable[[L], str]
    find: Callable[[Claim[L]], None]
    refused: type[Exception] | tuple[type[Exception], ...]

    @cached_property
    def leases(self) -> Leases[L]:
        return Leases(self.table, related=("run",))

    def request(self, run: Run, digest: str, **chosen: Any) -> L:
        """The list of a run for its answers of this digest: the stored one if it was found in them, else one
        that waits for a worker. A list that failed on the same answers stays failed; `retry` puts it back.
        `chosen`: further columns."""
        with transaction.atomic():
            made, created = (
                self._rows()
                .select_for_update(no_key=True)
                .get_or_create(run=run, defaults={**chosen, "digest": digest})
            )
            if not created and getattr(made, "digest", "") != digest:
                # a worker that holds the claim of the old answers finds another key, and stores nothing more
                self._rows().filter(pk=made.pk).update(**chosen, digest=digest, **_WAITING)
                made.refresh_from_db()
        return made

    def is_stale(self, found: L) -> bool:
        """Whether what is found depends on has changed since the list was requested."""
        return getattr(found, "digest", "") != self.digest(found)

    def retry(self, run: Run) -> bool:
        """Put a failed list back into the queue. Returns whether there was one."""
        failed = self._rows().filter(run=run, state=JobState.FAILED)
        return failed.update(state=JobState.PENDING, attempts=0, error="", finished_at=None) == 1

    def compute(self, list_id: int, *, now: datetime | None = None) -> L | None:
        """Claim a list, and find and store what is in it. Returns the list, or None if another worker has it
        or nothing is to be done. Never raises: the row stores the error."""
        claim = self.leases.claim(self._rows().filter(pk=list_id), now=now)
        if claim is None:
            return None
        [found] = claim.jobs
        try:
            with Heartbeat(claim):
                self.find(claim)
        except Exception as error:
            final = isinstance(error, self.refused)
            if not final:
                log.exception("%s failed (try %s of %s)", found, found.attempts, self.leases.tries)
            claim.fail({found.pk: str(error) if final else f"{type(error).__name__}: {error}"}, final=final)
        return self._rows().filter(pk=list_id).first()

    def waiting(self, now: datetime | None = None) -> QuerySet[L]:
        """The lists that a worker could claim now, oldest first."""
        return self.leases.claimable(now).order_by("created_at", "pk")

    def compute_pending(self, limit: int = 1) -> int:
        """Find what is in up to `limit` waiting lists, in the embedded worker. Returns how many."""
        finished = 0
        for list_id in list(self.waiting().values_list("pk", flat=True)[:limit]):
            found = self.compute(list_id)
            finished += found is not None and found.state == JobState.DONE
        return finished

    def _rows(self) -> QuerySet[L]:
        rows: QuerySet[L] = self.table._default_manager.all()
        return rows


def write(claim: Claim[Any], change: Callable[[], Any]) -> bool:
    """Change some rows of a claimed list, if this worker still holds it; its row is locked meanwhile. Called
    for some rows at a time, so that annotators' answers are not blocked."""
    with transaction.atomic():
        held = claim.held().select_for_update(no_key=True).exists()
        if held:
            change()
    return held


def replace_rows(
    claim: Claim[Any],
    stored: QuerySet[M],
    rows: Iterator[M],
    *,
    parent: str,
    key: Sequence[str],
    columns: Sequence[str],
    kept: Callable[[tuple[Any, ...]], bool],
) -> bool:
    """Replace the `stored` rows of a claimed list by `rows`; one that stays keeps its id. Returns whether
    this worker held the list until the end.

    `parent`: the column that refers to the list. `key`: those that identify a row in it, `columns`: the
    others. `kept`: whether a stored row of
    this key stays.
    """
    ids = stored.order_by("pk").values_list("pk", *key)
    gone = [pk for pk, *values in ids.iterator(chunk_size=_AT_ONCE) if not kept(tuple(values))]
    for start in range(0, len(gone), _AT_ONCE):
        if not write(claim, stored.filter(pk__in=gone[start : start + _AT_ONCE]).delete):
            return False
    store = partial(
        stored.model._default_manager.bulk_create,
        update_conflicts=True,
        unique_fields=[parent, *key],
        update_fields=columns,
    )
    while part := list(islice(rows, _AT_ONCE)):
        if not write(claim, partial(store, part)):
            return False
    return True
