"""Image sets by the API: what is others' looks as if there were none, and an annotator's image opens."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from tests import factories
from tests.annotation.api.calls import Program, is_problem
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


@pytest.fixture
def program():
    return Program(factories.user(admin=True))


def test_the_file_of_an_image_is_known_by_its_ending(program):
    name = default_storage.save("images/of.PNG", ContentFile(PNG))
    upper = factories.image(file=name, sha256="0" * 64)
    lost = factories.image(index=2, file="images/lost.png", sha256="1" * 64)
    other = factories.image(index=3, file="images/of.svg", sha256="2" * 64)
    elsewhere = factories.image(index=4, sha256="3" * 64)
    answer = program.get(f"images/{upper.pk}/file")
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, "image/png", PNG)
    for none in (lost, other, elsewhere):
        is_problem(program.get(f"images/{none.pk}/file"), 404)
    assert program.get(f"images/{upper.pk}").json()["file"].endswith(f"/images/{upper.pk}/file")
    assert program.get(f"images/{elsewhere.pk}").json()["file"] is None


def test_a_storage_that_fails_is_no_lost_file(program, monkeypatch):
    def fail(name, mode="rb"):
        raise OSError("disk on fire")

    image = factories.image(file="images/a.png", sha256="0" * 64)
    monkeypatch.setattr(default_storage, "open", fail)
    is_problem(program.get(f"images/{image.pk}/file"), 503)


def test_the_image_of_an_item_opens_with_the_token_that_fetched_it(world):  # noqa: F811
    program = world.program("annotator", "annotate")
    (item,) = program.post("studies/pictures/next", {}).json()["items"]
    headers = {"Authorization": f"Bearer {program.secret}"}
    file = program.client.get(item["image"]["url"], headers=headers)
    assert (file.status_code, file.content) == (200, PNG)
    assert program.client.get(item["image"]["url"]).status_code == 401
