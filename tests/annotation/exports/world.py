"""A study of two images, one with boxes and one in which nobody saw anything, for the tests of exports."""

import io
import json
import zipfile
from pathlib import Path

from django.core.files.base import ContentFile
from PIL import Image as Picture

from annotation.exports.selection import Filters
from annotation.exports.services import writing
from annotation.models import Box, Study, TaskKind
from tests import factories


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", (width, height), "grey").save(out, "PNG")
    return out.getvalue()


def depiction(name: str = "live", *, files: bool = False, **fields) -> Study:
    """Two annotators judged `Mexican5.png`, 400 x 200: one boxed a hat twice and saw a sombrero in the whole
    image, the other saw nothing. One judged `French2.png` and chose none of the above."""
    study = factories.study(name, **fields)
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set(f"{name}-images"))
    seen = factories.image(image_set=task.image_set, index=5, width=400, height=200)
    empty = factories.image(group_name="French", image_set=task.image_set, index=2, width=400, height=200)
    if files:
        for image in (seen, empty):
            image.sha256 = "0" * 64
            image.file.save(f"{image.pk}.png", ContentFile(png(400, 200)))
    unit = factories.page_unit(task, picture=seen)
    first = factories.response(unit, values=[1, 1, 0, 0, 0], who=factories.annotator(pseudonym="a-one"))
    factories.response(unit, who=factories.annotator(pseudonym="a-two"))
    other = factories.page_unit(task, picture=empty)
    factories.response(other, values=[0, 0, 0, 0, 1], who=factories.annotator(pseudonym="a-two-b"))
    hat = first.judgements.get(option__attribute__text="hat")
    for corners in ((40, 20, 140, 70), (0.5, 0, 400, 200)):
        Box.objects.create(
            judgement=hat,
            image_width=400,
            image_height=200,
            **dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True)),
        )
    first.judgements.filter(option__attribute__text="sombrero").update(whole_image=True)
    return study


def unpacked(study: Study, fmt: str, **filters) -> dict[str, bytes]:
    """The files of an export, by name."""
    pieces = writing.stream_zip(study=study, fmt=fmt, by=None, filters=Filters(**filters))
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names))
        return {name: archive.read(name) for name in names}


def written(study: Study, fmt: str, path: Path, **filters) -> Path:
    writing.write(study=study, fmt=fmt, path=path, by=None, filters=Filters(**filters))
    return path


def document(study: Study, fmt: str, name: str, **filters):
    return json.loads(unpacked(study, fmt, **filters)[name])
