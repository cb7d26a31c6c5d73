"""Images that a report may not pass on, or cannot read, are left out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Image, ImageSet, Study
from metrics.report import services
from tests.metrics.report import world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english_alone")]


def scored_study() -> Study:
    study = world.study_with_people()
    world.compute(study, "tendency")
    return study


@pytest.fixture(scope="module")
def made(once):
    return once(scored_study)


@pytest.fixture
def told(db, made, tmp_path, monkeypatch) -> Study:
    """The study that has everything, with its scores and its image; no figures."""
    monkeypatch.setattr("metrics.report.figures.WANTED", ())
    return made.copied(tmp_path)


@pytest.mark.parametrize("broken", ["cut off", "too large", "missing"])
def test_an_image_that_cannot_be_read_is_left_out(broken, told, folder, monkeypatch):
    file = Path(Image.objects.exclude(file="").get().file.path)
    if broken == "cut off":
        file.write_bytes(file.read_bytes()[:50])
    elif broken == "missing":
        file.unlink()
    else:
        monkeypatch.setattr("annotation.images.shrinking.MAX_PIXELS", 1)
    assert services.write(study=told, path=folder).images == 0
    assert (
        "1 image is left out, because its file cannot be read." in (folder / "en" / "images.html").read_text()
    )


@pytest.mark.parametrize("licence", ["all rights reserved", "", "CC BY-ND 4.0", "for research; CC BY 4.0?"])
def test_images_without_an_open_licence_are_left_out(licence, told, folder):
    ImageSet.objects.filter(task__study=told).update(licence=licence)
    assert services.write(study=told, path=folder).images == 0
    assert not (folder / "images").exists()
    assert "not known that they may be passed on" in (folder / "en" / "images.html").read_text()


@pytest.mark.parametrize(
    ("licence", "model", "images"),
    [("CC BY 4.0", "", 0), ("CC BY 4.0", "a model", 1), ("Apache-2.0", " ", 0), ("CC0", "", 1)],
)
def test_images_whose_creator_must_be_named_are_left_out_if_nobody_is_recorded(
    licence, model, images, told, folder
):
    ImageSet.objects.filter(task__study=told).update(licence=licence, model_name=model)
    told.blur_images = bool(model)
    assert services.write(study=told, path=folder).images == images
    page = (folder / "en" / "images.html").read_text()
    assert ("neither a creator nor a model is recorded" in page) == (not images)
    assert ("To be named with each image" in page) == (model == "a model")
    assert ("<details>" in page) == (model == "a model"), "folded away, if they are blurred"
