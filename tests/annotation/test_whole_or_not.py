"""Services that write several rows write all of them or none, whichever write fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer
from annotation.assignment.services import slots
from annotation.events import FULLY_ANNOTATED, RESPONSE_CREATED
from annotation.models import ConsentText, Study
from annotation.participation.services import annotators, crowd, withdrawals
from annotation.studies.services import studies
from annotation.webhooks.services import events, subscriptions
from tests import factories

pytestmark = pytest.mark.django_db
Deed = Callable[[], object]
_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|WITH)\b")


class Failed(Exception):
    """A write that fails."""


@contextmanager
def failing(number: int) -> Iterator[None]:
    """The write of this number fails, counted from 1."""
    writes = count(1)

    def execute(execute, sql, params, many, context):
        if _WRITES.match(sql) and next(writes) == number:
            raise Failed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(execute):
        yield


def stored() -> dict[str, list[tuple[object, ...]]]:
    models = [User, *apps.get_app_config("annotation").get_models()]
    return {each._meta.db_table: list(each._base_manager.order_by("pk").values_list()) for each in models}


def newcomer() -> Deed:
    return annotators.newcomer


def agreement() -> Deed:
    study, user = factories.rating_study(), factories.user()
    text = ConsentText.objects.get(study=study)
    return lambda: annotators.agree(user=user, study=study, text_id=text.pk)


def answer() -> Deed:
    enrolment = factories.enrolment(factories.rating_study(), consented=True)
    slot = slots.lease_next(enrolment=enrolment)
    answers = [Answer(option_id=slot.unit.options.get().pk, value=4, position=1)]
    return lambda: responses.submit(
        enrolment=enrolment, unit_id=slot.unit_id, client_key=slot.lease_key, answers=answers
    )


def arrival() -> Deed:
    study = factories.rating_study()
    who = crowd.Arrival(participant="5f0000000000000000000001", session="5f0000000000000000000002")
    return lambda: crowd.enter(study=study, arrival=who)


def stopping() -> Deed:
    enrolment = factories.enrolment(factories.rating_study(), consented=True)
    slots.lease_next(enrolment=enrolment)
    return lambda: withdrawals.stop(annotator=enrolment.annotator, study=enrolment.study)


def coming_back() -> Deed:
    enrolment = factories.enrolment(factories.rating_study())
    withdrawals.stop(annotator=enrolment.annotator, study=enrolment.study)
    return lambda: withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)


def withdrawal() -> Deed:
    enrolment = factories.enrolment(factories.rating_study(), consented=True)
    factories.response(enrolment.study.tasks.get().units.first(), who=enrolment.annotator)
    return lambda: withdrawals.withdraw(annotator=enrolment.annotator, study=enrolment.study, by=None)


def webhook(*names: str) -> Study:
    study = factories.rating_study()
    url = "https://hooks.example.org/"
    subscriptions.add(study=study, url=url, events=names, by=factories.user())
    return study


def pause() -> Deed:
    study = webhook("study.paused")
    return lambda: studies.change_status(study=study, to="paused", by=None)


def messages() -> Deed:
    factories.response(webhook(RESPONSE_CREATED, FULLY_ANNOTATED).tasks.get().units.first())
    return events.queue_messages


DEEDS = [newcomer, agreement, answer, arrival, stopping, coming_back, withdrawal, pause, messages]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_all_of_it_is_stored_or_nothing(deed):
    do = deed()
    before = stored()
    for number in count(1):
        try:
            with failing(number):
                do()
        except Failed:
            assert stored() == before, f"write {number} failed, and those before it stayed"
        else:
            break
    assert stored() != before
