"""Image sets by the API: what is others' looks as if there were none, and an annotator's image opens."""

from __future__ import annotations

import pytest

from tests.annotation.api.calls import is_problem
from tests.test_access import PNG
from tests.test_api_access import made, world  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db


def test_sets_and_images_of_others_look_as_if_there_were_none(world):  # noqa: F811
    program = world.program("lead")
    names = [one["name"] for one in program.get("image-sets").json()["results"]]
    assert sorted(names) == [
        "faces",
        "measured-set",
        "ours",
    ]  # those of the tests on images too, not "theirs"
    for there, nowhere in (
        ("image-sets/theirs", "image-sets/nosuch"),
        ("image-sets/theirs/images", "image-sets/nosuch/images"),
        (f"images/{world.their_image.pk}", "images/99999999"),
        (f"images/{world.their_image.pk}/file", f"images/{2**63}/file"),
        (f"images/{world.their_image.pk}/captions", "images/0/captions"),
    ):
        said = [is_problem(program.get(one), 404) | {"instance": ""} for one in (there, nowhere)]
        assert said[0] == said[1]


def test_the_image_of_an_item_opens_with_the_token_that_fetched_it(world):  # noqa: F811
    program = world.program("annotator", "annotate")
    (item,) = program.post("studies/pictures/next", {}).json()["items"]
    headers = {"Authorization": f"Bearer {program.secret}"}
    file = program.client.get(item["image"]["url"], headers=headers)
    assert (file.status_code, file.content) == (200, PNG)
    assert program.client.get(item["image"]["url"]).status_code == 401
