"""A folder that `datasets.load_dataset(FOLDER)` opens: images, or a table where no image has a file here."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotation.exports import image_answers
from annotation.exports.packing import Aside, File
from annotation.exports.selection import Selection

COLUMNS = (
    (
        "file_name",
        "the image, within this folder; `datasets` shows it as the column `image`. Where no image has a file "
        "here, there is no such column, and the folder opens as a table",
    ),
    ("name", "what the study calls the image"),
    (", ".join(image_answers.WHICH), image_answers.WHICH_MEANS),
    ("width, height", "size of the image in pixels"),
    (
        "objects",
        "all boxes: lists of one length `bbox` (`[x, y, width, height]` in pixels), `category` (the "
        "attribute), `annotator` (pseudonym, empty if not known), `response`",
    ),
    (
        "judgements",
        "what was shown and said: lists of one length `response`, `annotator`, `stratum`, `page`, "
        "`shown_position`, `attribute` (empty for none of the above), `role`, `value` (1 depicted, 0 not), "
        "`whole_image`",
    ),
    (
        "images_elsewhere.jsonl",
        "the same lines, without `file_name`, for images that have no file here, where others have one",
    ),
)
CARD = """---
pretty_name: {title}
task_categories:
- image-classification
- object-detection
tags:
- stereotypes
- annotator-level
configs:
- config_name: default
  data_files:
  - split: train
    path: data/**
---
"""


def card(selection: Selection) -> str:
    """The header that the README.md of a dataset has."""
    return CARD.format(title=json.dumps(selection.study.title, ensure_ascii=False))


def files(selection: Selection) -> Iterator[File]:
    here, elsewhere = Aside(), Aside()
    pictures = 0
    for image in image_answers.reviewed(selection):
        said = _line(image)
        if image_answers.is_here(image):
            pictures += 1
            yield image_answers.picture(image, f"data/{image.file_name}")
            here.write(json.dumps({"file_name": image.file_name, **said}, ensure_ascii=False) + "\n")
        else:
            elsewhere.write(json.dumps(said, ensure_ascii=False) + "\n")
    if pictures:
        yield File("data/metadata.jsonl", here.content())
        yield File("images_elsewhere.jsonl", elsewhere.content())
    else:
        # By the name `metadata`, `datasets` would look for images.
        yield File("data/train.jsonl", elsewhere.content())


def _line(image: image_answers.Reviewed) -> dict[str, object]:
    boxes = [
        ([x0, y0, x1 - x0, y1 - y0], shown.attribute, review.annotator, review.response)
        for review in image.reviews
        for shown in review.chosen
        for x0, y0, x1, y1 in shown.boxes
    ]
    judged = [(review, shown) for review in image.reviews for shown in review.shown]
    return {
        "name": image.name,
        **image.which,
        "width": image.width,
        "height": image.height,
        "objects": {
            name: [box[place] for box in boxes]
            for place, name in enumerate(("bbox", "category", "annotator", "response"))
        },
        "judgements": {
            "response": [review.response for review, _ in judged],
            "annotator": [review.annotator for review, _ in judged],
            "stratum": [review.stratum for review, _ in judged],
            "page": [review.page for review, _ in judged],
            "shown_position": [shown.position for _, shown in judged],
            "attribute": [shown.attribute for _, shown in judged],
            "role": [shown.role for _, shown in judged],
            "value": [int(shown.chosen) for _, shown in judged],
            "whole_image": [shown.whole_image for _, shown in judged],
        },
    }


__all__ = ["COLUMNS", "card", "files"]
