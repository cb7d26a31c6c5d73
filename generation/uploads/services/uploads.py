"""Finished images that are brought in: models behind an API, pictures of others (DESIGN §8).

They are judged, captioned and encoded like pictures made here; how they came to be is what their table
says of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import FileRefused
from annotation.imports.services.catalogue import Progress, ensure_attributes, ensure_groups
from annotation.models import AuditEvent, Axis, IdentityGroup, Image, ImageSet
from generation.models import Provenance, RunKind
from generation.uploads.bundles import Bundle
from generation.uploads.services.pictures import Looked, UploadRefused, check_known, keep, look
from generation.uploads.tables import Finished

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)

IMPORTED = "finished images imported"
"""What the audit calls it."""
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_CHUNK = 1000


@dataclass(frozen=True)
class Into:
    """The set they go to, made if need be. `title` and `licence` are those of a new set."""

    name: str
    title: str = ""
    licence: str = ""


@dataclass(frozen=True)
class Imported:
    """`created` images; `filled`: known images that had no file; `unchanged`: were there as they are now;
    `stored_anew`: kept as PNG without what their files said besides pixels."""

    image_set: ImageSet
    created: int
    filled: int
    unchanged: int
    stored_anew: int
    notes: tuple[str, ...]

    def summary(self) -> list[str]:
        """What was done, in sentences."""
        if not (self.created or self.filled):
            done = _("Nothing to do: the set '%(name)s' has all %(unchanged)d images already.")
        else:
            done = _(
                "The set '%(name)s': %(created)d images added, %(filled)d known ones got their file, "
                "%(unchanged)d were there already."
            )
        words = {
            "name": self.image_set.name,
            "created": self.created,
            "filled": self.filled,
            "unchanged": self.unchanged,
        }
        anew = ngettext(
            "%(number)d file said more than pixels (a camera, a place, a program's settings): it is stored "
            "as PNG without it.",
            "%(number)d files said more than pixels (a camera, a place, a program's settings): they are "
            "stored as PNG without it.",
            self.stored_anew,
        )
        told = [anew % {"number": self.stored_anew}] if self.stored_anew else []
        return [done % words, *told, *self.notes]


def import_images(
    *,
    bundle: Bundle,
    finished: Finished,
    into: Into,
    by: User | None,
    axis: str = Axis.NATIONALITY,
    new_groups: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Imported:
    """Bring in every picture that `finished` lists. The same again changes nothing.

    All are looked at before anything is kept; files are kept before the rows, which come in one
    transaction. A picture whose row is known without a file (ViSAGe's release) gets its file. Groups that
    neither the database nor annotation/imports/data/identities.csv knows are refused unless `new_groups`.
    Raises FileRefused or UploadRefused.
    """
    if not _NAME.fullmatch(into.name) or len(into.name) > 80:
        raise UploadRefused(
            f"The set's name '{into.name}' may hold small letters, digits, '-' and '_' only, at most 80."
        )
    _check_set(into.name)
    groups = _groups(finished, axis=axis, new_groups=new_groups)
    looked = []
    for row in finished.rows:
        looked.append(look(bundle, finished, row, groups[row.group]))
        progress("pictures read", len(looked), len(finished.rows))
    stored = _stored(into.name)
    for each in looked:
        check_known(finished, each, stored.get((each.group.pk, each.row.file)))
    names: dict[str, str] = {}
    for done, each in enumerate(looked, start=1):
        names[each.sha256] = keep(bundle, finished, each)
        progress("files kept", done, len(looked))
    try:
        return _write(finished, looked, names=names, into=into, by=by)
    except IntegrityError:
        # Somebody made the same group or attribute in this moment: now it is there to be found.
        return _write(finished, looked, names=names, into=into, by=by)


def _check_set(name: str) -> None:
    found = ImageSet.objects.filter(name=name).first()
    if found is None:
        return
    if found.drawn:
        raise UploadRefused(f"The set '{name}' holds drawn sample pictures. Choose another name.")
    if found.runs.filter(kind=RunKind.IMAGES).exists():
        raise UploadRefused(f"The set '{name}' is filled by a run that makes pictures. Choose another name.")


def _groups(finished: Finished, *, axis: str, new_groups: bool) -> dict[str, IdentityGroup]:
    """Each group that the table names; those that are not in the database yet are not saved."""
    first = {row.group: row.number for row in reversed(finished.rows)}
    found = {group.name: group for group in IdentityGroup.objects.filter(axis=axis, name__in=first)}
    known = known_identities()
    for name, number in sorted(first.items(), key=lambda pair: pair[1]):
        if name in found:
            continue
        if (axis, name) not in known and not new_groups:
            raise FileRefused(
                finished.table,
                f"no identity group on the axis '{axis}' is named '{name}'.",
                "Correct the name, choose another axis, or say that new groups are to be made.",
                row=number,
                column="group",
            )
        found[name] = IdentityGroup(name=name, axis=axis)
    return found


def _stored(name: str) -> dict[tuple[int | None, str], Image]:
    """What the set holds: (group, what it is called) -> image."""
    images = Image.objects.filter(image_set__name=name).select_related("provenance__attribute")
    return {(image.group_id, image.reference): image for image in images}


@transaction.atomic
def _write(
    finished: Finished, looked: Sequence[Looked], *, names: dict[str, str], into: Into, by: User | None
) -> Imported:
    models = {each.row.model for each in looked}
    ImageSet.objects.get_or_create(
        name=into.name,
        defaults={
            "title": into.title or into.name,
            "licence": into.licence,
            "model_name": models.pop() if len(models) == 1 else "",
        },
    )
    # Two at once: whoever comes second waits here, and then finds what the first brought.
    image_set = ImageSet.objects.select_for_update(no_key=True).get(name=into.name)
    _check_set(into.name)
    groups, attributes = _catalogue(finished, looked)
    stored = _stored(into.name)
    last: dict[int | None, int] = {}
    for image in stored.values():
        last[image.group_id] = max(last.get(image.group_id, 0), image.index)
    made: list[Image] = []
    filled: list[Image] = []
    told: list[Provenance] = []
    stored_anew = 0
    for each in looked:
        group = groups[each.row.group]
        known = stored.get((group, each.row.file))
        check_known(finished, each, known)
        if known is not None and known.file:
            continue
        if known is None:
            last[group] = last.get(group, 0) + 1
            image = Image(image_set=image_set, group_id=group, index=last[group], reference=each.row.file)
            made.append(image)
        else:
            image = known
            filled.append(image)
        image.prompt = each.row.prompt or image.prompt
        image.width, image.height, image.sha256 = each.width, each.height, each.sha256
        image.file.name = names[each.sha256]
        stored_anew += each.changed
        told.append(_provenance(image, each, attributes.get(each.row.attribute)))
    Image.objects.bulk_create(made, batch_size=_CHUNK)
    Image.objects.bulk_update(filled, ["prompt", "sha256", "file"], batch_size=_CHUNK)
    Provenance.objects.bulk_create(told, batch_size=_CHUNK)
    if told:
        counts = {"created": len(made), "filled": len(filled)}
        details = {"set": image_set.name, "table": finished.table, **counts}
        AuditEvent.objects.create(what=IMPORTED, by=by, details=details)
        logger.info("%s images brought into %s", len(told), image_set.name)
    return Imported(
        image_set=image_set,
        created=len(made),
        filled=len(filled),
        unchanged=len(looked) - len(told),
        stored_anew=stored_anew,
        notes=tuple(_notes(finished)),
    )


def _catalogue(finished: Finished, looked: Sequence[Looked]) -> tuple[dict[str, int], dict[str, int]]:
    """Primary keys of the groups by name and of the attributes by text, made if need be."""
    numbers = {each.row.group: each.row.number for each in reversed(looked)}
    groups = ensure_groups(first_rows=numbers, axis=Axis(looked[0].group.axis), file=finished.table)
    texts = (each.row.attribute for each in looked if each.row.attribute)
    return groups.keys, ensure_attributes(texts=texts)[0]


def _provenance(image: Image, each: Looked, attribute_id: int | None) -> Provenance:
    return Provenance(
        image=image,
        prompt_set=each.row.prompt_set,
        attribute_id=attribute_id,
        seed=each.row.seed,
        model=each.row.model,
        revision=each.row.revision,
        note=each.note,
    )


def _notes(finished: Finished) -> list[str]:
    """What whoever brought them should know: nothing is left out in silence."""
    notes = []
    if finished.unlisted:
        notes.append(
            ngettext(
                "%(number)d file is in no row of %(table)s and was left out: %(first)s.",
                "%(number)d files are in no row of %(table)s and were left out; the first is %(first)s.",
                len(finished.unlisted),
            )
            % {"number": len(finished.unlisted), "table": finished.table, "first": finished.unlisted[0]}
        )
    if finished.ignored:
        notes.append(_("Columns that were not read: %(columns)s.") % {"columns": ", ".join(finished.ignored)})
    return notes


__all__ = ["IMPORTED", "Imported", "Into", "UploadRefused", "import_images"]
