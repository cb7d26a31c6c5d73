"""A draft whose depiction task waits for images gets a set to show; nothing else does."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent, StudyStatus, TaskKind
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies
from tests import factories

pytestmark = pytest.mark.django_db


def waiting(status: str = StudyStatus.DRAFT, **fields):
    return factories.task(factories.study(status=status), kind=TaskKind.DEPICTION, **fields)


def test_a_draft_that_waits_shows_the_set():
    task, shown, lead = waiting(), factories.image_set("shown"), factories.user()
    assert studies.attach_image_set(study=task.study, image_set=shown, by=lead) is True
    task.refresh_from_db()
    assert task.image_set == shown
    event = AuditEvent.objects.get()
    assert (event.what, event.study, event.by) == ("study shows images", task.study, lead)
    assert event.details == {"image_set": "shown"}


def test_showing_it_already_is_no_error_whatever_the_study_is():
    shown = factories.image_set("shown")
    task = waiting(StudyStatus.OPEN, image_set=shown)
    assert studies.attach_image_set(study=task.study, image_set=shown, by=None) is False
    assert not AuditEvent.objects.exists()


def test_another_set_is_not_replaced():
    task = waiting(image_set=factories.image_set("other"))
    with pytest.raises(StudyRefused, match="shows 'other', so it cannot show 'shown'"):
        studies.attach_image_set(study=task.study, image_set=factories.image_set("shown"), by=None)
    task.refresh_from_db()
    assert task.image_set.name == "other"


@pytest.mark.parametrize("status", [StudyStatus.OPEN, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_what_people_were_asked_does_not_change(status):
    task = waiting(status)
    with pytest.raises(StudyRefused, match=f"is {status}, and its questions cannot change"):
        studies.attach_image_set(study=task.study, image_set=factories.image_set("shown"), by=None)
    task.refresh_from_db()
    assert task.image_set is None


def test_a_study_that_asks_something_else_shows_no_images():
    study = factories.task(factories.study(status=StudyStatus.DRAFT)).study
    with pytest.raises(StudyRefused, match="does not ask what images depict"):
        studies.attach_image_set(study=study, image_set=factories.image_set("shown"), by=None)
