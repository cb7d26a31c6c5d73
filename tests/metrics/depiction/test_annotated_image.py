"""The figure of one image with everybody's boxes: what it shows, and of which images there is one."""

import base64
import io

import pytest
from django.core.files.base import ContentFile
from PIL import Image as Pillow

from annotation.images.files import digest
from annotation.models import Box, Judgement
from metrics.core.charts.figure import Figure, render_figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import draw_figure
from metrics.depiction.charts.annotated_image import AnnotatedAttribute, annotated_image_chart
from metrics.depiction.figures import annotated_image
from tests import factories
from tests.metrics import cast


@pytest.fixture
def study(db):
    return cast.depiction_study(name="pictures", title="Pictures")


def png(size=(40, 20), colour="red") -> bytes:
    written = io.BytesIO()
    Pillow.new("RGB", size, colour).save(written, "PNG")
    return written.getvalue()


def give_file(study, image, data: bytes) -> None:
    """The image's file is here, and the study shows its set."""
    study.tasks.update(image_set=image.image_set)
    image.reference, image.sha256 = "", digest(data)
    image.file.save("a.png", ContentFile(data))


@pytest.fixture
def image(study):
    found = study.tasks.get().units.get(image__group__name="Mexican", image__index=1).image
    give_file(study, found, png())
    return found


@pytest.fixture
def box(image):
    """One box of 'hat', drawn on the picture at half its size."""
    judged = Judgement.objects.filter(value=1, response__unit__image=image, option__attribute__text="hat")
    return Box.objects.create(
        judgement=judged.earliest("pk"), x0=10, y0=20, x1=100, y1=200, image_width=256, image_height=256
    )


def draw(study, **options) -> Figure:
    return draw_figure(study, "annotated-image", options)


def test_every_attribute_that_somebody_selected_is_listed_with_its_boxes(study, image, box):
    figure = draw(study, image=str(image.pk))
    who = box.judgement.response.annotator.pseudonym
    assert figure.rows == (
        ("hat", "stereotypical", 2, 3, who, 20.0, 40.0, 200.0, 400.0, "given by people"),
        ("sombrero", "stereotypical", 1, 3, None, None, None, None, None, "given by people"),
    )
    assert "hat (stereotypical) 2 of 3" in figure.alt


def test_the_picture_is_in_the_figure_itself(study, image, box):
    figure = draw(study, image=str(image.pk))
    address = figure.spec["hconcat"][0]["layer"][0]["mark"]["url"]
    kind, _, data = address.partition(",")
    assert kind == "data:image/jpeg;base64"
    with Pillow.open(io.BytesIO(base64.b64decode(data))) as picture:
        assert picture.size == (40, 20)
    assert b"data:image/jpeg;base64," in render_figure(figure, "svg")


def test_a_changed_picture_is_another_figure(study, image, box):
    before = draw(study).digest
    give_file(study, image, png(colour="blue"))
    assert draw(study).digest != before


def test_without_a_number_it_is_the_image_with_the_most_boxes(study, image, box, monkeypatch):
    other = study.tasks.get().units.get(image__group__name="Mexican", image__index=2).image
    give_file(study, other, png())
    assert draw(study).title.startswith("Mexican 1")
    made = Judgement.objects.filter(value=1, response__unit__image=other, option__attribute__text="hat")
    corners = {"x0": 0, "y0": 0, "x1": 9, "y1": 9, "image_width": 512, "image_height": 512}
    for judgement in made:
        Box.objects.create(judgement=judgement, **corners)
    assert draw(study).title.startswith("Mexican 2")
    monkeypatch.setattr(annotated_image, "MAX_READABLE_BOXES", 1)
    assert draw(study).title.startswith("Mexican 1"), "in the other there are too many to be read"
    monkeypatch.setattr(annotated_image, "MAX_READABLE_BOXES", 0)
    assert draw(study).title.startswith("Mexican 2"), "there are too many in both"


@pytest.mark.parametrize(("boxes", "numbers"), [(15, [1] * 15), (16, [1, *[""] * 15])])
def test_of_many_boxes_the_first_of_an_attribute_has_its_number(boxes, numbers):
    hat = AnnotatedAttribute("hat", False, 1, 2, (("who", 0, 0, 9, 9),) * boxes)
    words = {"name": "Thai 1", "picture": "data:,", "size": (40, 20), "study": "S", "simulated": False}
    figure = annotated_image_chart([hat], **words)
    assert [box["number"] for box in figure.spec["datasets"]["boxes"]] == numbers


@pytest.mark.parametrize("asked", ["0", "999999", "-1", "one", "9" * 400])
def test_an_image_that_is_not_there_is_an_error_that_says_so(study, image, asked):
    with pytest.raises(ValueError, match=f"image={asked}"):
        draw(study, image=asked)


def test_an_image_of_another_study_is_not_there(study, image):
    other = factories.study("other")
    elsewhere = factories.image(index=77, image_set=factories.image_set("elsewhere"))
    factories.page_unit(factories.task(other, kind="depiction"), picture=elsewhere)
    give_file(other, elsewhere, png())
    with pytest.raises(ValueError, match="no image of that number"):
        draw(study, image=str(elsewhere.pk))


def test_an_image_that_the_study_does_not_show_is_not_shown_here_either(study, image):
    """Leads may see the images of a set that their study shows, and no others (annotation.policies)."""
    study.tasks.update(image_set=None)
    with pytest.raises(ValueError, match="no image of that number"):
        draw(study, image=str(image.pk))


def test_without_any_file_here_it_says_how_to_bring_one(study):
    with pytest.raises(NothingToDraw, match="import_images"):
        draw(study)


def test_a_file_that_is_no_picture_or_is_gone_is_named(study, image):
    image.file.storage.delete(image.file.name)
    with pytest.raises(NothingToDraw, match="cannot be read"):
        draw(study)


def test_an_image_in_which_nobody_saw_anything_says_so(study, image):
    unseen = study.tasks.get().units.get(image__group__name="Nepali", image__index=2).image
    give_file(study, unseen, png())
    with pytest.raises(NothingToDraw, match="Nobody has selected"):
        draw(study, image=str(unseen.pk))
