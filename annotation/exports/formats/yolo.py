"""Boxes as YOLO has them: a text file an image, empty where nothing was boxed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from annotation.core.csv_text import csv_lines
from annotation.exports import image_answers
from annotation.exports.packing import Aside, File
from annotation.exports.selection import COUNTED, Selection
from annotation.exports.table import Corners
from annotation.models import TaskKind

COLUMNS = (
    (
        "labels/train/*.txt, labels/val/*.txt",
        "`class x y width height` a box: centre and size as shares of the image's",
    ),
    (
        "images/train/*, images/val/*",
        "the images that have a file here; the others keep their name: fetch them from their source, and put "
        "each into the part that images.csv names",
    ),
    (
        "data.yaml",
        "the two parts, and numbers and names of the classes: every attribute that was shown. Paths are "
        "relative to the file",
    ),
    (
        "images.csv: image, part",
        "every image, and its part: one in five is in `val`, drawn with a fixed seed, so that the same "
        "images are always parted the same. A single image is in `train`, and there is no `val`",
    ),
    ("images.csv: " + ", ".join(image_answers.WHICH), image_answers.WHICH_MEANS),
    ("annotators.csv: image, part, line", "line of the image's text file, from 1; empty for what has no box"),
    ("annotators.csv: annotator, response", "pseudonym (empty if not known) and number of the answer"),
    (
        "annotators.csv: attribute, where",
        "what was chosen, and `box`, `whole image` or `no box`; `nothing` where an answer chose no attribute",
    ),
)
TRAIN, VAL = "train", "val"
_SEED, _ONE_IN = 0, 5


def files(selection: Selection) -> Iterator[File]:
    numbers = image_answers.categories(selection, first=0)
    validation = _validation(selection)
    people, listed = Aside(), Aside()
    people.write(csv_lines([("image", "part", "line", "annotator", "response", "attribute", "where")]))
    listed.write(csv_lines([("image", "part", *image_answers.WHICH)]))
    for image in image_answers.reviewed(selection):
        part = VAL if image.key in validation else TRAIN
        listed.write(csv_lines([(image.file_name, part, *image.which.values())]))
        lines: list[str] = []
        for review in image.reviews:
            said = _review(review, len(lines))
            people.write(csv_lines((image.file_name, part, *row) for row in said))
            lines += [
                _line(numbers[shown.attribute], box, image) for shown in review.chosen for box in shown.boxes
            ]
        yield File(f"labels/{part}/{image.stem}.txt", ["".join(lines).encode()])
        if image_answers.is_here(image):
            yield image_answers.picture(image, f"images/{part}/{image.file_name}")
    yield File("images.csv", listed.content())
    yield File("annotators.csv", people.content())
    yield File("data.yaml", [_data(numbers, validation).encode()])


def _validation(selection: Selection) -> set[int]:
    """Keys of the images to validate with. Each image draws its number by what names it, in every export the
    same; the lowest are taken."""
    of_image = "response__unit__image"
    shown = (
        selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
        .order_by()
        .values_list(
            f"{of_image}__image_set__name",
            f"{of_image}__group__axis",
            f"{of_image}__group__name",
            f"{of_image}__index",
            f"{of_image}_id",
        )
        .distinct()
    )
    drawn = sorted(
        (hashlib.sha256(repr((_SEED, *which)).encode()).digest(), key) for *which, key in shown.iterator()
    )
    held_out = max(len(drawn) // _ONE_IN, 1) if len(drawn) > 1 else 0
    return {key for _, key in drawn[:held_out]}


def _data(numbers: image_answers.Numbers, validation: set[int]) -> str:
    # Without `path`: readers take such a path as relative to where they were started.
    val = f"val: images/{VAL}\n" if validation else "# No val: there are too few images to hold one out.\n"
    names = "".join(
        f"  {number}: {json.dumps(text, ensure_ascii=False)}\n" for text, number in numbers.items()
    )
    return f"train: images/{TRAIN}\n{val}names:\n{names}"


def _line(number: int, box: Corners, image: image_answers.Reviewed) -> str:
    x0, y0, x1, y1 = box
    centre = f"{(x0 + x1) / 2 / image.width:.6f} {(y0 + y1) / 2 / image.height:.6f}"
    return f"{number} {centre} {(x1 - x0) / image.width:.6f} {(y1 - y0) / image.height:.6f}\n"


def _review(review: image_answers.Review, lines: int) -> Iterator[tuple[object, ...]]:
    said = (review.annotator, review.response)
    if not review.chosen:
        yield None, *said, "", "nothing"
    for shown in review.chosen:
        for _ in shown.boxes:
            lines += 1
            yield lines, *said, shown.attribute, "box"
        if not shown.boxes:
            yield None, *said, shown.attribute, "whole image" if shown.whole_image else "no box"


__all__ = ["COLUMNS", "files"]
