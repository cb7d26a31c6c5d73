"""What keeps a study from opening and what does not, and what is said of a file that differs."""

import pytest

from annotation.models import ConsentText, StudyStatus
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies.test_study_file import WHOLE

pytestmark = pytest.mark.django_db
FILE = WHOLE.replace('leads = ["maria"]', "").replace('source = "seegull-v2"', "")


def test_a_text_that_was_let_through_keeps_no_paused_study_closed():
    study = factories.rating_study(status=StudyStatus.PAUSED)
    ConsentText.objects.filter(study=study).update(text="By [[name of your institution]].")
    assert studies.change_status(study=study, to="open", by=None)


def test_a_study_one_of_whose_tasks_has_no_units_does_not_open():
    study = factories.rating_study(status=StudyStatus.DRAFT)
    factories.task(study, kind="prevalence")
    with pytest.raises(StudyRefused, match="has nothing to answer"):
        studies.change_status(study=study, to="open", by=None)


def test_images_without_a_file_are_counted_once_each_and_those_of_other_studies_are_not():
    study = factories.study(status=StudyStatus.DRAFT)
    factories.consent_text(study)
    task = factories.task(study, kind="depiction", image_set=factories.image_set())
    picture = factories.image()
    for page in (1, 2):
        factories.page_unit(task, picture=picture, page=page)
    with pytest.raises(StudyRefused, match="1 of them have no file"):
        studies.change_status(study=study, to="open", by=None)
    picture.file.name, picture.sha256 = "a.png", "0" * 64
    picture.save()
    factories.image(index=2)
    assert studies.change_status(study=study, to="open", by=None)


def test_strata_are_unknown_that_ask_for_what_the_profile_offers_otherwise():
    known = ["origin: asia", "origin: not Mars", "gender: male", "gender: not female", "village: Oaxaca"]
    strata = [*known, "origin: Mars", "gender: other"]
    file = read_study_text(FILE.replace('["origin: Asia", "origin:  Europe", "any"]', str(strata)))
    offered = {"origin": ["Asia"], "gender": ["Woman", "Man"]}
    assert studies.unknown_strata_values(file, offered=offered) == ["gender: other", "origin: Mars"]


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"What taking part means.": "Another."}, "The command `consent` publishes it"),
        ({"What taking part means.": "Another.", "A pilot": "Another"}, "Its questions cannot change."),
    ],
)
def test_only_a_consent_text_of_its_own_is_left_to_the_command(changes, fix):
    study = studies.apply_file(file=read_study_text(FILE), by=None).study
    studies.change_status(study=study, to="open", by=None)
    text = FILE
    for old, new in changes.items():
        text = text.replace(old, new)
    with pytest.raises(StudyRefused, match=fix):
        studies.apply_file(file=read_study_text(text), by=None)
