"""COCO: boxes with the annotator of each, and reviewed images without boxes."""

import json
from collections.abc import Iterator
from itertools import chain

from annotation.exports import image_answers
from annotation.exports.packing import File, TemporaryText
from annotation.exports.selection import Selection

COLUMNS = (
    ("images[].file_name", "file name of the image; `name` is the study's name for it, if different"),
    ("images[]: " + ", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    ("images[].reviewed", "always true: every image here was judged, also those without an annotation"),
    (
        "images[].reviews",
        "one per response: `response`, `annotator` (pseudonym, or null), `stratum`, `page`; as category "
        "numbers `shown` (in the order shown), `chosen`, `whole_image` (chosen without a box, as visible in "
        "the image as a whole); `none_of_above`",
    ),
    ("annotations[].bbox", "`[x, y, width, height]` in pixels, from the top left corner"),
    ("annotations[].annotator", "pseudonym of the annotator who drew the box, null if not known"),
    ("annotations[].response", "number of the response that the box belongs to"),
    ("annotations[].role", "why the attribute was shown, as in the long table"),
    ("annotations[].iscrowd", "always 0; `segmentation` is the rectangle itself"),
    ("categories", "every attribute that was shown, in alphabetical order"),
)


def files(selection: Selection) -> Iterator[File]:
    numbers = image_answers.category_numbers(selection)
    images_text = TemporaryText()
    yield File(
        "annotations.json",
        chain(
            map(str.encode, _head(selection, numbers, images_text)),
            images_text.content(),
            map(str.encode, _tail(numbers)),
        ),
    )


def _head(selection: Selection, numbers: dict[str, int], images_text: TemporaryText) -> Iterator[str]:
    """All annotations. The images are written aside at the same time, so that both come from one pass."""
    study = selection.study
    info = {"description": study.title, "study": study.name, "simulated": study.simulated}
    yield f'{{"info": {_json(info)},\n"licenses": [],\n"annotations": ['
    number = 0
    for place, image in enumerate(image_answers.reviewed_images(selection)):
        for line in _annotations(image, numbers):
            number += 1
            yield f"{',' if number > 1 else ''}\n{_json({'id': number, **line})}"
        images_text.write(f"{',' if place else ''}\n{_json(_image(image, numbers))}")
    yield '],\n"images": ['


def _tail(numbers: dict[str, int]) -> Iterator[str]:
    categories = [{"id": key, "name": text, "supercategory": "attribute"} for text, key in numbers.items()]
    yield f'],\n"categories": {_json(categories)}}}\n'


def _annotations(image: image_answers.ReviewedImage, numbers: dict[str, int]) -> Iterator[dict[str, object]]:
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


def _image(image: image_answers.ReviewedImage, numbers: dict[str, int]) -> dict[str, object]:
    named = {} if image.name == image.file_name else {"name": image.name}
    return {
        "id": image.key,
        "file_name": image.file_name,
        **named,
        "width": image.width,
        "height": image.height,
        **image.keys,
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
