"""manage.py study: draft -> open <-> paused -> closed, and nothing else."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.audit.sentences import sentence
from annotation.models import Study, StudyStatus
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies
from tests import factories

pytestmark = pytest.mark.django_db

ALLOWED = {
    ("draft", "open"),
    ("open", "paused"),
    ("paused", "open"),
    ("open", "closed"),
    ("paused", "closed"),
}


@pytest.mark.parametrize("before", StudyStatus.values)
@pytest.mark.parametrize("after", ["open", "paused", "closed"])
def test_only_the_allowed_moves_are_made(before, after):
    study = factories.rating_study(status=before)

    if before == after:
        assert studies.change_status(study=study, to=after, by=None) is False
    elif (before, after) in ALLOWED:
        assert studies.change_status(study=study, to=after, by=None) is True
    else:
        with pytest.raises(StudyRefused, match=f"is {before} and cannot become {after}"):
            studies.change_status(study=study, to=after, by=None)

    now = Study.objects.get(pk=study.pk)
    assert now.status == (after if before == after or (before, after) in ALLOWED else before)
    assert (now.closed_at is not None) == (now.status == "closed")


def test_opening_freezes_the_tasks_once():
    study = factories.rating_study(status=StudyStatus.DRAFT)
    assert study.tasks.get().frozen_at is None

    studies.change_status(study=study, to="open", by=None)
    frozen, opened_at = study.tasks.get().frozen_at, study.opened_at
    studies.change_status(study=study, to="paused", by=None)
    studies.change_status(study=study, to="open", by=None)

    assert frozen is not None
    assert study.tasks.get().frozen_at == frozen
    assert study.opened_at == opened_at


def test_each_change_is_an_event_that_says_who_made_it():
    lead = factories.user()
    study = factories.rating_study(status=StudyStatus.DRAFT)
    for to in ("open", "paused", "paused", "open", "closed"):
        studies.change_status(study=study, to=to, by=None if to == "closed" else lead)
    events = study.audit_events.order_by("pk")
    assert [(sentence(event), event.by) for event in events] == [
        ("Opened the study.", lead),
        ("Paused the study.", lead),
        ("Resumed the study.", lead),
        ("Closed the study.", None),
    ]


def test_a_study_without_units_or_consent_text_does_not_open():
    empty = factories.study(status=StudyStatus.DRAFT)
    with pytest.raises(StudyRefused, match="has nothing to answer"):
        studies.change_status(study=empty, to="open", by=None)

    silent = factories.study(status=StudyStatus.DRAFT)
    factories.attribute_unit(factories.task(silent))
    with pytest.raises(StudyRefused, match="has no consent text"):
        studies.change_status(study=silent, to="open", by=None)


def test_a_study_whose_images_are_not_here_does_not_open():
    study = factories.study(status=StudyStatus.DRAFT)
    factories.consent_text(study)
    factories.page_unit(factories.task(study, kind="depiction"), picture=factories.image())
    with pytest.raises(
        StudyRefused,
        match="cannot show its images: 1 of them have no file, the first is Mexican 1",
    ):
        studies.change_status(study=study, to="open", by=None)


def test_a_study_that_asks_for_training_opens_only_with_training_items():
    factories.rating_study().tasks.get().units.update(purpose="training")
    study = factories.rating_study(status=StudyStatus.DRAFT, training_pass=0.5)
    with pytest.raises(StudyRefused, match="pass mark for training items, but no training items"):
        studies.change_status(study=study, to="open", by=None)
    study.tasks.get().units.filter(position=1).update(purpose="training")
    assert studies.change_status(study=study, to="open", by=None)


def test_the_command_changes_all_named_studies_or_none():
    factories.rating_study(name="one")
    factories.rating_study(name="two", status=StudyStatus.DRAFT)

    with pytest.raises(CommandError, match=r"'two' is draft and cannot become paused\. It can become: open"):
        call_command("study", "paused", "one", "two")
    assert Study.objects.get(name="one").status == StudyStatus.OPEN

    out = StringIO()
    call_command("study", "open", "one", "two", stdout=out)
    assert out.getvalue().split("\n")[:2] == ["one is open already.", "two is open."]


def test_an_unknown_study_is_named_with_those_there_are():
    factories.rating_study(name="one")
    with pytest.raises(CommandError, match=r"There is no study 'won'\. There are: one\."):
        call_command("study", "paused", "won")
