"""Lists of candidates: requested by a page, found by a worker, and stored (PROTOCOL §14).

The row of a list decides: it is pending, claimed by a worker, done or failed. While a worker stores new
candidates, the list has some of them only, so pages show those of finished lists.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.core.leases import Claim, Heartbeat, JobState, Leases
from generation.models import Run
from metrics.candidates import evaluation
from metrics.candidates.evaluation import CandidatesRefused, Evaluated
from metrics.candidates.selection import MOST_PER_REGION
from metrics.models import Candidate, CandidateList

LEASES = Leases(CandidateList, related=("run",))
log = logging.getLogger(__name__)
_AT_ONCE = 2000


def request(*, run: Run, axis: str = "", per_region: int = MOST_PER_REGION) -> CandidateList:
    """The list of a run for its present answers: the stored one if it was found in them, else one that waits
    for a worker. `axis` "": what the run was planned for. A list that failed on the same answers stays
    failed; `retry` puts it back. Raises CandidatesRefused. Call tasks.enqueue(list) afterwards.
    """
    evaluation.check_run(run)
    chosen: dict[str, Any] = {"axis": axis or evaluation.axis_of(run), "per_region": per_region}
    wanted = evaluation.digest(run, **chosen)
    with transaction.atomic():
        made, created = CandidateList.objects.select_for_update(no_key=True).get_or_create(
            run=run, defaults={**chosen, "digest": wanted}
        )
        if not created and made.digest != wanted:
            # a worker that holds the claim of the old answers finds another key, and stores nothing more
            CandidateList.objects.filter(pk=made.pk).update(
                **chosen,
                digest=wanted,
                state=JobState.PENDING,
                attempts=0,
                claim=None,
                lease_expires_at=None,
                not_before=None,
                finished_at=None,
                error="",
            )
            made.refresh_from_db()
    return made


def is_stale(found: CandidateList) -> bool:
    """Whether answers came in, or groups changed, since the list was requested."""
    return found.digest != evaluation.digest(found.run, axis=found.axis, per_region=found.per_region)


def retry(*, run: Run) -> bool:
    """Put a failed list back into the queue. Returns whether there was one."""
    moved = CandidateList.objects.filter(run=run, state=JobState.FAILED).update(
        state=JobState.PENDING, attempts=0, error="", finished_at=None
    )
    return moved == 1


def compute(*, list_id: int, now: datetime | None = None) -> CandidateList | None:
    """Claim a list, find its candidates and store them. Returns the list, or None if another worker has it
    or nothing is to be done. Never raises: the row stores the error."""
    claim = LEASES.claim(CandidateList.objects.filter(pk=list_id), now=now)
    if claim is None:
        return None
    [found] = claim.jobs
    try:
        with Heartbeat(claim):
            digest = evaluation.digest(found.run, axis=found.axis, per_region=found.per_region)
            result = evaluation.evaluate(found.run, axis=found.axis, per_region=found.per_region)
            _store(claim, result, digest)
    except Exception as error:
        final = isinstance(error, CandidatesRefused)
        if not final:
            log.exception(
                "candidates of run %s failed (try %s of %s)", found.run_id, found.attempts, LEASES.tries
            )
        claim.fail({found.pk: str(error) if final else f"{type(error).__name__}: {error}"}, final=final)
    return CandidateList.objects.filter(pk=list_id).first()


def _store(claim: Claim[CandidateList], result: Evaluated, digest: str) -> None:
    """Replace the stored candidates, as long as this worker holds the list. In several transactions, so that
    annotators' answers are not blocked."""
    [found] = claim.jobs
    stored = Candidate.objects.filter(candidate_list=found)
    while ids := list(stored.order_by("pk").values_list("pk", flat=True)[:_AT_ONCE]):
        if not _write(claim, stored.filter(pk__in=ids).delete):
            return
    rows = _rows(found, result)
    while part := list(islice(rows, _AT_ONCE)):
        if not _write(claim, partial(Candidate.objects.bulk_create, part)):
            return
    claim.finish(digest=digest, rules=asdict(result.extracted.rules))


def _write(claim: Claim[CandidateList], write: Callable[[], Any]) -> bool:
    """Write some rows, if this worker still holds the list; the row is locked meanwhile."""
    with transaction.atomic():
        held = claim.held().select_for_update(no_key=True).exists()
        if held:
            write()
    return held


def _rows(found: CandidateList, result: Evaluated) -> Iterator[Candidate]:
    also: dict[tuple[int, str], list[str]] = {}
    for group, merged in result.extracted.merged.items():
        for duplicate, attribute in merged.items():
            also.setdefault((group, attribute), []).append(duplicate)
    for row in result.candidates:
        yield Candidate(
            candidate_list=found,
            group_id=row.group,
            attribute=row.attribute,
            also=sorted(also.get((row.group, row.attribute), ())),
            count=row.given,
            tf=row.tf,
            idf=row.idf,
            salience=row.salience,
            selected=row.selected,
        )


def waiting(now: datetime | None = None) -> QuerySet[CandidateList]:
    """The lists that a worker could claim now, oldest first."""
    return LEASES.claimable(now).order_by("created_at", "pk")


def compute_pending(limit: int = 1) -> int:
    """Find the candidates of up to `limit` waiting lists, in the embedded worker. Returns how many."""
    finished = 0
    for list_id in list(waiting().values_list("pk", flat=True)[:limit]):
        found = compute(list_id=list_id)
        finished += found is not None and found.state == JobState.DONE
    return finished
