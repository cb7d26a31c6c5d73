"""What a task takes from a source: all that is in it, and none of what is elsewhere."""

import pytest

from annotation.models import Image, Study
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import world
from tests.annotation.studies.world import DEPICTION, PREVALENCE

pytestmark = pytest.mark.django_db
WORDS = """
[[tasks]]
kind = "visual_nature"
attributes = { source = "votes" }
"""


def made(task: str) -> Study:
    return studies.apply_file(file=read_study_text(world.HEAD + task), by=None).study


@pytest.fixture(autouse=True)
def source():
    world.resource()
    factories.association(text="elsewhere", from_source=factories.source("other"))


@pytest.mark.parametrize(("task", "field"), [(WORDS, "attribute"), (PREVALENCE, "association__attribute")])
def test_as_many_as_there_are_can_be_drawn_and_they_are_those_of_the_source(task, field):
    everything = sorted(made(task).tasks.get().units.values_list(f"{field}__text", flat=True))
    assert "elsewhere" not in everything
    Study.objects.all().delete()
    limited = made(task.replace('"votes" }', f'"votes", limit = {len(everything)} }}'))
    assert sorted(limited.tasks.get().units.values_list(f"{field}__text", flat=True)) == everything


def test_an_image_of_another_set_that_nobody_could_see_does_not_matter():
    world.pictures()
    world.rated()
    factories.image(group_name="Mexican", image_set=factories.image_set("other"), index=9)
    Image.objects.filter(image_set__name="other").update(width=0, height=0)
    assert made(DEPICTION).tasks.get().units.exists()
