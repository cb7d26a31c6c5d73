"""Somebody's place in a study for one request that changes something there.

To find it and then to lock it are two trips to PostgreSQL, and a transaction inside another one two more.
`held` does both at once; what services/slots.py and services/responses.py do with the enrolment then goes by
what was read, in the transaction that is open. SQLite has one writer at a time: what is only looked for is
found there without a transaction, which would keep the others waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import Func, TextField, Value

from annotation.assignment import queries
from annotation.assignment.queries import MEMBERSHIPS, Membership
from annotation.core.prepared import Prepared
from annotation.models import Enrolment

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# What items and answers go by; the words of the study are many, and not among it.
_COLUMNS = (
    *("annotator", "status", "position", "strata", "answered", "golds"),
    *("session_started_at", "session_units", "session_active_ms"),
    *(f"study__{name}" for name in ("name", "status", "session_cap", "gold_rate", "training_pass")),
)
_LOCKED = MEMBERSHIPS.only(*_COLUMNS).select_for_update(no_key=True, of=("self",))
_HELD = Prepared(_LOCKED)
# Until its end the transaction's commit does not wait for the disk: said in the query, it costs no trip.
_RELAXED = Func(
    Value("synchronous_commit"), Value("off"), Value(True), function="set_config", output_field=TextField()
)
_HELD_FOR_LEASES = Prepared(_LOCKED.annotate(relaxed=_RELAXED))


@contextmanager
def held(*, user: User, study_name: str, for_leases: bool = False) -> Iterator[Membership | None]:
    """The place of `user` in a study, or None. Nobody else changes it until the end, and what is done until
    then is done as a whole, or not at all if that raises.

    `for_leases`: nothing is written but what may be lost if the machine stops, since it is asked for again.
    On SQLite it is then found without a lock, since often nothing is written at all.
    """
    if for_leases and connection.vendor != "postgresql":
        yield queries.membership(user=user, study_name=study_name)
        return
    # in a larger transaction others' work would not wait for the disk either
    relaxed = for_leases and not connection.in_atomic_block
    with transaction.atomic():
        membership = queries.membership(
            user=user, study_name=study_name, by=_HELD_FOR_LEASES if relaxed else _HELD
        )
        if membership is not None:
            _mark(membership.enrolment, True)
        try:
            yield membership
        finally:
            if membership is not None:
                _mark(membership.enrolment, False)


def is_held(enrolment: Enrolment) -> bool:
    """Whether it was read and locked by the transaction that is open."""
    return bool(vars(enrolment).get("held"))


def transaction_of(enrolment: Enrolment) -> AbstractContextManager[Any]:
    """A transaction for what is done with `enrolment`: the one that is open if it is held by that."""
    return nullcontext() if is_held(enrolment) else transaction.atomic()


def _mark(enrolment: Enrolment, held: bool) -> None:
    vars(enrolment)["held"] = held


__all__ = ["held", "is_held", "transaction_of"]
