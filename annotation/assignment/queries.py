"""An account's enrolment in a study, and the open slots that it may lease (docs/adr/0002-slots.md)."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Exists, OuterRef, Subquery
from django.http import Http404

from annotation.core.prepared import Param, Prepared, cursor
from annotation.models import (
    Consent,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    Study,
)


@dataclass(frozen=True)
class Membership:
    """An account's enrolment in a study. `consented`: they agreed to the latest consent text; `leads`: they
    lead the study, and so may not answer in it."""

    enrolment: Enrolment
    consented: bool
    leads: bool = False

    @property
    def blocked(self) -> bool:
        return self.enrolment.status == EnrolmentStatus.BLOCKED


_LATEST_TEXT = ConsentText.objects.filter(study=OuterRef(OuterRef("study"))).order_by("-version")

MEMBERSHIPS = (
    Enrolment.objects.filter(annotator__user=Param("user"), study__name=Param("study"))
    .select_related("study")
    .annotate(
        consented=Exists(
            Consent.objects.filter(
                annotator=OuterRef("annotator"),
                withdrawn_at__isnull=True,
                text__study=OuterRef("study"),
                text__version=Subquery(_LATEST_TEXT.values("version")[:1]),
            )
        ),
        leads=Exists(Study.leads.through.objects.filter(study=OuterRef("study"), user=Param("user"))),
    )
)
"""The query set that `membership` reads."""

_MEMBERSHIP = Prepared(MEMBERSHIPS)


def membership(*, user: User, study_name: str, query: Prepared[Any] = _MEMBERSHIP) -> Membership | None:
    """The membership of `user` in a study, or None, in one query. `query` is made from MEMBERSHIPS."""
    enrolment: Any = query.first(user=user.pk, study=study_name)
    if enrolment is None:
        return None
    return Membership(enrolment=enrolment, consented=enrolment.consented, leads=enrolment.leads)


def membership_or_404(*, user: User, study_name: str) -> Membership:
    """The membership of `user` in a study, in any state of both, else 404."""
    found = membership(user=user, study_name=study_name)
    if found is None:
        raise Http404
    return found


# Candidates read at once. More than are wanted only help when several annotators ask at the same moment: each
# takes the first that no other has locked.
_BATCH = 8

# The columns are compared and ordered as one row, so only the index slot_open_in_queue fits: whatever the
# database's statistics of a study are, it reads open slots only. OFFSET stops PostgreSQL from joining all
# that the annotator has ever seen; it checks each candidate instead. The + before a column excludes its
# index: one person's answers are more rows than one unit's. A unit is excluded if they hold or filled a slot
# of it, answered it as a surplus, or skipped it.
_FIRST = """
    SELECT slot.id, slot.unit_id, slot.queue
    FROM annotation_slot slot
    WHERE slot.state = 'open'
      AND (slot.stratum, slot.study_id, slot.queue) > (%(stratum)s, %(study)s, %(after)s)
      AND (slot.stratum, slot.study_id, slot.queue) < (%(stratum)s, %(study)s, 9223372036854775807)
      AND NOT EXISTS (SELECT 1 FROM annotation_slot mine
                      WHERE mine.unit_id = slot.unit_id AND mine.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM annotation_response answered
                      WHERE answered.unit_id = slot.unit_id AND +answered.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM annotation_skip skipped
                      WHERE skipped.unit_id = slot.unit_id AND skipped.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
    ORDER BY slot.stratum, slot.study_id, slot.queue
"""


class Candidate(NamedTuple):
    """An open slot that the annotator may lease."""

    pk: int
    unit_id: int
    queue: int


def open_slots(*, enrolment: Enrolment, texts: Iterable[str], after: int, least: int) -> list[Candidate]:
    """The first open slots after `after` in the queue, of strata `texts` and of units that the annotator has
    not seen, in queue order. Fewer than `least` only if there are no more."""
    # On SQLite one transaction claims at a time, so nobody can take a candidate away.
    number = max(_BATCH, 4 * least) if connection.vendor == "postgresql" else 2 * least
    params = {"study": enrolment.study_id, "annotator": enrolment.annotator_id, "after": after}
    # The limit is part of the SQL text: for an unknown limit PostgreSQL plans for a tenth of all rows. There
    # are few different limits, so few statements.
    query = f"{_FIRST} LIMIT {number:d}"
    found: list[Candidate] = []
    with cursor() as database:
        for text in texts:
            database.execute(query, {**params, "stratum": text})
            found += map(Candidate._make, database.fetchall())
    return sorted(found, key=attrgetter("queue"))[:number]
