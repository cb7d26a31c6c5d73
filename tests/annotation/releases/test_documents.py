"""What the data card of a release says about the images of the study."""

import pytest

from annotation.models import ImageSet
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
