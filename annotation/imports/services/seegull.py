"""Import SeeGULL's associations (PROTOCOL §3, §4, §13)."""

from django.db import transaction

from annotation.core.table_statistics import analyze_tables
from annotation.imports.readers.seegull import AssociationFile, AssociationRow
from annotation.imports.services.catalogue import (
    Imported,
    ImportRefused,
    Progress,
    SourceInfo,
    ensure_attributes,
    ensure_groups,
    lock_source,
)
from annotation.models import Association, Attribute, Axis, IdentityGroup

CHUNK = 1000
"""Associations per INSERT."""


@transaction.atomic
def import_associations(
    *, file: AssociationFile, source: SourceInfo, axis: Axis, progress: Progress
) -> Imported:
    """Write the associations of `file` under `source`, with their groups on `axis`.

    Importing the same associations again changes nothing. Raises ImportRefused if `source` has other
    associations, because units and scores may depend on them.
    """
    source_row = lock_source(source)
    first_rows: dict[str, int] = {}
    for row in file.rows:
        first_rows.setdefault(row.identity, row.row)
    groups = ensure_groups(first_rows=first_rows, axis=axis, file=file.summary.name)
    attributes, attributes_created = ensure_attributes(texts=(row.attribute for row in file.rows))

    wanted = {(groups.keys[row.identity], attributes[row.attribute]): row for row in file.rows}
    stored = {(row.group_id, row.attribute_id): row for row in source_row.associations.all()}
    if stored:
        _check_same(wanted, stored, file.summary.name, source.name)
    else:
        rows = [_association(source_row.pk, key, row) for key, row in wanted.items()]
        for start in range(0, len(rows), CHUNK):
            Association.objects.bulk_create(rows[start : start + CHUNK])
            progress("associations", min(start + CHUNK, len(rows)), len(rows))
        analyze_tables(IdentityGroup, Attribute, Association, rows=len(rows))
    return Imported(
        created={
            "groups": groups.created,
            "attributes": attributes_created,
            "associations": 0 if stored else len(wanted),
        },
        filled=groups.filled,
        oddities=groups.oddities,
    )


def _association(source_id: int, key: tuple[int, int], row: AssociationRow) -> Association:
    out = row.out_votes or (None, None, None)
    return Association(
        source_id=source_id,
        group_id=key[0],
        attribute_id=key[1],
        in_stereotypical=row.in_votes[0],
        in_nonstereotypical=row.in_votes[1],
        in_unsure=row.in_votes[2],
        out_stereotypical=out[0],
        out_nonstereotypical=out[1],
        out_unsure=out[2],
        offensiveness=list(row.ratings),
        offensiveness_mean=row.mean,
    )


def _check_same(
    wanted: dict[tuple[int, int], AssociationRow],
    stored: dict[tuple[int, int], Association],
    file: str,
    source: str,
) -> None:
    fix = "Nothing was changed. Import this file under a name of its own with --source."
    for key, row in wanted.items():
        have = stored.get(key)
        if have is None:
            raise ImportRefused(
                f"{file}, row {row.row}: '{row.identity}, {row.attribute}' is not among the {len(stored)} "
                f"associations that the source '{source}' already holds. {fix}"
            )
        if _content(have) != row.content:
            raise ImportRefused(
                f"{file}, row {row.row}: the source '{source}' already holds '{row.identity}, "
                f"{row.attribute}' with other votes or ratings. {fix}"
            )
    if len(stored) > len(wanted):
        raise ImportRefused(
            f"{file} has {len(wanted)} associations, but the source '{source}' already holds "
            f"{len(stored)}. {fix}"
        )


def _content(row: Association) -> tuple[object, ...]:
    """The values of a stored association, in the form of AssociationRow.content."""
    out = (row.out_stereotypical, row.out_nonstereotypical, row.out_unsure)
    return (
        (row.in_stereotypical, row.in_nonstereotypical, row.in_unsure),
        None if row.out_stereotypical is None else out,
        tuple(row.offensiveness),
        row.offensiveness_mean,
    )
