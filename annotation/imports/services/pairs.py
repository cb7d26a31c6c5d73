"""One's own pairs as a new source: checked line by line first, then stored whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import IntegrityError, transaction

from annotation import policies
from annotation.catalogue.services import SourceDetails, SourceForbidden, SourceRefused
from annotation.core.nearest import Nearest
from annotation.core.table_statistics import analyze_tables
from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.pairs import LineError, PairFile, PairRow
from annotation.models import Association, Attribute, AuditEvent, Axis, IdentityGroup, Source

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CHUNK = 1000
MOST_NEW_GROUPS = 300
"""New groups of one source: more are a wrong axis rather than new groups."""
LONGEST_DEMONYM = 120
LONGEST_SOURCE = 80


@dataclass(frozen=True)
class UnknownIdentity:
    """An identity that no group on the axis is called. `nearest`: the known name most like it, or empty;
    `demonym`: that it would be created with."""

    name: str
    row: int
    nearest: str
    demonym: str


@dataclass(frozen=True)
class Checked:
    """Pairs and what storing them would do. `pairs`: name of the group -> text of the attribute -> its line.
    `repeated`: lines that say the same as an earlier one; `new_attributes`: attributes that are not in the
    catalogue yet."""

    pairs: dict[tuple[str, str], PairRow]
    errors: tuple[LineError, ...]
    unknown: tuple[UnknownIdentity, ...]
    blank: int
    repeated: int
    new_attributes: int

    @property
    def groups(self) -> int:
        return len({name for name, _ in self.pairs})

    @property
    def attributes(self) -> int:
        return len({text for _, text in self.pairs})

    @property
    def voted(self) -> int:
        return sum(row.in_votes is not None or row.out_votes is not None for row in self.pairs.values())

    @property
    def rated(self) -> int:
        return sum(bool(row.ratings) for row in self.pairs.values())

    @property
    def rows(self) -> list[PairRow]:
        """The pairs as they would be stored."""
        return [
            PairRow(row.row, group, text, row.in_votes, row.out_votes, row.ratings)
            for (group, text), row in self.pairs.items()
        ]


def check_pairs(
    file: PairFile, *, axis: Axis, create_groups: bool, demonyms: Mapping[str, str] | None = None
) -> Checked:
    """Find every wrong line. Nothing is stored.

    Identities are names of groups on `axis`, in whatever case. Unknown ones are errors unless
    `create_groups`; `demonyms`: name -> the demonym of a new group.
    """
    known = {
        name.casefold(): name
        for name in IdentityGroup.objects.filter(axis=axis).values_list("name", flat=True)
    }
    listed, demonyms = known_identities(), demonyms or {}
    names = dict(known)
    unknown: dict[str, UnknownIdentity] = {}
    pairs: dict[tuple[str, str], PairRow] = {}
    errors, repeated = list(file.errors), 0
    nearest = Nearest([*known.values(), *(name for of, name in listed if of == axis.value)])
    for row in file.rows:
        folded = row.identity.casefold()
        if folded not in names:
            names[folded] = row.identity
            entry = listed.get((axis.value, row.identity))
            given = " ".join(demonyms.get(row.identity, "").split())[:LONGEST_DEMONYM]
            unknown[row.identity] = UnknownIdentity(
                name=row.identity,
                row=row.row,
                nearest="" if entry or len(unknown) >= MOST_NEW_GROUPS else nearest.to(row.identity),
                demonym=given or (entry.demonym if entry else row.identity),
            )
        name = names[folded]
        if name in unknown and not create_groups:
            errors.append(_unknown(row, unknown[name], axis))
            continue
        earlier = pairs.setdefault((name, row.attribute), row)
        if earlier is not row and earlier.content == row.content:
            repeated += 1
        elif earlier is not row:
            problem = f"'{name}, {row.attribute}' is in line {earlier.row} too, with other votes or ratings."
            errors.append(LineError(row.row, problem, "Keep one of the two lines."))
    if len(unknown) > MOST_NEW_GROUPS:
        problem = f"{len(unknown)} identities are not known on the axis {axis.label}."
        cure = f"Check the axis. A source can add {MOST_NEW_GROUPS} new identity groups at most."
        errors.insert(0, LineError(min(one.row for one in unknown.values()), problem, cure))
    texts = {text for _, text in pairs}
    return Checked(
        pairs=pairs,
        errors=tuple(sorted(errors, key=lambda error: error.row)),
        unknown=tuple(unknown.values()),
        blank=file.blank,
        repeated=repeated,
        new_attributes=len(texts) - len(_attribute_keys(texts)),
    )


@transaction.atomic
def add_source(*, name: str, details: SourceDetails, axis: Axis, checked: Checked, by: User | None) -> Source:
    """Store checked pairs as the new source `name`, owned by `by` (None: a command).

    Raises SourceForbidden, and SourceRefused for pairs with errors and for a name that cannot be used or is
    taken.
    """
    if by is not None and not policies.may_edit_catalogue(by):
        raise SourceForbidden("This account may not add sources. Ask an admin to let it set up studies.")
    if checked.errors:
        first = checked.errors[0]
        raise SourceRefused(
            f"{len(checked.errors)} lines are wrong, first line {first.row}: {first.problem} {first.cure}"
        )
    if not checked.pairs:
        raise SourceRefused("There are no pairs. Give at least one.")
    source = _new_source(name, details, by)
    groups = _ensure_groups(checked, axis)
    texts = {text for _, text in checked.pairs}
    known = _attribute_keys(texts)
    missing = (Attribute(text=text) for text in sorted(texts - known.keys()))
    while chunk := list(islice(missing, CHUNK)):
        # somebody else may add the same one at this moment
        Attribute.objects.bulk_create(chunk, ignore_conflicts=True)
    attributes = known | _attribute_keys(texts - known.keys())
    rows = (
        _association(source.pk, groups[group], attributes[text], row)
        for (group, text), row in checked.pairs.items()
    )
    while chunk_of_rows := list(islice(rows, CHUNK)):
        Association.objects.bulk_create(chunk_of_rows)
    analyze_tables(IdentityGroup, Attribute, Association, rows=len(checked.pairs))
    AuditEvent.objects.create(
        what="source created",
        by=by,
        details={
            "source": source.name,
            "associations": len(checked.pairs),
            "new_groups": len(checked.unknown),
            "new_attributes": len(attributes) - len(known),
        },
    )
    return source


def _new_source(name: str, details: SourceDetails, by: User | None) -> Source:
    try:
        validate_slug(name)
    except ValidationError as error:
        raise SourceRefused(
            f"'{name[:80]}' is not a name for a source. Use letters, digits, - and _ only."
        ) from error
    if len(name) > LONGEST_SOURCE:
        raise SourceRefused(f"The name has more than {LONGEST_SOURCE} characters. Shorten it.")
    if not details.title.strip():
        raise SourceRefused("A source needs a title. Write one.")
    try:
        with transaction.atomic():
            return Source.objects.create(
                name=name,
                title=details.title.strip(),
                licence=details.licence.strip(),
                origin=details.origin.strip(),
                citation=details.citation.strip(),
                owner=by,
            )
    except IntegrityError as error:
        raise SourceRefused(f"There is a source '{name}' already. Choose another name.") from error


def _ensure_groups(checked: Checked, axis: Axis) -> dict[str, int]:
    """Name -> primary key of every group; the unknown ones are created."""
    listed = known_identities()
    for new in checked.unknown:
        entry = listed.get((axis.value, new.name))
        IdentityGroup.objects.get_or_create(
            axis=axis,
            name=new.name,
            defaults={
                "demonym": new.demonym,
                "country": entry.country if entry else "",
                "region": entry.region if entry else "",
                "global_south": entry.global_south if entry else None,
            },
        )
    names = sorted({name for name, _ in checked.pairs})
    found: dict[str, int] = {}
    for chunk in _chunks(names):
        found |= dict(IdentityGroup.objects.filter(axis=axis, name__in=chunk).values_list("name", "pk"))
    return found


def _attribute_keys(texts: Iterable[str]) -> dict[str, int]:
    """Text -> primary key of those attributes that exist."""
    found: dict[str, int] = {}
    for chunk in _chunks(sorted(texts)):
        found |= dict(Attribute.objects.filter(text__in=chunk).values_list("text", "pk"))
    return found


def _chunks(items: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _association(source: int, group: int, attribute: int, row: PairRow) -> Association:
    in_votes = row.in_votes or (None, None, None)
    out_votes = row.out_votes or (None, None, None)
    return Association(
        source_id=source,
        group_id=group,
        attribute_id=attribute,
        in_stereotypical=in_votes[0],
        in_nonstereotypical=in_votes[1],
        in_unsure=in_votes[2],
        out_stereotypical=out_votes[0],
        out_nonstereotypical=out_votes[1],
        out_unsure=out_votes[2],
        offensiveness=list(row.ratings),
        offensiveness_mean=fmean(row.ratings) if row.ratings else None,
    )


def _unknown(row: PairRow, identity: UnknownIdentity, axis: Axis) -> LineError:
    problem = f"there is no identity '{row.identity}' on the axis {axis.label}."
    suggestion = f"Did you mean '{identity.nearest}'? Correct it" if identity.nearest else "Correct it"
    return LineError(row.row, problem, f"{suggestion}, or let unknown identities be created.", "identity")
