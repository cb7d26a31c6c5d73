"""Label Studio: one task for each page of an image, with an annotation for every response."""

import json
from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import quoteattr

from annotation.exports import image_answers
from annotation.exports.packing import File
from annotation.exports.selection import NONE_OF_ABOVE, Selection

COLUMNS = (
    ("labelstudio.json: id", "number of the unit: one page of one image"),
    (
        "data",
        "`image` (name of the image, prefixed with a number if another image has that name; add the URL of "
        "your copies in front), `page`, and `shown`: the attributes of the page in alphabetical order",
    ),
    ("data: " + ", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    (
        "annotations[]",
        "one per response. Label Studio has no field for pseudonyms: they are in the extra field `annotator` "
        "and in the `meta` of each result. `created_at` if known, `lead_time` in seconds, `shown` in the "
        "order shown",
    ),
    (
        "annotations[].result",
        "`choices` of the control `depicted` (the attributes chosen, or none of the above) and "
        "`whole_image`, and `rectanglelabels` of the control `box`: x, y, width, height in per cent of the "
        "image, without rotation",
    ),
    ("config.xml", "the labeling interface for these results"),
)


def files(selection: Selection) -> Iterator[File]:
    yield File("labelstudio.json", map(str.encode, _tasks(selection)))
    yield File("config.xml", [_config(list(image_answers.category_numbers(selection))).encode()])


def _tasks(selection: Selection) -> Iterator[str]:
    yield "["
    between = "\n"
    names: set[str] = set()
    for image in image_answers.reviewed_images(selection):
        name = image.file_name if image.name in names else image.name
        names.add(name)
        for unit, of_unit in groupby(image.reviews, key=lambda review: review.unit):
            reviews = list(of_unit)
            task = {
                "id": unit,
                "data": {
                    "image": name,
                    **image.keys,
                    "page": reviews[0].page,
                    "shown": sorted(reviews[0].attributes),
                },
                "annotations": [_annotation(image, review) for review in reviews],
                "predictions": [],
            }
            yield f"{between}{json.dumps(task, ensure_ascii=False)}"
            between = ",\n"
    yield "\n]\n"


def _annotation(image: image_answers.ReviewedImage, review: image_answers.Review) -> dict[str, object]:
    active = review.active_ms
    return {
        "id": review.response,
        "unique_id": f"response-{review.response}",
        "annotator": review.annotator or None,
        "was_cancelled": False,
        "ground_truth": False,
        # Label Studio's own converter fails on null
        **({"created_at": review.submitted_at.isoformat()} if review.submitted_at else {}),
        "lead_time": None if active is None else active / 1000,
        "shown": [shown.attribute or NONE_OF_ABOVE for shown in review.shown],
        "result": list(_results(image, review)),
    }


def _results(image: image_answers.ReviewedImage, review: image_answers.Review) -> Iterator[dict[str, object]]:
    meta = {"meta": {"text": [review.annotator]}} if review.annotator else {}
    chosen = [shown.attribute for shown in review.chosen]
    whole = [shown.attribute for shown in review.chosen if shown.whole_image]
    for control, texts in (
        ("depicted", chosen + [NONE_OF_ABOVE] * review.none_of_above),
        ("whole_image", whole),
    ):
        if texts:
            yield {
                "id": f"{review.response}-{control}",
                "type": "choices",
                "from_name": control,
                "to_name": "image",
                "value": {"choices": texts},
                **meta,
            }
    for shown in review.chosen:
        for number, (x0, y0, x1, y1) in enumerate(shown.boxes, 1):
            yield {
                "id": f"{review.response}-{shown.position}-{number}",
                "type": "rectanglelabels",
                "from_name": "box",
                "to_name": "image",
                "original_width": image.width,
                "original_height": image.height,
                "image_rotation": 0,
                "value": {
                    "x": 100 * x0 / image.width,
                    "y": 100 * y0 / image.height,
                    "width": 100 * (x1 - x0) / image.width,
                    "height": 100 * (y1 - y0) / image.height,
                    "rotation": 0,
                    "rectanglelabels": [shown.attribute],
                },
                **meta,
            }


def _config(names: list[str]) -> str:
    labels = "".join(f"    <Label value={quoteattr(name)}/>\n" for name in names)
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in names)
    none = f"    <Choice value={quoteattr(NONE_OF_ABOVE)}/>\n"
    return (
        '<View>\n  <Image name="image" value="$image"/>\n'
        f'  <RectangleLabels name="box" toName="image">\n{labels}  </RectangleLabels>\n'
        f'  <Choices name="depicted" toName="image" choice="multiple">\n{choices}{none}  </Choices>\n'
        f'  <Choices name="whole_image" toName="image" choice="multiple">\n{choices}  </Choices>\n'
        "</View>\n"
    )
