"""Striking candidates out, and taking that back."""

import logging
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import AuditEvent
from metrics.models import Candidate, StruckCandidate

logger = logging.getLogger(__name__)


@transaction.atomic
def strike(*, candidates: Iterable[Candidate], by: User) -> int:
    """Strike candidates of one list out; returns how many were not struck out before."""
    rows = {(one.group_id, one.attribute): one for one in candidates}
    if not rows:
        return 0
    run = next(iter(rows.values())).candidate_list.run
    there = set(StruckCandidate.objects.filter(run=run).values_list("group_id", "attribute"))
    new = [
        StruckCandidate(run=run, group_id=group, attribute=attribute, by=by)
        for group, attribute in rows
        if (group, attribute) not in there
    ]
    # somebody else may strike out the same one at this moment
    StruckCandidate.objects.bulk_create(new, ignore_conflicts=True)
    if new:
        _audit("candidates struck out", run_id=run.pk, number=len(new), by=by)
    return len(new)


@transaction.atomic
def restore(*, candidates: Iterable[Candidate], by: User) -> int:
    """Take back that candidates of one list were struck out; returns of how many."""
    restored = 0
    run_id = 0
    for one in candidates:
        run_id = one.candidate_list.run_id
        deleted, _ = StruckCandidate.objects.filter(
            run=run_id, group=one.group_id, attribute=one.attribute
        ).delete()
        restored += deleted
    if restored:
        _audit("candidates restored", run_id=run_id, number=restored, by=by)
    return restored


def _audit(what: str, *, run_id: int, number: int, by: User) -> None:
    AuditEvent.objects.create(what=what, by=by, details={"run": run_id, "candidates": number})
    logger.info("%s: %s of run %s by user %s", what, number, run_id, by.pk)
