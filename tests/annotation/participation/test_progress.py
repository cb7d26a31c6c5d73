"""How far somebody is: one number on every page, which the checks neither betray nor outgrow."""

import re

import pytest
from django.db import connection

from annotation.annotate.services import items, responses
from annotation.assignment.services import slots
from annotation.models import Enrolment, EnrolmentStatus, Option, Purpose, Study, StudyStatus, TaskKind, Unit
from annotation.participation.queries import enrolments
from tests import factories

pytestmark = pytest.mark.django_db


def check_unit(study, purpose: str, text: str) -> Unit:
    task = study.tasks.get()
    unit = Unit.objects.create(
        task=task,
        position=task.units.count() + 1,
        attribute=factories.attribute(text),
        purpose=purpose,
    )
    Option.objects.create(unit=unit, attribute=unit.attribute, position=1, expected=[5])
    return unit


@pytest.fixture
def study():
    made = factories.rating_study(name="words", texts=[f"word {number}" for number in range(10)])
    Study.objects.update(gold_rate=0.2, training_pass=None)
    for purpose in (Purpose.GOLD, Purpose.ATTENTION, Purpose.GOLD, Purpose.TRAINING, Purpose.TRAINING):
        check_unit(made, purpose, f"{purpose} {made.tasks.get().units.count()}")
    return made


@pytest.fixture
def enrolment(client, study):
    who = factories.user("amal")
    client.force_login(who)
    made = factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    return made


def answer_one(enrolment) -> str | None:
    """Answer the next item; what it was for, None if there was none."""
    fresh = Enrolment.objects.select_related("study").get(pk=enrolment.pk)
    given = items.next_items(enrolment=fresh).items
    if not given:
        return None
    option = Option.objects.get(unit=given[0].unit_id)
    responses.submit(
        enrolment=fresh,
        unit_id=given[0].unit_id,
        client_key=given[0].client_key,
        answers=[responses.Answer(option_id=option.pk, value=5, position=1)],
    )
    return given[0].purpose


def said(client, path: str) -> tuple[int, int] | None:
    found = re.search(r"(\d+) of (\d+) rated", client.get(path).text)
    return (int(found[1]), int(found[2])) if found else None


def test_practice_counts_for_nothing_checks_count_in_both_and_the_end_is_the_end(client, enrolment):
    seen = []
    while True:
        done = sum(purpose != "training" for purpose in seen)
        # two of the three checks come: one for each five items
        for path in ("/", "/studies/words/"):
            assert said(client, path) == (done, 12)
        if not Enrolment.objects.filter(answered=10, golds=2).exists():
            assert said(client, "/studies/words/annotate/") == (done, 12)
        purpose = answer_one(enrolment)
        if purpose is None:
            break
        seen.append(purpose)
    assert seen[:2] == ["training", "training"]
    assert (seen.count("data"), len(seen)) == (10, 14)
    assert "You rated 12 items" in client.get("/studies/words/thanks/").text


def test_there_are_never_more_checks_in_the_total_than_there_are_checks(client, enrolment, study):
    Study.objects.update(gold_rate=0.5)  # five checks for ten items, if there were five
    assert said(client, "/studies/words/") == (0, 13)
    Study.objects.update(gold_rate=0)
    assert said(client, "/studies/words/") == (0, 10)


def test_who_is_not_in_the_study_yet_reads_the_same_total(client, study):
    factories.enrolment(study)
    client.force_login(factories.user())
    assert "12 items, at your own pace" in client.get("/").text
    assert "There are 12 items. This takes about 2 minutes in all" in client.get("/studies/words/").text
    factories.rating_study(name="few")
    assert "There are 3 items. This takes about 1 minute in all" in client.get("/studies/few/").text
    factories.rating_study(name="one", texts=("kind",))
    assert "1 item, at your own pace" in client.get("/").text


def test_the_items_and_checks_of_all_tasks_are_added_up(study):
    Study.objects.update(gold_rate=0.5)
    harsh = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    for purpose in (Purpose.DATA, Purpose.GOLD):
        factories.attribute_unit(harsh, purpose=purpose)
    assert enrolments.total_units(study_id=study.pk) == 11 + 4
    assert enrolments.total_units(study_id=study.pk, kind=TaskKind.OFFENSIVENESS) == 1


def test_a_study_needs_answers_while_somebody_holds_the_last_item():
    study = factories.rating_study(texts=["hat"], strata=("any",))
    slots.lease_next(enrolment=factories.enrolment(study))
    assert enrolments.has_unfilled_slots(study=study)


def test_open_studies_come_first(enrolment, study):
    paused = factories.study(title="a", status=StudyStatus.PAUSED)
    factories.enrolment(paused, who=enrolment.annotator)
    Enrolment.objects.filter(study=paused).update(status=EnrolmentStatus.FINISHED)
    new = factories.study(title=f"{study.title} too")
    cards = enrolments.study_cards(enrolment.annotator.user)
    assert [(card.study, card.started, card.ended) for card in cards] == [
        (study, True, False),
        (new, False, False),
        (paused, True, True),
    ]


def test_the_total_is_found_without_walking_the_units(study, django_assert_num_queries):
    with django_assert_num_queries(1) as asked:
        enrolments.total_units(study_id=study.pk)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {asked.captured_queries[0]['sql']}")
            plan = [row[3] for row in cursor.fetchall()]
        assert any("unit_checks" in step for step in plan), plan
