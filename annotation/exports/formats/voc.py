"""Boxes as Pascal VOC has them: an XML file an image, without objects where nothing was boxed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from annotation.exports import image_answers
from annotation.exports.packing import Aside, File
from annotation.exports.selection import Selection
from annotation.exports.table import Corners

COLUMNS = (
    ("Annotations/*.xml", "one an image, also where nobody drew a box"),
    ("source: " + ", ".join(image_answers.WHICH), image_answers.WHICH_MEANS),
    (
        "object/bndbox",
        "`xmin ymin xmax ymax`: whole pixels counted from 1, the last one included, the smallest such box "
        "around what was drawn",
    ),
    ("object/annotator, object/response", "pseudonym (empty if not known) and number of the answer"),
    (
        "review",
        "one for each answer, also one that chose nothing: annotator, response, page, and as `chosen` every "
        "attribute said to be depicted, with where: `box`, `whole image`, `no box`",
    ),
    ("JPEGImages/*", "the images that have a file here, as they are; the others keep their name"),
    ("ImageSets/Main/all.txt", "names of all images, without ending"),
)


def files(selection: Selection) -> Iterator[File]:
    listed = Aside()
    for image in image_answers.reviewed(selection):
        yield File(f"Annotations/{image.stem}.xml", ["".join(_document(image)).encode()])
        if image_answers.is_here(image):
            yield image_answers.picture(image, f"JPEGImages/{image.file_name}")
        listed.write(f"{image.stem}\n")
    yield File("ImageSets/Main/all.txt", listed.content())


def _document(image: image_answers.Reviewed) -> Iterator[str]:
    yield "<annotation>\n  <folder>JPEGImages</folder>\n"
    yield f"  <filename>{_text(image.file_name)}</filename>\n"
    yield f"  <size><width>{image.width}</width><height>{image.height}</height><depth>3</depth></size>\n"
    yield "  <segmented>0</segmented>\n"
    which = "".join(f"<{name}>{_text(str(value))}</{name}>" for name, value in image.which.items())
    yield f"  <source>{which}</source>\n"
    for review in image.reviews:
        for shown in review.chosen:
            for box in shown.boxes:
                yield _object(review, shown.attribute, box)
    for review in image.reviews:
        yield f"  <review>\n    {_who(review)}<page>{review.page}</page>\n"
        for shown in review.chosen:
            where = "box" if shown.boxes else "whole image" if shown.whole_image else "no box"
            yield f'    <chosen where="{where}">{_text(shown.attribute)}</chosen>\n'
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
        f"  <object>\n    <name>{_text(attribute)}</name>\n    <pose>Unspecified</pose>"
        "<truncated>0</truncated><difficult>0</difficult>\n"
        f"    <bndbox>{inner}</bndbox>\n    {_who(review)}\n  </object>\n"
    )


def _who(review: image_answers.Review) -> str:
    return f"<annotator>{_text(review.annotator)}</annotator><response>{review.response}</response>"


def _text(text: str) -> str:
    return escape(text)


__all__ = ["COLUMNS", "files"]
