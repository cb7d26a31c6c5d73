"""A small study of which every figure can be drawn."""

from __future__ import annotations

import io

from django.core.files.base import ContentFile
from PIL import Image as Pillow

from annotation.images.files import digest
from annotation.models import Box, IdentityGroup, Judgement, Study
from tests import factories
from tests.metrics import cast, pulled

ASKED = {"offensive-groups": {"least": "1"}}
"""What is chosen of a figure because the study is small."""
_PLACES = {
    "Mexican": ("Mexico", "Latin America"),
    "Peruvian": ("Peru", "Latin America"),
    "Nepali": ("Nepal", "South Asia"),
}


def study_with_every_figure(**fields) -> Study:
    """Votes and ratings of three groups, images of two with an image's file and boxes, ratings of attributes,
    embeddings of pull."""
    study = cast.depiction_study(**fields)
    for group, text, mean in (("Peruvian", "poor", 3.0), ("Nepali", "kind", -1.0)):
        factories.association(
            group_name=group,
            text=text,
            out_votes=(2, 1, 0),
            in_votes=(3, 0, 0),
            ratings=[int(mean)] * 3,
            mean=mean,
            from_source=study.stereotype_source,
        )
    for name, (country, region) in _PLACES.items():
        IdentityGroup.objects.filter(name=name).update(country=country, region=region)
    task = factories.task(study)
    for text in ("hat", "sombrero"):
        unit = factories.attribute_unit(task, text)
        factories.responses((unit, [value], None) for value in (5, 5, 4))
    _picture(study)
    run = pulled.embedding_run(study)
    for seed, (name, towards) in enumerate((("Mexican", 0.9), ("Peruvian", 0.7), ("Nepali", 0.2))):
        pulled.group_images(run, name, region=_PLACES[name][1], towards=towards, seed=seed)
    return study


def _picture(study: Study) -> None:
    """One image has its file, and somebody drew a box on it."""
    task = study.tasks.get(kind="depiction")
    image = task.units.get(image__group__name="Mexican", image__index=1).image
    written = io.BytesIO()
    Pillow.new("RGB", (40, 40), "red").save(written, "PNG")
    study.tasks.update(image_set=image.image_set)
    image.reference, image.sha256 = "", digest(written.getvalue())
    image.file.save("a.png", ContentFile(written.getvalue()))
    judgement = Judgement.objects.filter(
        response__unit__image=image, value=1, option__attribute__text="hat"
    ).earliest("pk")
    Box.objects.create(judgement=judgement, x0=5, y0=5, x1=30, y1=30, image_width=40, image_height=40)
