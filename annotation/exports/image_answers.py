"""Answers about images, one image at a time: what every format that is about boxes starts from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from django.core.files.storage import default_storage

from annotation.exports.packing import ENOUGH, File
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
    "response__annotator__simulated",
    "response__slot__stratum",
    "response__language",
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


WHICH = ("image_set", "axis", "identity", "index")
WHICH_MEANS = (
    "image set, kind of the identity group, the group, and number of the image within set and group: "
    "together they say which image this is, also where two have one name"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One option as it was shown and judged. `attribute` is empty for none of the above."""

    attribute: str
    role: str
    position: int
    chosen: bool
    whole_image: bool
    boxes: list[Corners]


@dataclass(frozen=True, slots=True)
class Review:
    """One annotator's answer to one page of an image. `annotator` is empty where the source names nobody."""

    response: int
    unit: int
    page: int
    annotator: str
    simulated: bool
    stratum: str
    language: str
    submitted_at: datetime | None
    active_ms: int | None
    shown: list[Shown] = field(default_factory=list)

    @property
    def attributes(self) -> list[str]:
        """All attributes shown, in the order shown."""
        return [one.attribute for one in self.shown if one.attribute]

    @property
    def chosen(self) -> list[Shown]:
        """The attributes that were said to be depicted."""
        return [one for one in self.shown if one.chosen and one.attribute]

    @property
    def none_of_above(self) -> bool:
        return any(one.chosen for one in self.shown if one.role == OptionRole.NONE_OF_ABOVE)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An image that somebody judged. `file_name` is its name, made safe for a folder and different from
    every other in the export; `stored` is its file here, empty if it is kept outside. `which` says which
    image it is, since names may be shared: the fields of WHICH."""

    key: int
    name: str
    file_name: str
    stored: str
    width: int
    height: int
    which: dict[str, str | int]
    reviews: list[Review]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.file_name).stem


def reviewed(selection: Selection) -> Iterator[Reviewed]:
    """Every image with all answers asked for, also those in which nothing was seen.

    One image is in memory at a time; of those before, only the names are kept, to tell them apart.
    """
    taken: set[str] = set()
    for about, rows in groupby(_rows(selection), key=itemgetter(slice(0, _IMAGE_FIELDS))):
        key, reference, file, width, height, *which = about
        answers: dict[int, Review] = {}
        for row in rows:
            unit, page, response, *given, _pk = row[_IMAGE_FIELDS : _KEY + 1]
            pseudonym, simulated, stratum, language, submitted_at, active_ms = given
            review = answers.get(response)
            if review is None:
                review = answers[response] = Review(
                    response=response,
                    unit=unit,
                    page=page,
                    annotator=pseudonym or "",
                    simulated=bool(simulated or selection.study.simulated),
                    stratum=stratum or "",
                    language=language,
                    submitted_at=submitted_at,
                    active_ms=active_ms,
                )
            text, role, position, value, whole, boxes = row[_KEY + 1 :]
            review.shown.append(Shown(text or "", role, position, bool(value), whole, boxes))
        name = image_name(reference, file)
        yield Reviewed(
            key=key,
            name=name,
            file_name=_file_name(name, key, taken),
            stored=file or "",
            width=width,
            height=height,
            which=dict(zip(WHICH, which, strict=True)),
            reviews=list(answers.values()),
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
        drawn = boxes_of(row[_KEY] for row in chunk)
        for row in chunk:
            yield (*row, drawn.get(row[_KEY], []))
        selection.read(len(chunk))


def _file_name(name: str, key: int, taken: set[str]) -> str:
    """`name` as a file's name; with the image's number before it where another image had it already."""
    plain = re.sub(r"[^\w .()+-]", "_", PurePosixPath(name).name).lstrip(". ") or "image"
    stem = PurePosixPath(plain).stem.lower()
    if stem in taken or re.match(r"\d+-", plain):
        plain = f"{key}-{plain}"
        stem = PurePosixPath(plain).stem.lower()
    taken.add(stem)
    return plain


class Numbers(dict[str, int]):
    """Attributes and their numbers; one that an answer brings meanwhile gets the next."""

    def __init__(self, texts: list[str], *, first: int) -> None:
        super().__init__((text, number) for number, text in enumerate(texts, first))
        self._first = first

    def __missing__(self, text: str) -> int:
        self[text] = self._first + len(self)
        return self[text]


def categories(selection: Selection, *, first: int = 1) -> Numbers:
    """Every attribute that was shown, in alphabetical order, numbered from `first`."""
    texts = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
        .filter(option__attribute__isnull=False)
        .order_by()
        .values_list("option__attribute__text", flat=True)
        .distinct()
    )
    return Numbers(sorted(texts), first=first)


def is_here(image: Reviewed) -> bool:
    """Whether the image's file is in this program's storage."""
    return bool(image.stored) and default_storage.exists(image.stored)


def picture(image: Reviewed, path: str) -> File:
    """The image's own file, as `path` of an export."""
    return File(path, _bytes(image.stored))


def _bytes(stored: str) -> Iterator[bytes]:
    with default_storage.open(stored) as file:
        yield from file.chunks(ENOUGH)


__all__ = [
    "WHICH",
    "WHICH_MEANS",
    "Numbers",
    "Review",
    "Reviewed",
    "Shown",
    "categories",
    "is_here",
    "picture",
    "reviewed",
]
