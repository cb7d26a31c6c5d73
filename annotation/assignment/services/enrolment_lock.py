"""Finds and locks an enrolment for one request, in one round trip on PostgreSQL. SQLite has one writer at a
time, so a request that usually only reads gets no transaction there."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Func, TextField, Value

from annotation.assignment import queries
from annotation.assignment.queries import MEMBERSHIPS, Membership
from annotation.core.prepared import Prepared
from annotation.models import Enrolment

# What items and answers need. The study's texts are long and left out.
_COLUMNS = (
    *("annotator", "status", "position", "strata", "answered", "golds"),
    *("session_started_at", "session_units", "session_active_ms"),
    *(f"study__{name}" for name in ("name", "status", "session_cap", "gold_rate", "training_pass")),
)
_FOR_UPDATE = MEMBERSHIPS.only(*_COLUMNS).select_for_update(no_key=True, of=("self",))
_LOCKED = Prepared(_FOR_UPDATE)
# The commit of this transaction does not wait for the disk. Set inside the query, it costs no round trip.
_ASYNCHRONOUS_COMMIT = Func(
    Value("synchronous_commit"), Value("off"), Value(True), function="set_config", output_field=TextField()
)
_LOCKED_FOR_LEASES = Prepared(_FOR_UPDATE.annotate(relaxed=_ASYNCHRONOUS_COMMIT))


@contextmanager
def locked_membership(
    *, user: User, study_name: str, for_leases: bool = False
) -> Iterator[Membership | None]:
    """The membership of `user` in a study, or None, locked until the end of the block, which is one
    transaction. `for_leases`: the block only writes leases, which may be lost if the machine stops; on SQLite
    there is then no lock, since often nothing is written at all."""
    if for_leases and connection.vendor != "postgresql":
        yield queries.membership(user=user, study_name=study_name)
        return
    # Inside a larger transaction, other writes would not wait for the disk either.
    relaxed = for_leases and not connection.in_atomic_block
    query = _LOCKED_FOR_LEASES if relaxed else _LOCKED
    with transaction.atomic():
        membership = queries.membership(user=user, study_name=study_name, query=query)
        if membership is not None:
            vars(membership.enrolment)["locked"] = True
        try:
            yield membership
        finally:
            if membership is not None:
                vars(membership.enrolment)["locked"] = False


def is_locked(enrolment: Enrolment) -> bool:
    """Whether the open transaction has read and locked it."""
    return bool(vars(enrolment).get("locked"))


def transaction_of(enrolment: Enrolment) -> AbstractContextManager[Any]:
    """The open transaction if it has locked `enrolment`, else a new one."""
    return nullcontext() if is_locked(enrolment) else transaction.atomic()
