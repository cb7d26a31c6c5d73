"""The smaller tables of a release: annotators, units, images, associations, identity groups."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Any

from django.core.files.storage import default_storage
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.csv_text import csv_lines
from annotation.exports.packing import CHUNK_BYTES
from annotation.exports.table import image_name
from annotation.models import Association, IdentityGroup, Image, Option, Purpose, Study, Unit
from annotation.releases import columns
from annotation.releases.annotators import People, PseudonymKey
from annotation.releases.request import ReleaseRefused


def write_table(folder: Path, file: str, rows: Iterable[Iterable[Any]], *, more: Iterable[str] = ()) -> int:
    """Write a table with its columns, followed by the columns `more`; returns the number of rows."""
    number = 0
    with (folder / file).open("w", encoding="utf-8", newline="") as text:
        text.write(csv_lines([[*columns.names(file), *more]]))
        for row in rows:
            text.write(csv_lines([row]))
            number += 1
    return number


def annotator_rows(people: People, key: PseudonymKey, fields: Collection[str]) -> list[tuple[Any, ...]]:
    """The values of `fields`, sorted by pseudonym, which is a random order."""
    if not people.has_pseudonyms:
        return []
    indices = [index for index, name in enumerate(people.coarsened.fields) if name in fields]
    rows = zip(people.keys, people.simulated, people.coarsened.values, strict=True)
    return sorted(
        (key.pseudonym(annotator), simulated, *(values[index] for index in indices))
        for annotator, simulated, values in rows
    )


def data_units(study: Study) -> QuerySet[Unit]:
    """The units that collect data."""
    return Unit.objects.filter(task__study=study, purpose=Purpose.DATA)


def unit_rows(study: Study, names: dict[int, str]) -> Iterator[tuple[Any, ...]]:
    rows = (
        Option.objects.filter(unit__task__study=study, unit__purpose=Purpose.DATA)
        .order_by("unit__task_id", "unit__position", "position")
        .values_list(
            "unit__task__kind",
            "unit__task__version",
            "unit__position",
            "unit__page",
            "unit__repeat",
            "unit__source_name",
            "unit__image_id",
            "unit__association__source__name",
            "unit__association__group__axis",
            "unit__association__group__name",
            "unit__association__attribute__text",
            "unit__attribute__text",
            "position",
            "attribute__text",
            "role",
        )
    )
    for *unit, image, source, axis, group, of_association, own, option, text, role in rows.iterator():
        yield (
            *unit,
            names.get(image, ""),
            source or "",
            axis or "",
            group or "",
            of_association or own or "",
            option,
            text,
            role,
        )


@dataclass(frozen=True)
class ReleasedImages:
    """The images that a study shows, and their names by id, which are unique in the release."""

    images: tuple[Image, ...]
    names: dict[int, str]


def released_images(study: Study) -> ReleasedImages:
    used = data_units(study).filter(image=OuterRef("pk")).order_by()
    images = tuple(
        Image.objects.filter(Exists(used))
        .select_related("group", "image_set")
        .order_by("image_set__name", "group__axis", "group__name", "index")
    )
    names: dict[int, str] = {}
    taken: set[str] = set()
    for image in images:
        full = f"{image.image_set.name}/{image.group.axis}/{image.group.name}/{image.index}"
        own = image_name(image.reference, image.file.name)
        names[image.pk] = next(
            name
            for name in chain((own, full), (f"{full}/{number}" for number in count(2)))
            if name not in taken
        )
        taken.add(names[image.pk])
    return ReleasedImages(images, names)


def image_rows(released: ReleasedImages, folder: Path, *, copy: bool) -> Iterator[tuple[Any, ...]]:
    """One row per image. With `copy` its file is copied into the folder; raises ReleaseRefused if the file is
    missing or damaged."""
    for image in released.images:
        size: int | None = None
        file = ""
        if image.file and copy:
            file = f"{columns.IMAGE_FOLDER}/{image.sha256}{PurePath(image.file.name or '').suffix}"
            size = _copy(image, folder / file)
        elif image.file:
            size = _size(image)
        yield (
            released.names[image.pk],
            image.image_set.name,
            image.group.axis,
            image.group.name,
            image.index,
            image.prompt,
            image.width,
            image.height,
            image.sha256,
            size,
            image.reference,
            file,
        )


def _size(image: Image) -> int | None:
    try:
        return default_storage.size(str(image.file.name))
    except FileNotFoundError:
        return None


def _copy(image: Image, target: Path) -> int:
    target.parent.mkdir(exist_ok=True)
    digest, size = hashlib.sha256(), 0
    try:
        with default_storage.open(str(image.file.name)) as source, target.open("wb") as out:
            while piece := source.read(CHUNK_BYTES):
                out.write(piece)
                digest.update(piece)
                size += len(piece)
    except FileNotFoundError as error:
        raise ReleaseRefused(
            f"The file of the image {image} is missing ({image.file.name}). Restore it, or release without "
            "images."
        ) from error
    if digest.hexdigest() != image.sha256:
        raise ReleaseRefused(
            f"The file of the image {image} is damaged: its hash does not match ({image.file.name}). Restore "
            "it, or release without images."
        )
    return size


def associations(study: Study) -> QuerySet[Association]:
    """The associations of the study's stereotype source, and those that its units show."""
    shown = data_units(study).filter(association=OuterRef("pk")).order_by()
    return Association.objects.filter(Q(source=study.stereotype_source_id) | Exists(shown))


def association_rows(study: Study) -> Iterator[tuple[Any, ...]]:
    return (
        associations(study)
        .order_by("source__name", "group__axis", "group__name", "attribute__text")
        .values_list(
            "source__name",
            "group__axis",
            "group__name",
            "attribute__text",
            *columns.names(columns.ASSOCIATIONS)[4:],
        )
        .iterator()
    )


def identity_rows(study: Study, released: ReleasedImages) -> Iterator[tuple[Any, ...]]:
    of_associations = associations(study).filter(group=OuterRef("pk")).order_by()
    of_images = {image.group_id for image in released.images}
    rows = IdentityGroup.objects.filter(Q(pk__in=of_images) | Exists(of_associations))
    rows = rows.order_by("axis", "name")
    return rows.values_list("axis", "name", *columns.names(columns.IDENTITIES)[2:]).iterator()
