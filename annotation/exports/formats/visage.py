"""ViSAGe's two released files; `import_visage` reads them back (PROTOCOL §13)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Exists, OuterRef

from annotation.core import strata
from annotation.core.csv_text import csv_lines
from annotation.exports import image_answers
from annotation.exports.packing import File, TemporaryText, xlsx_sheet
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
        "identifies the page, not a person, as in ViSAGe's release: `unit` and its number, with the version "
        "for later versions of the task",
    ),
    (
        "Image Annotations: img_path",
        "name of the image: identity group, number, `.png`; unique. An image that already has such a name "
        "keeps it. Any other gets its number within its image set, or the first free number of the group if "
        "that name is taken or would be read as another group's (`Area 5` and 1 as `Area` and 51). All "
        "exports of a study with the same images give them the same names",
    ),
    ("Image Annotations: attribute", "in the order of the page, including `none of the above`"),
    ("Image Annotations: present", "`yes` or `no`"),
    (
        "Image Annotations: coords",
        "`['x,y', 'x,y']`: two corners in pixels of the first box drawn; `[]` without a box. This format has "
        "one box per attribute; the long table and COCO have all boxes",
    ),
    ("Visual Attributes_: attribute", "one row for each time it was shown"),
    (
        "Visual Attributes_: rating_*, score_*",
        "ratings by the annotators from Asia, EMEA (or Europe) and North America, and their scores 5 to 1",
    ),
    ("Visual Attributes_: mean", "mean of the three scores"),
    ("images.csv: img_path", "every value that `img_path` can have"),
    ("images.csv: name", "the study's name for the image"),
    ("images.csv: " + ", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    ("left_out.csv", "attributes without a row, because a rating from one of the three origins is missing"),
)
KINDS = (TaskKind.DEPICTION, TaskKind.VISUAL_NATURE)
_ORIGINS = {place.lower(): ending for ending, place in released_ratings.ORIGINS.items()} | {"europe": "emea"}
_RATINGS = {score: rating for rating, score in released_ratings.SCORES.items()}
_MAX_NUMBER, _SIX_DIGITS = 999_999, 100_000
"""A number has at most six digits. A number with six digits can never run into a digit of the name before."""


def check_selection(selection: Selection) -> None:
    """Raises ExportRefused if groups or attributes would be confused, or a group could not be read back."""
    rows = selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
    check_groups(rows, of="image")
    check_attributes(selection)
    for group in rows.order_by().values_list("response__unit__image__group__name", flat=True).distinct():
        if not _readable(group):
            raise ExportRefused(
                f"ViSAGe names an image by its identity group and a number, and '{group}' cannot be read "
                "back from such a name: it begins with a digit or a space, ends with a space, or contains a "
                "line break or a slash. Choose another format, or other groups with --group."
            )


def files(selection: Selection) -> Iterator[File]:
    task = selection.filters.task
    if task != TaskKind.VISUAL_NATURE:
        images_text = TemporaryText()
        names = _names(selection.study, images_text)
        yield File(
            "Image Annotations.xlsx",
            xlsx_sheet(released_pages.SHEET, chain([released_pages.COLUMNS], _pages(selection, names))),
        )
        # The same rows a second time: progress counts them once
        rows = chain([released_pages.COLUMNS], _pages(replace(selection, on_progress=None), names))
        yield File("ImageAnnotations.csv", (csv_lines([row]).encode() for row in rows))
        yield File("images.csv", images_text.content())
    if task != TaskKind.DEPICTION:
        left_out = TemporaryText()
        left_out.write(csv_lines([("attribute", "unit")]))
        ratings = chain([released_ratings.COLUMNS], _ratings(selection, left_out))
        yield File("Visual Attributes_.xlsx", xlsx_sheet(released_ratings.SHEET, ratings))
        yield File("left_out.csv", left_out.content())


def _names(study: Study, images_text: TemporaryText) -> dict[int, str]:
    """The name of each image that the study shows, by its id. The names are also written to `images_text`."""
    used = Unit.objects.filter(task__study=study, purpose=Purpose.DATA, image=OuterRef("pk"))
    shown = Image.objects.filter(Exists(used)).order_by(
        "image_set__name", "group__axis", "group__name", "index"
    )
    names: dict[int, str] = {}
    taken: set[str] = set()
    free: dict[str, Iterator[int]] = {}

    def assign(key: int, group: str, name: str) -> None:
        if name not in taken and _is_name_of(name, group):
            names[key] = name
            taken.add(name)

    fields = ("pk", "group__name", "index", "reference", "file")
    for key, group, _, reference, file in shown.values_list(*fields).iterator():
        assign(key, group, PurePosixPath(image_name(reference, file)).name)
    for key, group, index in shown.values_list(*fields[:3]).iterator():
        if key not in names:
            assign(key, group, f"{group}{index}.png")
    for key, group in shown.values_list(*fields[:2]).iterator():
        numbers = free.setdefault(group, iter(range(1, _MAX_NUMBER + 1) if _readable(group) else ()))
        while key not in names and (number := next(numbers, None)):
            assign(key, group, f"{group}{number}.png")
    images_text.write(csv_lines([("img_path", "name", *image_answers.IMAGE_KEYS)]))
    key_fields = ("image_set__name", "group__axis", "group__name", "index")
    for key, reference, file, *keys in shown.values_list("pk", *fields[3:], *key_fields).iterator():
        if key in names:
            images_text.write(csv_lines([(names[key], image_name(reference, file), *keys)]))
    return names


def _readable(group: str) -> bool:
    """Whether any image name can be read back as this group."""
    return _is_name_of(f"{group}{_SIX_DIGITS}.png", group)


def _is_name_of(name: str, group: str) -> bool:
    """Whether the name is read back as this group, and is its canonical form: group, number, `.png`."""
    parsed = released_pages.group_and_number(name.rpartition("/")[2])
    return parsed is not None and parsed[0] == group and name == f"{group}{parsed[1]}.png"


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
        selection.count_rows(len(chunk))


def _coords(boxes: list[Corners]) -> str:
    if not boxes:
        return "[]"
    x0, y0, x1, y1 = boxes[0]
    return f"['{x0!r},{y0!r}', '{x1!r},{y1!r}']"


def _ratings(selection: Selection, left_out: TemporaryText) -> Iterator[tuple[Any, ...]]:
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
    for _, of_unit in groupby(rows, key=itemgetter(0)):
        ratings: dict[str, int] = {}
        for _unit, position, text, stratum, value in of_unit:
            unit, attribute = position, text
            origin = _ORIGINS.get(strata.single_value(stratum or strata.ANY, "origin").lower())
            if origin is not None:
                ratings.setdefault(origin, value)
            selection.count_rows(1)
        if len(ratings) < len(released_ratings.ORIGINS):
            left_out.write(csv_lines([(attribute, unit)]))
            continue
        scores = [ratings[ending] for ending in released_ratings.ORIGINS]
        cells = (cell for score in scores for cell in (_RATINGS[score], score))
        yield (attribute, *cells, sum(scores) / len(scores))
