"""Which open slots somebody could be given: the look-up of *next* (docs/adr/0002-slots.md). Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from django.db import connection

from annotation.core.prepared import cursor
from annotation.models import Enrolment

# Candidates looked at in one go. More than are wanted only matter when several annotators ask at the very
# same moment: each then takes the first that no other has locked.
_BATCH = 8

# Compared as a row and ordered as a row, the columns are those of the index slot_open_in_queue and of no
# other, nor does another one begin with the first of them: whatever the database believes of a study, it
# walks open slots only. OFFSET keeps PostgreSQL from joining all that the annotator has ever met; it asks for
# each candidate. The + before a column keeps its index out of it: all that one person ever answered is more
# to walk than the answers to one unit. A unit is met if they hold or filled a slot of it, answered it as a
# surplus, or skipped it.
_FIRST = """
    SELECT slot.id, slot.unit_id, slot.queue
    FROM annotation_slot slot
    WHERE slot.state = 'open'
      AND (slot.stratum, slot.study_id, slot.queue) > (%(stratum)s, %(study)s, %(after)s)
      AND (slot.stratum, slot.study_id, slot.queue) < (%(stratum)s, %(study)s, 9223372036854775807)
      AND NOT EXISTS (SELECT 1 FROM annotation_slot mine
                      WHERE mine.unit_id = slot.unit_id AND mine.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM annotation_response said
                      WHERE said.unit_id = slot.unit_id AND +said.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM annotation_skip skipped
                      WHERE skipped.unit_id = slot.unit_id AND skipped.annotator_id = %(annotator)s
                      LIMIT 1 OFFSET 0)
    ORDER BY slot.stratum, slot.study_id, slot.queue
"""


class Candidate(NamedTuple):
    """An open slot as the look-up finds it."""

    pk: int
    unit_id: int
    queue: int


def first(*, enrolment: Enrolment, texts: Iterable[str], after: int, least: int) -> list[Candidate]:
    """The first open slots after `after` in the queue, of strata `texts` and of units that the annotator has
    not met, in the order of the queue. Fewer than `least` only if there are no more."""
    # On SQLite one transaction claims at a time: nobody takes a candidate away.
    number = max(_BATCH, 4 * least) if connection.vendor == "postgresql" else 2 * least
    asked = {"study": enrolment.study_id, "annotator": enrolment.annotator_id, "after": after}
    # In figures, of which there are few: of a number that PostgreSQL does not know when it plans it believes
    # that it is a tenth of all.
    query = f"{_FIRST} LIMIT {number:d}"
    found: list[Candidate] = []
    with cursor() as ours:
        for text in texts:
            ours.execute(query, {**asked, "stratum": text})
            found += map(Candidate._make, ours.fetchall())
    return sorted(found, key=attrgetter("queue"))[:number]


__all__ = ["Candidate", "first"]
