"""Versions of consent texts, and names that rows of other studies, sources and image sets bear as well."""

import pytest

from annotation.models import Association, Purpose, StudyStatus, Unit
from annotation.studies.services import consents, studies
from annotation.studies.services.study_plan import current_consent
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_templates import registry
from annotation.studies.units.planned import quoted_list
from tests import factories
from tests.annotation.studies import world
from tests.annotation.studies.test_ready import FILE
from tests.annotation.studies.world import DEPICTION, PREVALENCE

pytestmark = pytest.mark.django_db
SPANISH = '\n[consent.es]\ntext = "Hola."\n'


def made(text: str):
    return studies.apply_file(file=read_study_text(text), by=None).study


def test_a_paused_study_gets_a_new_text_and_a_language_that_it_lacks_is_gone():
    study = made(FILE + SPANISH)
    for status in (StudyStatus.OPEN, StudyStatus.PAUSED):
        studies.change_status(study=study, to=status, by=None)
    assert set(current_consent(study)) == {"en", "es"}
    new = FILE.replace("What taking part means.", "Another.")
    assert consents.publish(file=read_study_text(new)).version == 2
    assert {language: text.text for language, text in current_consent(study).items()} == {"en": "Another."}


def test_a_check_item_is_about_the_pair_and_the_image_of_its_own_source_and_set():
    world.resource("other")
    world.resource()
    world.pictures("other")
    world.pictures()
    world.rated()
    right = '\n[[tasks.gold]]\ngroup = "French"\n'
    pair = f'{right}attribute = "beret"\nexpected = ["Stereotypical"]\n'
    page = f'{right}image = 1\nshown = ["beret"]\nexpected = []\n'
    study = made(world.HEAD + PREVALENCE + pair + DEPICTION + page)
    about, shown = Unit.objects.filter(task__study=study, purpose=Purpose.GOLD).order_by("task_id")
    assert Association.objects.filter(group__name="French", attribute__text="beret").count() == 2
    assert (about.association.source.name, shown.image.image_set.name) == ("votes", "pictures")


def test_a_mark_among_the_attributes_of_another_study_keeps_none_from_opening():
    mark = sorted(registry.marks())[0]
    factories.attribute_unit(factories.task(factories.study()), mark)
    study = factories.rating_study(status=StudyStatus.DRAFT)
    assert studies.change_status(study=study, to="open", by=None)


def test_eight_names_are_told_and_of_nine_that_there_is_one_more():
    assert quoted_list(list("abcdefgh")).endswith("'g', 'h'")
    assert quoted_list(list("abcdefghi")).endswith("'h' and 1 more")
