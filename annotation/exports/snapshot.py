"""One state of a study for an export however long it takes, and nobody in it who left meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from annotation.core.snapshots import snapshot
from annotation.exports.selection import ExportRefused, Selection
from annotation.models import Response


class WithdrawnMeanwhile(ExportRefused):
    """Somebody took their answers back while they were being written: what was written is thrown away."""

    def __init__(self) -> None:
        super().__init__("Somebody withdrew from the study while it was exported. Export it again.")


@contextmanager
def consistent(selection: Selection) -> Iterator[None]:
    """Reads inside see the database as it was at the first of them, also while answers come in.

    Nothing may be written inside. Raises WithdrawnMeanwhile at the end, when it is so.
    """
    ours = not connection.in_atomic_block
    with snapshot():
        if ours and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # Compiling the query takes longer than it saves.
                cursor.execute("SET LOCAL jit = off")
        selection.withdrawn = _withdrawn(selection)
        yield
    check_withdrawals(selection)


def check_withdrawals(selection: Selection) -> None:
    """Raises WithdrawnMeanwhile where answers were taken back since they were read."""
    if _withdrawn(selection) != selection.withdrawn:
        raise WithdrawnMeanwhile


def _withdrawn(selection: Selection) -> int:
    of_study = Response.objects.filter(unit__task__study=selection.study)
    return of_study.filter(withdrawn_at__isnull=False).count()


__all__ = ["WithdrawnMeanwhile", "check_withdrawals", "consistent"]
