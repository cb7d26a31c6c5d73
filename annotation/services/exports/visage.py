"""The two released files of ViSAGe, in their shape: `import_visage` reads them back (PROTOCOL §13)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from annotation import strata
from annotation.models import TaskKind
from annotation.readers import visage_annotations as released_pages
from annotation.readers import visage_attributes as released_ratings
from annotation.services.exports.packing import Aside, File, gathered, sheet
from annotation.services.exports.selection import COUNTED, ExportRefused, Selection
from annotation.services.exports.table import CHUNK, Corners, boxes_of, image_name
from annotation.services.exports.text import csv_lines

COLUMNS = (
    (
        "Image Annotations: worker_id",
        "names the page, not a person, as in the release: `unit` and its number",
    ),
    ("Image Annotations: img_path", "name of the image: identity, number, `.png`"),
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
    ("left_out.csv", "attributes that lack a rating from one of the three origins, and so have no row"),
)
KINDS = (TaskKind.DEPICTION, TaskKind.VISUAL_NATURE)
_PAGES_HEAD = released_pages.COLUMNS
_RATINGS_HEAD = released_ratings.COLUMNS
_ORIGINS = {place.lower(): ending for ending, place in released_ratings.ORIGINS.items()} | {"europe": "emea"}
_RATINGS = {score: rating for rating, score in released_ratings.SCORES.items()}
_IMAGE = re.compile(r"\D.*?[1-9]\d{0,5}\.png")


def files(selection: Selection) -> Iterator[File]:
    asked = selection.filters.task
    if asked != TaskKind.VISUAL_NATURE:
        yield File(
            "Image Annotations.xlsx",
            sheet(released_pages.SHEET, _with_head(_PAGES_HEAD, _pages(selection)), too_long=_too_long),
        )
        # The same rows once more: they are counted once.
        again = _with_head(_PAGES_HEAD, _pages(replace(selection, told=None)))
        yield File("ImageAnnotations.csv", gathered(csv_lines([row]) for row in again))
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


def _pages(selection: Selection) -> Iterator[tuple[Any, ...]]:
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
            "response__unit__image__reference",
            "response__unit__image__file",
            "response__unit__image__group__name",
            "response__unit__image__index",
            "option__attribute__text",
            "value",
        )
        .iterator(chunk_size=CHUNK)
    )
    while chunk := list(islice(rows, CHUNK)):
        boxes = boxes_of(row[0] for row in chunk)
        for key, source_name, unit, reference, file, group, index, attribute, value in chunk:
            name = PurePosixPath(image_name(reference, file)).name
            yield (
                source_name or f"unit {unit}",
                name if _IMAGE.fullmatch(name) else f"{group}{index}.png",
                attribute or released_pages.NONE_OF_ABOVE,
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
            origin = _ORIGINS.get(strata.value_of(stratum or strata.ANY, "origin").lower())
            if origin is not None:
                said.setdefault(origin, value)
            selection.read(1)
        if len(said) < len(released_ratings.ORIGINS):
            left_out.write(csv_lines([(attribute, unit)]))
            continue
        scores = [said[ending] for ending in released_ratings.ORIGINS]
        cells = (cell for score in scores for cell in (_RATINGS[score], score))
        yield (attribute, *cells, sum(scores) / len(scores))


__all__ = ["COLUMNS", "KINDS", "files"]
