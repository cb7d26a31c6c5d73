"""The smaller tables of a release: annotators, units, images, associations, identity groups."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Any

from django.core.files.storage import default_storage
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.exports.packing import ENOUGH
from annotation.exports.table import image_name
from annotation.models import Association, IdentityGroup, Image, Option, OptionRole, Purpose, Study, Unit
from annotation.releases import columns
from annotation.releases.annotators import Key, People
from annotation.releases.request import ReleaseRefused
from annotation.releases.rows import cell


def save(folder: Path, file: str, rows: Iterable[Iterable[Any]], *, more: Iterable[str] = ()) -> int:
    """Write a table with the columns of its kind, and `more` after them; how many rows it has."""
    number = 0
    with (folder / file).open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow([*columns.names(file), *more])
        for row in rows:
            writer.writerow([cell(value) for value in row])
            number += 1
    return number


def annotator_rows(people: People, key: Key, fields: Collection[str]) -> list[tuple[Any, ...]]:
    """The values of `fields`, by pseudonym, which is an order of chance."""
    if not people.named:
        return []
    told = [place for place, name in enumerate(people.coarsened.fields) if name in fields]
    rows = zip(people.keys, people.simulated, people.coarsened.values, strict=True)
    return sorted(
        (key.pseudonym(annotator), simulated, *(values[place] for place in told))
        for annotator, simulated, values in rows
    )


def shown(study: Study) -> QuerySet[Unit]:
    """The units that ask for data."""
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
    for *about, image, source, axis, group, of_pair, alone, option, text, role in rows.iterator():
        judged = "" if role == OptionRole.NONE_OF_ABOVE else text
        asked = of_pair or alone or ""
        yield (
            *about,
            names.get(image, ""),
            source or "",
            axis or "",
            group or "",
            asked,
            option,
            judged,
            role,
        )


@dataclass(frozen=True)
class Pictures:
    """The images that a study shows, each with a name that is unique in the release."""

    images: tuple[Image, ...]
    names: dict[int, str]


def pictures(study: Study) -> Pictures:
    used = Unit.objects.filter(task__study=study, purpose=Purpose.DATA, image=OuterRef("pk")).order_by()
    images = tuple(
        Image.objects.filter(Exists(used))
        .select_related("group", "image_set")
        .order_by("image_set__name", "group__axis", "group__name", "index")
    )
    names: dict[int, str] = {}
    taken: set[str] = set()
    for image in images:
        which = f"{image.image_set.name}/{image.group.axis}/{image.group.name}/{image.index}"
        own = image_name(image.reference, image.file.name)
        names[image.pk] = next(
            name
            for name in chain((own, which), (f"{which}/{number}" for number in count(2)))
            if name not in taken
        )
        taken.add(names[image.pk])
    return Pictures(images, names)


def image_rows(found: Pictures, folder: Path, *, copy: bool) -> Iterator[tuple[Any, ...]]:
    """One row an image. With `copy` its file goes into the folder; raises ReleaseRefused where it is gone."""
    for image in found.images:
        size: int | None = None
        file = ""
        if image.file and copy:
            file = f"{columns.IMAGE_FOLDER}/{image.sha256}{PurePath(image.file.name or '').suffix}"
            size = _copy(image, folder / file)
        elif image.file:
            size = _size(image)
        yield (
            found.names[image.pk],
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
            while piece := source.read(ENOUGH):
                out.write(piece)
                digest.update(piece)
                size += len(piece)
    except FileNotFoundError as error:
        raise ReleaseRefused(
            f"The file of the image {image} is missing ({image.file.name}). Put it back, or release without "
            "images."
        ) from error
    if digest.hexdigest() != image.sha256:
        raise ReleaseRefused(
            f"The file of the image {image} is damaged: it is not what its hash says ({image.file.name}). "
            "Put back the right one, or release without images."
        )
    return size


def associations(study: Study) -> QuerySet[Association]:
    """Those of the source that says what is a stereotype, and those that are asked about."""
    asked = shown(study).filter(association=OuterRef("pk")).order_by()
    return Association.objects.filter(Q(source=study.stereotype_source_id) | Exists(asked))


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


def identity_rows(study: Study, found: Pictures) -> Iterator[tuple[Any, ...]]:
    named = associations(study).filter(group=OuterRef("pk")).order_by()
    shown_groups = {image.group_id for image in found.images}
    rows = IdentityGroup.objects.filter(Q(pk__in=shown_groups) | Exists(named)).order_by("axis", "name")
    return rows.values_list("axis", "name", "demonym", "country", "region", "global_south").iterator()


__all__ = [
    "Pictures",
    "annotator_rows",
    "association_rows",
    "associations",
    "identity_rows",
    "image_rows",
    "pictures",
    "save",
    "shown",
    "unit_rows",
]
