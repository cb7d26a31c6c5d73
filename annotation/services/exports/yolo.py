"""Boxes as YOLO has them: a text file an image, empty where nothing was boxed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotation.services.exports import images
from annotation.services.exports.packing import Aside, File
from annotation.services.exports.selection import Selection
from annotation.services.exports.table import Corners
from annotation.services.exports.text import csv_lines

COLUMNS = (
    ("labels/*.txt", "`class x y width height` a box: centre and size as shares of the image's"),
    (
        "images/*",
        "the images that have a file here; the others keep their name, fetch them from their source",
    ),
    ("data.yaml", "numbers and names of the classes: every attribute that was shown"),
    ("annotators.csv: image, line", "line of the image's text file, from 1; empty for what has no box"),
    ("annotators.csv: annotator, response", "pseudonym (empty if not known) and number of the answer"),
    (
        "annotators.csv: attribute, where",
        "what was chosen, and `box`, `whole image` or `no box`; `nothing` where an answer chose no attribute",
    ),
)


def files(selection: Selection) -> Iterator[File]:
    numbers = images.categories(selection, first=0)
    people = Aside()
    people.write(csv_lines([("image", "line", "annotator", "response", "attribute", "where")]))
    for image in images.reviewed(selection):
        lines: list[str] = []
        for review in image.reviews:
            said = (image.file_name, review.annotator, review.response)
            people.write(csv_lines(_review(review, said, len(lines))))
            lines += [
                _line(numbers[shown.attribute], box, image) for shown in review.chosen for box in shown.boxes
            ]
        yield File(f"labels/{image.stem}.txt", ["".join(lines).encode()])
        if images.is_here(image):
            yield images.picture(image, f"images/{image.file_name}")
    yield File("annotators.csv", people.content())
    names = "".join(
        f"  {number}: {json.dumps(text, ensure_ascii=False)}\n" for text, number in numbers.items()
    )
    yield File("data.yaml", [f"path: .\ntrain: images\nval: images\nnames:\n{names}".encode()])


def _line(number: int, box: Corners, image: images.Reviewed) -> str:
    x0, y0, x1, y1 = box
    centre = f"{(x0 + x1) / 2 / image.width:.6f} {(y0 + y1) / 2 / image.height:.6f}"
    return f"{number} {centre} {(x1 - x0) / image.width:.6f} {(y1 - y0) / image.height:.6f}\n"


def _review(review: images.Review, said: tuple[str, str, int], lines: int) -> Iterator[tuple[object, ...]]:
    name, annotator, response = said
    if not review.chosen:
        yield name, None, annotator, response, "", "nothing"
    for shown in review.chosen:
        for _ in shown.boxes:
            lines += 1
            yield name, lines, annotator, response, shown.attribute, "box"
        if not shown.boxes:
            where = "whole image" if shown.whole_image else "no box"
            yield name, None, annotator, response, shown.attribute, where


__all__ = ["COLUMNS", "files"]
