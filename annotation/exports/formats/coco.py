"""Boxes as COCO has them, with the annotator of each, and reviewed images that have none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from annotation.exports import image_answers
from annotation.exports.packing import Aside, File, gathered
from annotation.exports.selection import Selection

COLUMNS = (
    ("images[].file_name", "name of the image; `name` is what the study calls it, where that differs"),
    ("images[]: " + ", ".join(image_answers.WHICH), image_answers.WHICH_MEANS),
    ("images[].reviewed", "true: every image here was judged, also one without an annotation"),
    (
        "images[].reviews",
        "one for each answer: `response`, `annotator` (pseudonym, or null), `stratum`, `page`, and as "
        "numbers of categories `shown` (in the order shown), `chosen`, `whole_image` (chosen without a box, "
        "as visible in the image as a whole); `none_of_above`",
    ),
    ("annotations[].bbox", "`[x, y, width, height]` in pixels, from the top left corner"),
    ("annotations[].annotator", "pseudonym of who drew the box, null where the source does not say"),
    ("annotations[].response", "number of the answer that it belongs to"),
    ("annotations[].role", "why the attribute was shown, as in the long table"),
    ("annotations[].iscrowd", "always 0; `segmentation` is the rectangle itself"),
    ("categories", "every attribute that was shown, once, in alphabetical order"),
)


def files(selection: Selection) -> Iterator[File]:
    numbers = image_answers.categories(selection)
    aside = Aside()
    yield File(
        "annotations.json",
        chain(gathered(_head(selection, numbers, aside)), aside.content(), gathered(_tail(numbers))),
    )


def _head(selection: Selection, numbers: image_answers.Numbers, aside: Aside) -> Iterator[str]:
    """All annotations; what is said of the images is put aside, so that both come from one reading."""
    study = selection.study
    info = {"description": study.title, "study": study.name, "simulated": study.simulated}
    yield f'{{"info": {_json(info)},\n"licenses": [],\n"annotations": ['
    number = 0
    for place, image in enumerate(image_answers.reviewed(selection)):
        for line in _annotations(image, numbers):
            number += 1
            yield f"{',' if number > 1 else ''}\n{_json({'id': number, **line})}"
        aside.write(f"{',' if place else ''}\n{_json(_image(image, numbers))}")
    yield '],\n"images": ['


def _tail(numbers: image_answers.Numbers) -> Iterator[str]:
    listed = [{"id": key, "name": text, "supercategory": "attribute"} for text, key in numbers.items()]
    yield f'],\n"categories": {_json(listed)}}}\n'


def _annotations(
    image: image_answers.Reviewed, numbers: image_answers.Numbers
) -> Iterator[dict[str, object]]:
    for review in image.reviews:
        for shown in review.chosen:
            for x0, y0, x1, y1 in shown.boxes:
                yield {
                    "image_id": image.key,
                    "category_id": numbers[shown.attribute],
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "area": (x1 - x0) * (y1 - y0),
                    "iscrowd": 0,
                    "segmentation": [[x0, y0, x1, y0, x1, y1, x0, y1]],
                    "annotator": review.annotator or None,
                    "response": review.response,
                    "role": shown.role,
                }


def _image(image: image_answers.Reviewed, numbers: image_answers.Numbers) -> dict[str, object]:
    named = {} if image.name == image.file_name else {"name": image.name}
    return {
        "id": image.key,
        "file_name": image.file_name,
        **named,
        "width": image.width,
        "height": image.height,
        **image.which,
        "reviewed": True,
        "reviews": [
            {
                "response": review.response,
                "annotator": review.annotator or None,
                "stratum": review.stratum,
                "page": review.page,
                "shown": [numbers[text] for text in review.attributes],
                "chosen": [numbers[shown.attribute] for shown in review.chosen],
                "whole_image": [numbers[shown.attribute] for shown in review.chosen if shown.whole_image],
                "none_of_above": review.none_of_above,
            }
            for review in image.reviews
        ],
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


__all__ = ["COLUMNS", "files"]
