"""Answers about images, one image at a time: the source of every format with boxes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from django.core.files.storage import default_storage

from annotation.exports.packing import CHUNK_BYTES, File
from annotation.exports.selection import COUNTED, Selection
from annotation.exports.table import CHUNK, Corners, boxes_of, image_name
from annotation.models import OptionRole, TaskKind

# In the order of the groups below: image, unit, response, judgement
_FIELDS = (
    "response__unit__image_id",
    "response__unit__image__reference",
    "response__unit__image__file",
    "response__unit__image__width",
    "response__unit__image__height",
    "response__unit__image__image_set__name",
    "response__unit__image__group__axis",
    "response__unit__image__group__name",
    "response__unit__image__index",
    "response__unit_id",
    "response__unit__page",
    "response_id",
    "response__annotator__pseudonym",
    "response__slot__stratum",
    "response__submitted_at",
    "response__active_ms",
    "pk",
    "option__attribute__text",
    "option__role",
    "position",
    "value",
    "whole_image",
)
_IMAGE_FIELDS, _KEY = 9, _FIELDS.index("pk")

IMAGE_KEYS = ("image_set", "axis", "identity", "index")
IMAGE_KEYS_MEANING = (
    "image set, kind of identity group, identity group, and number of the image within set and group; "
    "together they identify the image, even if two images have the same name"
)


@dataclass(frozen=True, slots=True)
class ShownOption:
    """One option as shown and judged. `attribute` is empty for none of the above."""

    attribute: str
    role: str
    position: int
    chosen: bool
    whole_image: bool
    boxes: list[Corners]


@dataclass(frozen=True, slots=True)
class Review:
    """One annotator's response to one page of an image. `annotator` is empty if the source does not identify
    annotators."""

    response: int
    unit: int
    page: int
    annotator: str
    stratum: str
    submitted_at: datetime | None
    active_ms: int | None
    shown: list[ShownOption] = field(default_factory=list)

    @property
    def attributes(self) -> list[str]:
        """All attributes shown, in the order shown."""
        return [one.attribute for one in self.shown if one.attribute]

    @property
    def chosen(self) -> list[ShownOption]:
        """The attributes judged as depicted."""
        return [one for one in self.shown if one.chosen and one.attribute]

    @property
    def none_of_above(self) -> bool:
        return any(one.chosen for one in self.shown if one.role == OptionRole.NONE_OF_ABOVE)


@dataclass(frozen=True, slots=True)
class ReviewedImage:
    """An image with its responses.

    `file_name` is its name made safe for a folder and unique in the export. `stored` is its file in our
    storage, empty if it is kept elsewhere. `keys` identifies the image, since names may be shared: the fields
    of IMAGE_KEYS.
    """

    key: int
    name: str
    file_name: str
    stored: str
    width: int
    height: int
    keys: dict[str, str | int]
    reviews: list[Review]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.file_name).stem


def reviewed_images(selection: Selection) -> Iterator[ReviewedImage]:
    """Every image with its selected responses, also images in which nothing was found, one at a time."""
    taken: set[str] = set()
    for image_fields, rows in groupby(_rows(selection), key=itemgetter(slice(0, _IMAGE_FIELDS))):
        key, reference, file, width, height, *keys = image_fields
        reviews: dict[int, Review] = {}
        for row in rows:
            unit, page, response, *response_fields, _pk = row[_IMAGE_FIELDS : _KEY + 1]
            pseudonym, stratum, submitted_at, active_ms = response_fields
            review = reviews.get(response)
            if review is None:
                review = reviews[response] = Review(
                    response=response,
                    unit=unit,
                    page=page,
                    annotator=pseudonym or "",
                    stratum=stratum or "",
                    submitted_at=submitted_at,
                    active_ms=active_ms,
                )
            text, role, position, value, whole, boxes = row[_KEY + 1 :]
            review.shown.append(ShownOption(text or "", role, position, bool(value), whole, boxes))
        name = image_name(reference, file)
        yield ReviewedImage(
            key=key,
            name=name,
            file_name=_file_name(name, key, taken),
            stored=file or "",
            width=width,
            height=height,
            keys=dict(zip(IMAGE_KEYS, keys, strict=True)),
            reviews=list(reviews.values()),
        )


def _rows(selection: Selection) -> Iterator[tuple[Any, ...]]:
    judgements = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
        .order_by(
            "response__unit__image_id", "response__unit__page", "response__unit_id", "response_id", "position"
        )
        .values_list(*_FIELDS)
        .iterator(chunk_size=CHUNK)
    )
    while chunk := list(islice(judgements, CHUNK)):
        boxes = boxes_of(row[_KEY] for row in chunk)
        for row in chunk:
            yield (*row, boxes.get(row[_KEY], []))
        selection.count_rows(len(chunk))


def _file_name(name: str, key: int, taken: set[str]) -> str:
    """`name` as a file name, prefixed with the image's number if another image has that name already."""
    plain = re.sub(r"[^\w .()+-]", "_", PurePosixPath(name).name).lstrip(". ") or "image"
    stem = PurePosixPath(plain).stem.lower()
    if stem in taken or re.match(r"\d+-", plain):
        plain = f"{key}-{plain}"
        stem = PurePosixPath(plain).stem.lower()
    taken.add(stem)
    return plain


def category_numbers(selection: Selection, *, first: int = 1) -> dict[str, int]:
    """Every attribute that was shown, in alphabetical order, numbered from `first`."""
    texts = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
        .filter(option__attribute__isnull=False)
        .order_by()
        .values_list("option__attribute__text", flat=True)
        .distinct()
    )
    return {text: number for number, text in enumerate(sorted(texts), first)}


def stored_files(image: ReviewedImage, path: str) -> Iterator[File]:
    """The image's own file, as `path` in the export, if it is in our storage."""
    if image.stored and default_storage.exists(image.stored):
        yield File(path, _bytes(image.stored))


def _bytes(stored: str) -> Iterator[bytes]:
    with default_storage.open(stored) as file:
        yield from file.chunks(CHUNK_BYTES)
