"""YOLO: one text file per image, empty if nobody drew a box."""

import hashlib
import json
from collections.abc import Iterator

from annotation.core.csv_text import csv_lines
from annotation.exports import image_answers
from annotation.exports.packing import File, TemporaryText
from annotation.exports.selection import COUNTED, Selection
from annotation.exports.table import Corners
from annotation.models import TaskKind

COLUMNS = (
    (
        "labels/train/*.txt, labels/val/*.txt",
        "one line `class x y width height` per box: centre and size as fractions of the image's size",
    ),
    (
        "images/train/*, images/val/*",
        "the images that have a file here; get the others from their source and put each, under its name, "
        "into the part given in images.csv",
    ),
    (
        "data.yaml",
        "the two parts, and numbers and names of the classes (every attribute that was shown). Paths are "
        "relative to this file",
    ),
    (
        "images.csv: image, part",
        "every image and its part. One in five is in `val`, drawn with a fixed seed, so that the same images "
        "are always split the same way. A single image is in `train`, and there is no `val`",
    ),
    ("images.csv: " + ", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    ("annotators.csv: image, part, line", "line of the image's text file, from 1; empty without a box"),
    ("annotators.csv: annotator, response", "pseudonym (empty if not known) and number of the response"),
    (
        "annotators.csv: attribute, where",
        "the chosen attribute, and `box`, `whole image` or `no box`; `nothing` if no attribute was chosen",
    ),
)
TRAIN, VAL = "train", "val"
_SEED, _ONE_IN = 0, 5


def files(selection: Selection) -> Iterator[File]:
    numbers = image_answers.category_numbers(selection, first=0)
    validation = _validation(selection)
    annotators, images = TemporaryText(), TemporaryText()
    annotators.write(csv_lines([("image", "part", "line", "annotator", "response", "attribute", "where")]))
    images.write(csv_lines([("image", "part", *image_answers.IMAGE_KEYS)]))
    for image in image_answers.reviewed_images(selection):
        part = VAL if image.key in validation else TRAIN
        images.write(csv_lines([(image.file_name, part, *image.keys.values())]))
        lines: list[str] = []
        for review in image.reviews:
            rows = _review(review, len(lines))
            annotators.write(csv_lines((image.file_name, part, *row) for row in rows))
            lines += [
                _line(numbers[shown.attribute], box, image) for shown in review.chosen for box in shown.boxes
            ]
        yield File(f"labels/{part}/{image.stem}.txt", ["".join(lines).encode()])
        yield from image_answers.stored_files(image, f"images/{part}/{image.file_name}")
    yield File("images.csv", images.content())
    yield File("annotators.csv", annotators.content())
    yield File("data.yaml", [_data(numbers, validation).encode()])


def _validation(selection: Selection) -> set[int]:
    """Ids of the validation images: those with the lowest hash of seed and IMAGE_KEYS, so that every export
    draws the same ones."""
    of_image = "response__unit__image"
    images = (
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
    hashed = sorted(
        (hashlib.sha256(repr((_SEED, *keys)).encode()).digest(), pk) for *keys, pk in images.iterator()
    )
    held_out = max(len(hashed) // _ONE_IN, 1) if len(hashed) > 1 else 0
    return {pk for _, pk in hashed[:held_out]}


def _data(numbers: dict[str, int], validation: set[int]) -> str:
    # Without `path`: readers would resolve it relative to their working directory.
    val = f"val: images/{VAL}\n" if validation else "# No val: there are too few images to hold one out.\n"
    names = "".join(
        f"  {number}: {json.dumps(text, ensure_ascii=False)}\n" for text, number in numbers.items()
    )
    return f"train: images/{TRAIN}\n{val}names:\n{names}"


def _line(number: int, box: Corners, image: image_answers.ReviewedImage) -> str:
    x0, y0, x1, y1 = box
    centre = f"{(x0 + x1) / 2 / image.width:.6f} {(y0 + y1) / 2 / image.height:.6f}"
    return f"{number} {centre} {(x1 - x0) / image.width:.6f} {(y1 - y0) / image.height:.6f}\n"


def _review(review: image_answers.Review, lines: int) -> Iterator[tuple[object, ...]]:
    source = (review.annotator, review.response)
    if not review.chosen:
        yield None, *source, "", "nothing"
    for shown in review.chosen:
        for _ in shown.boxes:
            lines += 1
            yield lines, *source, shown.attribute, "box"
        if not shown.boxes:
            yield None, *source, shown.attribute, "whole image" if shown.whole_image else "no box"
