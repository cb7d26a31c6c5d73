"""The two released files of ViSAGe, in their shape: `import_visage` reads them back (PROTOCOL §13)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Exists, OuterRef

from annotation.core import strata
from annotation.core.csv_text import csv_lines
from annotation.exports import image_answers
from annotation.exports.packing import Aside, File, gathered, sheet
from annotation.exports.selection import (
    COUNTED,
    NONE_OF_ABOVE,
    ExportRefused,
    Selection,
    check_attributes,
    check_groups,
)
from annotation.exports.table import CHUNK, Corners, boxes_of, image_name
from annotation.imports.readers import visage_annotations as released_pages
from annotation.imports.readers import visage_attributes as released_ratings
from annotation.models import Image, Purpose, Study, TaskKind, Unit

COLUMNS = (
    (
        "Image Annotations: worker_id",
        "names the page, not a person, as in the release: `unit` and its number; of later versions of the "
        "task, the version too",
    ),
    (
        "Image Annotations: img_path",
        "name of the image: identity group, number, `.png`; no two images have one name. An image that is "
        "called so keeps its name. Any other has the number it has within its image set, or, where that "
        "name is another image's or would be read as another group's (`Area 5` and 1 as `Area` and 51), the "
        "first number of the group that is free. All exports of a study that shows the same images give them "
        "the same names",
    ),
    ("Image Annotations: attribute", "in the order of the page; `none of the above` among them"),
    ("Image Annotations: present", "`yes` or `no`"),
    (
        "Image Annotations: coords",
        "`['x,y', 'x,y']`: two corners in pixels of the first box drawn; `[]` without one. The shape has "
        "room for one box an attribute: the long table and COCO have all",
    ),
    ("Visual Attributes_: attribute", "one row for each time it was asked"),
    (
        "Visual Attributes_: rating_*, score_*",
        "what the rater from Asia, from EMEA (or Europe) and from North America said, and its number 5 to 1",
    ),
    ("Visual Attributes_: mean", "mean of the three scores"),
    ("images.csv: img_path", "every name that `img_path` can have"),
    ("images.csv: name", "what the study calls the image"),
    ("images.csv: " + ", ".join(image_answers.WHICH), image_answers.WHICH_MEANS),
    ("left_out.csv", "attributes that lack a rating from one of the three origins, and so have no row"),
)
KINDS = (TaskKind.DEPICTION, TaskKind.VISUAL_NATURE)
_PAGES_HEAD = released_pages.COLUMNS
_RATINGS_HEAD = released_ratings.COLUMNS
_ORIGINS = {place.lower(): ending for ending, place in released_ratings.ORIGINS.items()} | {"europe": "emea"}
_RATINGS = {score: rating for rating, score in released_ratings.SCORES.items()}
_LAST, _ALWAYS_READ = 999_999, 100_000
"""A number has six digits at most; one that has six ends whatever name stands before it."""


def fits(selection: Selection) -> None:
    """Raises ExportRefused where groups or attributes would be confused, or a group not read back."""
    rows = selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
    check_groups(rows, of="image")
    check_attributes(rows)
    for group in rows.order_by().values_list("response__unit__image__group__name", flat=True).distinct():
        if not _readable(group):
            raise ExportRefused(
                f"ViSAGe names an image by its identity group and a number, and '{group}' cannot be read "
                "back from such a name: it begins with a digit or a space, ends with a space, or has a line "
                "break or a slash in it. Take another format, or other groups with --group."
            )


def files(selection: Selection) -> Iterator[File]:
    asked = selection.filters.task
    if asked != TaskKind.VISUAL_NATURE:
        aside = Aside()
        names = _names(selection.study, aside)
        yield File(
            "Image Annotations.xlsx",
            sheet(
                released_pages.SHEET, _with_head(_PAGES_HEAD, _pages(selection, names)), too_long=_too_long
            ),
        )
        # The same rows once more: they are counted once.
        again = _with_head(_PAGES_HEAD, _pages(replace(selection, told=None), names))
        yield File("ImageAnnotations.csv", gathered(csv_lines([row]) for row in again))
        yield File("images.csv", aside.content())
    if asked != TaskKind.DEPICTION:
        aside = Aside()
        aside.write(csv_lines([("attribute", "unit")]))
        rated = _with_head(_RATINGS_HEAD, _ratings(selection, aside))
        yield File("Visual Attributes_.xlsx", sheet(released_ratings.SHEET, rated, too_long=_too_long))
        yield File("left_out.csv", aside.content())


def _with_head(head: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    yield head
    yield from rows


def _too_long() -> ExportRefused:
    return ExportRefused("These are more rows than an Excel sheet can hold. Filter, or take the long table.")


def _names(study: Study, listed: Aside) -> dict[int, str]:
    """The name of each image that the study shows, by its key; `listed` says which is which."""
    used = Unit.objects.filter(task__study=study, purpose=Purpose.DATA, image=OuterRef("pk"))
    shown = Image.objects.filter(Exists(used)).order_by(
        "image_set__name", "group__axis", "group__name", "index"
    )
    names: dict[int, str] = {}
    taken: set[str] = set()
    free: dict[str, Iterator[int]] = {}

    def give(key: int, group: str, name: str) -> bool:
        if name in taken or not _says(name, group):
            return False
        names[key] = name
        taken.add(name)
        return True

    fields = ("pk", "group__name", "index", "reference", "file")
    for key, group, _, reference, file in shown.values_list(*fields).iterator():
        give(key, group, PurePosixPath(image_name(reference, file)).name)
    for key, group, index in shown.values_list(*fields[:3]).iterator():
        if key not in names:
            give(key, group, f"{group}{index}.png")
    for key, group in shown.values_list(*fields[:2]).iterator():
        numbers = free.setdefault(group, iter(range(1, _LAST + 1) if _readable(group) else ()))
        while key not in names and (number := next(numbers, None)):
            give(key, group, f"{group}{number}.png")
    listed.write(csv_lines([("img_path", "name", *image_answers.WHICH)]))
    which = ("image_set__name", "group__axis", "group__name", "index")
    for key, reference, file, *says in shown.values_list("pk", *fields[3:], *which).iterator():
        if key in names:
            listed.write(csv_lines([(names[key], image_name(reference, file), *says)]))
    return names


def _readable(group: str) -> bool:
    """Whether there are names from which this group is read."""
    return _says(f"{group}{_ALWAYS_READ}.png", group)


def _says(name: str, group: str) -> bool:
    """Whether an image of this name is read as one of this group, and the name is no other way to say it."""
    read = released_pages.group_and_number(PurePosixPath(name).name)
    return read is not None and read[0] == group and name == f"{group}{read[1]}.png"


def _pages(selection: Selection, names: dict[int, str]) -> Iterator[tuple[Any, ...]]:
    rows = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
        .order_by(
            "response__unit__task_id",
            "response__unit__position",
            "response__slot__index",
            "response_id",
            "option__position",
        )
        .values_list(
            "pk",
            "response__unit__source_name",
            "response__unit__position",
            "response__unit__task__version",
            "response__unit__image_id",
            "option__attribute__text",
            "value",
        )
        .iterator(chunk_size=CHUNK)
    )
    while chunk := list(islice(rows, CHUNK)):
        boxes = boxes_of(row[0] for row in chunk)
        for key, source_name, unit, version, image, attribute, value in chunk:
            yield (
                source_name or (f"unit {unit}" if version == 1 else f"unit {unit} of version {version}"),
                names[image],
                attribute or NONE_OF_ABOVE,
                "yes" if value else "no",
                _coords(boxes.get(key, [])),
            )
        selection.read(len(chunk))


def _coords(boxes: list[Corners]) -> str:
    if not boxes:
        return "[]"
    x0, y0, x1, y1 = boxes[0]
    return f"['{x0!r},{y0!r}', '{x1!r},{y1!r}']"


def _ratings(selection: Selection, left_out: Aside) -> Iterator[tuple[Any, ...]]:
    rows = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.VISUAL_NATURE])
        .order_by(
            "response__unit__task_id", "response__unit__position", "response__slot__index", "response_id"
        )
        .values_list(
            "response__unit_id",
            "response__unit__position",
            "response__unit__attribute__text",
            "response__slot__stratum",
            "value",
        )
        .iterator(chunk_size=CHUNK)
    )
    for _, answers in groupby(rows, key=itemgetter(0)):
        said: dict[str, int] = {}
        for _unit, position, text, stratum, value in answers:
            unit, attribute = position, text
            origin = _ORIGINS.get(strata.single_value(stratum or strata.ANY, "origin").lower())
            if origin is not None:
                said.setdefault(origin, value)
            selection.read(1)
        if len(said) < len(released_ratings.ORIGINS):
            left_out.write(csv_lines([(attribute, unit)]))
            continue
        scores = [said[ending] for ending in released_ratings.ORIGINS]
        cells = (cell for score in scores for cell in (_RATINGS[score], score))
        yield (attribute, *cells, sum(scores) / len(scores))


__all__ = ["COLUMNS", "KINDS", "files", "fits"]
