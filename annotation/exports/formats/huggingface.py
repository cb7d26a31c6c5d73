"""A folder for `datasets.load_dataset(FOLDER)`: images, or a table if no image has a file here."""

import json
from collections.abc import Iterator

from annotation.exports import image_answers
from annotation.exports.packing import File, TemporaryText
from annotation.exports.selection import Selection

COLUMNS = (
    (
        "file_name",
        "the image, within this folder; `datasets` shows it as the column `image`. If no image has a file "
        "here, the column is missing and the folder opens as a table",
    ),
    ("name", "the study's name for the image"),
    (", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    ("width, height", "size of the image in pixels"),
    (
        "objects",
        "all boxes: lists of equal length `bbox` (`[x, y, width, height]` in pixels), `category` (the "
        "attribute), `annotator` (pseudonym, empty if not known), `response`",
    ),
    (
        "judgements",
        "all judgements: lists of equal length `response`, `annotator`, `stratum`, `page`, "
        "`shown_position`, `attribute` (empty for none of the above), `role`, `value` (1 depicted, 0 not), "
        "`whole_image`",
    ),
    (
        "images_elsewhere.jsonl",
        "the same lines without `file_name`, for the images that have no file here; only if others have one",
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


def readme_header(selection: Selection) -> str:
    """The metadata header of the dataset's README.md."""
    return CARD.format(title=json.dumps(selection.study.title, ensure_ascii=False))


def files(selection: Selection) -> Iterator[File]:
    here, elsewhere = TemporaryText(), TemporaryText()
    any_stored = False
    for image in image_answers.reviewed_images(selection):
        line = _line(image)
        stored = list(image_answers.stored_files(image, f"data/{image.file_name}"))
        if stored:
            line = {"file_name": image.file_name, **line}
        yield from stored
        text = here if stored else elsewhere
        text.write(json.dumps(line, ensure_ascii=False) + "\n")
        any_stored |= bool(stored)
    if any_stored:
        yield File("data/metadata.jsonl", here.content())
        yield File("images_elsewhere.jsonl", elsewhere.content())
    else:
        # `datasets` would look for images if the file were called `metadata`
        yield File("data/train.jsonl", elsewhere.content())


def _line(image: image_answers.ReviewedImage) -> dict[str, object]:
    boxes = [
        ([x0, y0, x1 - x0, y1 - y0], shown.attribute, review.annotator, review.response)
        for review in image.reviews
        for shown in review.chosen
        for x0, y0, x1, y1 in shown.boxes
    ]
    judgements = [(review, shown) for review in image.reviews for shown in review.shown]
    return {
        "name": image.name,
        **image.keys,
        "width": image.width,
        "height": image.height,
        "objects": {
            name: [box[place] for box in boxes]
            for place, name in enumerate(("bbox", "category", "annotator", "response"))
        },
        "judgements": {
            "response": [review.response for review, _ in judgements],
            "annotator": [review.annotator for review, _ in judgements],
            "stratum": [review.stratum for review, _ in judgements],
            "page": [review.page for review, _ in judgements],
            "shown_position": [shown.position for _, shown in judgements],
            "attribute": [shown.attribute for _, shown in judgements],
            "role": [shown.role for _, shown in judgements],
            "value": [int(shown.chosen) for _, shown in judgements],
            "whole_image": [shown.whole_image for _, shown in judgements],
        },
    }
