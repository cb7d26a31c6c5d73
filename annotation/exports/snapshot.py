"""One consistent state of a study for an export, without anybody who withdraws in the meantime."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from annotation.core.snapshots import snapshot
from annotation.exports.selection import ExportRefused, Selection
from annotation.models import Response, Study


class WithdrawnDuringExport(ExportRefused):
    """Somebody withdrew while their answers were being written: what was written is discarded."""

    def __init__(self) -> None:
        super().__init__("Somebody withdrew from the study while it was exported. Export it again.")


@contextmanager
def consistent_read(selection: Selection) -> Iterator[None]:
    """All reads inside see the database as it was at the first of them, while others go on writing.

    Nothing may be written inside. Raises WithdrawnDuringExport at the end if somebody withdrew meanwhile.
    """
    ours = not connection.in_atomic_block
    with snapshot():
        if ours and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # Compiling the query takes longer than it saves
                cursor.execute("SET LOCAL jit = off")
        selection.withdrawn = count_withdrawn(selection.study)
        yield
    check_withdrawals(selection)


def check_withdrawals(selection: Selection) -> None:
    """Raises WithdrawnDuringExport if responses were withdrawn since the snapshot was taken."""
    if count_withdrawn(selection.study) != selection.withdrawn:
        raise WithdrawnDuringExport


def count_withdrawn(study: Study) -> int:
    """How many responses were ever withdrawn. The number only grows: if it changed, somebody withdrew."""
    return Response.objects.filter(unit__task__study=study, withdrawn_at__isnull=False).count()
