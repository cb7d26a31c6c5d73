"""Pascal VOC: one XML file per image, without objects if nobody drew a box."""

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from annotation.exports import image_answers
from annotation.exports.packing import File, TemporaryText
from annotation.exports.selection import Selection
from annotation.exports.table import Corners

COLUMNS = (
    ("Annotations/*.xml", "one file per image, also if nobody drew a box"),
    ("source: " + ", ".join(image_answers.IMAGE_KEYS), image_answers.IMAGE_KEYS_MEANING),
    (
        "object/bndbox",
        "`xmin ymin xmax ymax`: the smallest box of whole pixels around the drawn one, counted from 1, the "
        "last pixel included",
    ),
    ("object/annotator, object/response", "pseudonym (empty if not known) and number of the response"),
    (
        "review",
        "one per response, also if nothing was chosen: annotator, response, page, and as `chosen` every "
        "attribute judged as depicted, with its place: `box`, `whole image` or `no box`",
    ),
    ("JPEGImages/*", "the images that have a file here, unchanged; add the others under their names"),
    ("ImageSets/Main/all.txt", "names of all images, without file extension"),
)


def files(selection: Selection) -> Iterator[File]:
    names = TemporaryText()
    for image in image_answers.reviewed_images(selection):
        yield File(f"Annotations/{image.stem}.xml", ["".join(_document(image)).encode()])
        yield from image_answers.stored_files(image, f"JPEGImages/{image.file_name}")
        names.write(f"{image.stem}\n")
    yield File("ImageSets/Main/all.txt", names.content())


def _document(image: image_answers.ReviewedImage) -> Iterator[str]:
    yield "<annotation>\n  <folder>JPEGImages</folder>\n"
    yield f"  <filename>{escape(image.file_name)}</filename>\n"
    yield f"  <size><width>{image.width}</width><height>{image.height}</height><depth>3</depth></size>\n"
    yield "  <segmented>0</segmented>\n"
    keys = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in image.keys.items())
    yield f"  <source>{keys}</source>\n"
    for review in image.reviews:
        for shown in review.chosen:
            for box in shown.boxes:
                yield _object(review, shown.attribute, box)
    for review in image.reviews:
        yield f"  <review>\n    {_who(review)}<page>{review.page}</page>\n"
        for shown in review.chosen:
            where = "box" if shown.boxes else "whole image" if shown.whole_image else "no box"
            yield f'    <chosen where="{where}">{escape(shown.attribute)}</chosen>\n'
        yield "  </review>\n"
    yield "</annotation>\n"


def _object(review: image_answers.Review, attribute: str, box: Corners) -> str:
    x0, y0, x1, y1 = box
    corners = {
        "xmin": math.floor(x0) + 1,
        "ymin": math.floor(y0) + 1,
        "xmax": math.ceil(x1),
        "ymax": math.ceil(y1),
    }
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in corners.items())
    return (
        f"  <object>\n    <name>{escape(attribute)}</name>\n    <pose>Unspecified</pose>"
        "<truncated>0</truncated><difficult>0</difficult>\n"
        f"    <bndbox>{inner}</bndbox>\n    {_who(review)}\n  </object>\n"
    )


def _who(review: image_answers.Review) -> str:
    return f"<annotator>{escape(review.annotator)}</annotator><response>{review.response}</response>"
