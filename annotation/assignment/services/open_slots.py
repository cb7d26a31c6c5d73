"""Finds the open slots that an annotator may lease next (docs/adr/0002-slots.md). Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from django.db import connection

from annotation.core.prepared import cursor
from annotation.models import Enrolment

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


def first(*, enrolment: Enrolment, texts: Iterable[str], after: int, least: int) -> list[Candidate]:
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
