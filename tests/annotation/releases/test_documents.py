"""What the data card of a release says about the images of the study and about what is left out."""

import pytest

from annotation.models import ImageSet, Purpose, Response, Unit
from tests.annotation.exports.world import depiction
from tests.annotation.releases.world import released

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model_name": "painter"}, "painter (CC0)"),
        ({"model_name": ""}, "model not known (CC0)"),
        ({"model_name": "painter", "drawn": True}, "DRAWN IMAGES, not made by a model (CC0)"),
    ],
)
def test_the_data_card_says_what_made_the_images(tmp_path, fields, said):
    study = depiction()
    ImageSet.objects.update(licence="CC0", **fields)
    card = (released(study, tmp_path / "r") / "README.md").read_text()
    assert f"| Images | live-images: {said} |" in card


def test_the_data_card_counts_the_answers_that_are_left_out(tmp_path):
    study = depiction()
    card = (released(study, tmp_path / "whole") / "README.md").read_text()
    assert "| Left out | all data of people who withdrew |" in card
    Response.objects.filter(annotator__pseudonym="a-two").update(current=False)
    Unit.objects.filter(image__group__name="French").update(purpose=Purpose.GOLD)
    card = (released(study, tmp_path / "less") / "README.md").read_text()
    counted = "1 earlier revisions, 1 answers to practice items and checks"
    assert f"| Left out | all data of people who withdrew, {counted} |" in card
