"""Import existing images (DESIGN §8); their provenance comes from their table."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import FileRefused, refuse_rows
from annotation.imports.services.catalogue import Progress, ensure_attributes, ensure_groups
from annotation.models import AuditEvent, Axis, IdentityGroup, Image, ImageSet
from generation.models import Provenance, RunKind
from generation.uploads.bundles import Bundle
from generation.uploads.services.images import (
    CheckedImage,
    UploadRefused,
    check_existing,
    check_image,
    store_image,
)
from generation.uploads.tables import ImageTable

logger = logging.getLogger(__name__)

IMPORTED = "finished images imported"
"""The name of the event in the audit log."""
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_CHUNK = 1000


@dataclass(frozen=True)
class TargetSet:
    """The image set to import into. `title` and `licence` are for a new set; another licence than that of a
    set which exists is refused."""

    name: str
    title: str = ""
    licence: str = ""


@dataclass(frozen=True)
class Imported:
    """Numbers of images: new (`created`), known without a file (`filled`), already in the set (`unchanged`),
    and stored as PNG without their metadata (`reencoded`)."""

    image_set: ImageSet
    created: int
    filled: int
    unchanged: int
    reencoded: int
    notes: tuple[str, ...]

    def summary(self) -> list[str]:
        """The result, in sentences."""
        if not (self.created or self.filled):
            done = _("Nothing to do: the set '%(name)s' already has all %(unchanged)d images.")
        else:
            done = _(
                "The set '%(name)s': %(created)d images added, %(filled)d files added to known images, "
                "%(unchanged)d unchanged."
            )
        words = {**vars(self), "name": self.image_set.name}
        reencoded = ngettext(
            "%(number)d file with metadata (camera, location, a program's settings) was stored as PNG "
            "without it.",
            "%(number)d files with metadata (camera, location, a program's settings) were stored as PNG "
            "without it.",
            self.reencoded,
        )
        notes = [reencoded % {"number": self.reencoded}] if self.reencoded else []
        return [done % words, *notes, *self.notes]


def import_images(
    *,
    bundle: Bundle,
    table: ImageTable,
    target: TargetSet,
    by: User | None,
    axis: str = Axis.NATIONALITY,
    new_groups: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Imported:
    """Import all images of `table`. Importing the same again changes nothing.

    All images are checked before anything is stored; files are stored before the rows, which are written in
    one transaction. A known image without a file (ViSAGe's release) gets its file. Groups that are neither in
    the database nor in annotation/imports/data/identities.csv are refused unless `new_groups`. Raises
    FileRefused or UploadRefused.
    """
    if not _NAME.fullmatch(target.name) or len(target.name) > 80:
        raise UploadRefused(
            f"The set's name '{target.name}' may contain only lower-case letters, digits, '-' and '_', at "
            "most 80."
        )
    _check_set(target)
    groups = _groups(table, axis=axis, new_groups=new_groups)
    checked: list[CheckedImage] = []
    problems: list[FileRefused] = []
    for row in table.rows:
        try:
            checked.append(check_image(bundle, table, row, groups[row.group]))
        except FileRefused as refused:
            problems.append(refused)
        progress("images read", len(checked) + len(problems), len(table.rows))
    refuse_rows(problems)
    existing = _existing_images(target.name)
    for each in checked:
        check_existing(table, each, existing.get((each.group.pk, each.row.file)))
    names: dict[str, str] = {}
    for done, each in enumerate(checked, start=1):
        names[each.sha256] = store_image(bundle, table, each)
        progress("files stored", done, len(checked))
    try:
        return _write(table, checked, names=names, target=target, by=by)
    except IntegrityError:
        # Somebody else just created the same group or attribute; now it will be found.
        return _write(table, checked, names=names, target=target, by=by)


def _check_set(target: TargetSet) -> None:
    name = target.name
    found = ImageSet.objects.filter(name=name).first()
    if found is None:
        return
    if target.licence and target.licence != found.licence:
        message = (
            _(
                "The set '%(name)s' is there already, under the licence '%(licence)s'. Leave this empty to "
                "add to it, or put images under another licence into another set."
            )
            if found.licence
            else _(
                "The set '%(name)s' is there already, without a licence. Leave this empty to add to it, or "
                "put these images into another set."
            )
        )
        raise UploadRefused(message % {"name": name, "licence": found.licence}, field="licence")
    if found.drawn:
        raise UploadRefused(f"The set '{name}' holds drawn sample pictures. Choose another name.")
    if found.runs.filter(kind=RunKind.IMAGES).exists():
        raise UploadRefused(f"The set '{name}' holds generated images. Choose another name.")


def _groups(table: ImageTable, *, axis: str, new_groups: bool) -> dict[str, IdentityGroup]:
    """The groups of the table by name; new ones are not saved yet."""
    first = {row.group: row.number for row in reversed(table.rows)}
    found = {group.name: group for group in IdentityGroup.objects.filter(axis=axis, name__in=first)}
    known = known_identities()
    problems: list[FileRefused] = []
    for name, number in sorted(first.items(), key=lambda pair: pair[1]):
        if name in found:
            continue
        if (axis, name) not in known and not new_groups:
            problem = f"no identity group on the axis '{axis}' is named '{name}'."
            cure = "Correct the name, choose another axis, or allow new groups."
            problems.append(FileRefused(table.name, problem, cure, row=number, column="group"))
        found[name] = IdentityGroup(name=name, axis=axis)
    refuse_rows(problems)
    return found


def _existing_images(name: str) -> dict[tuple[int | None, str], Image]:
    """The set's images: (group, reference) -> image."""
    images = Image.objects.filter(image_set__name=name).select_related("provenance__attribute")
    return {(image.group_id, image.reference): image for image in images}


@transaction.atomic
def _write(
    table: ImageTable,
    checked: Sequence[CheckedImage],
    *,
    names: dict[str, str],
    target: TargetSet,
    by: User | None,
) -> Imported:
    models = {each.row.model for each in checked}
    ImageSet.objects.get_or_create(
        name=target.name,
        defaults={
            "title": target.title or target.name,
            "licence": target.licence,
            "model_name": models.pop() if len(models) == 1 else "",
        },
    )
    # A second import at the same time waits here, and then finds the images of the first.
    image_set = ImageSet.objects.select_for_update(no_key=True).get(name=target.name)
    _check_set(target)
    numbers = {each.row.group: each.row.number for each in reversed(checked)}
    groups = ensure_groups(first_rows=numbers, axis=Axis(checked[0].group.axis), file=table.name).keys
    texts = (each.row.attribute for each in checked if each.row.attribute)
    attributes, _created = ensure_attributes(texts=texts)
    existing = _existing_images(target.name)
    # Images of a group come in the order of their numbers.
    last = {image.group_id: image.index for image in existing.values()}
    made: list[Image] = []
    filled: list[Image] = []
    provenances: list[Provenance] = []
    reencoded = 0
    for each in checked:
        group = groups[each.row.group]
        known = existing.get((group, each.row.file))
        check_existing(table, each, known)
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
        image.width, image.height, image.sha256 = each.image.width, each.image.height, each.sha256
        image.file.name = names[each.sha256]
        reencoded += each.image.reencoded
        provenances.append(
            Provenance(
                image=image,
                prompt_set=each.row.prompt_set,
                attribute_id=attributes.get(each.row.attribute),
                seed=each.row.seed,
                model=each.row.model,
                revision=each.row.revision,
                note=each.note,
            )
        )
    Image.objects.bulk_create(made, batch_size=_CHUNK)
    # The size is unknown until now where only embeddings of the image were imported.
    facts = ["prompt", "width", "height", "sha256", "file"]
    Image.objects.bulk_update(filled, facts, batch_size=_CHUNK)
    Provenance.objects.bulk_create(provenances, batch_size=_CHUNK)
    if provenances:
        counts = {"created": len(made), "filled": len(filled)}
        details = {"set": image_set.name, "table": table.name, **counts}
        AuditEvent.objects.create(what=IMPORTED, by=by, details=details)
        logger.info("%s images imported into %s", len(provenances), image_set.name)
    return Imported(
        image_set=image_set,
        created=len(made),
        filled=len(filled),
        unchanged=len(checked) - len(provenances),
        reencoded=reencoded,
        notes=tuple(_notes(table)),
    )


def _notes(table: ImageTable) -> list[str]:
    """Files and columns that were left out."""
    notes = []
    if table.unlisted:
        notes.append(
            ngettext(
                "%(number)d file is in no row of %(table)s and was left out: %(first)s.",
                "%(number)d files are in no row of %(table)s and were left out; the first is %(first)s.",
                len(table.unlisted),
            )
            % {"number": len(table.unlisted), "table": table.name, "first": table.unlisted[0]}
        )
    if table.ignored:
        notes.append(_("Columns that were not read: %(columns)s.") % {"columns": ", ".join(table.ignored)})
    return notes
