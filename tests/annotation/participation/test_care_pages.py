"""The pages where work ends, for now or for good, and the way out that is on every page."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import (
    Annotator,
    AuditEvent,
    Enrolment,
    EnrolmentStatus,
    Response,
    Slot,
    SlotState,
    StudyStatus,
)
from tests import factories

pytestmark = pytest.mark.django_db

WITHDRAW = "/studies/words/withdraw/"
THANKS = "/studies/words/thanks/"


@pytest.fixture
def study():
    return factories.rating_study(
        name="words",
        contact="care@example.org",
        support_text="A helpline: https://example.org/help",
        session_cap=2,
    )


@pytest.fixture
def amal(client, study):
    who = factories.user("amal")
    enrolment = factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    factories.response(study.tasks.get().units.first(), who=enrolment.annotator)
    client.force_login(who)
    return who


def become(status: str) -> None:
    Enrolment.objects.update(status=status)


@pytest.mark.parametrize("page", ["", "annotate/", "profile/", "thanks/", "withdraw/"])
def test_support_contact_and_the_way_out_are_on_every_page_of_a_study(client, amal, page):
    shown = client.get(f"/studies/words/{page}").text
    assert "Support and contact" in shown
    assert 'href="https://example.org/help"' in shown
    assert 'href="mailto:care@example.org"' in shown
    assert f'href="{WITHDRAW}"' in shown


def test_somebody_who_has_not_agreed_yet_finds_support_and_nothing_to_withdraw(client, study):
    client.force_login(factories.user())
    for page in ("", "consent/"):
        shown = client.get(f"/studies/words/{page}").text
        assert "A helpline" in shown
        assert WITHDRAW not in shown


def test_without_a_contact_no_sentence_is_left_hanging(client, amal, study):
    study.contact = study.support_text = ""
    study.save()
    for page in ("", "consent/", "annotate/", "thanks/", "withdraw/"):
        assert "write to  " not in client.get(f"/studies/words/{page}", follow=True).text


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (EnrolmentStatus.BLOCKED, 403, "You get no more items in this study"),
        (EnrolmentStatus.SCREENED_OUT, 200, "Thank you for taking part in the training"),
        (EnrolmentStatus.FINISHED, 200, "You have stopped"),
        (EnrolmentStatus.WITHDRAWN, 200, "You have withdrawn"),
    ],
)
def test_whoever_is_out_of_a_study_is_told_why_wherever_they_go(client, amal, status, code, words):
    become(status)
    for page in ("annotate/", "thanks/", "consent/", "profile/"):
        shown = client.get(f"/studies/words/{page}", follow=True)
        assert (shown.status_code, words in shown.text) == (code, True), page


def test_at_the_cap_of_a_session_work_stops_until_the_session_is_over(client, amal):
    begun = timezone.now() - timedelta(hours=3)
    Enrolment.objects.update(session_started_at=begun, session_units=2)
    page = client.get("/studies/words/annotate/", follow=True)
    assert "Enough for today" in page.text
    assert "in about 9 hours" in page.text
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    Enrolment.objects.update(session_started_at=begun - timedelta(hours=8, minutes=50))
    assert "in about 1 hour" in client.get(THANKS).text

    Enrolment.objects.update(session_started_at=timezone.now() - timedelta(hours=13))
    assert "Enough for today" not in client.get(THANKS).text
    assert client.get("/studies/words/annotate/").status_code == 200


def test_a_page_opened_half_way_says_that_there_is_more(client, amal):
    Enrolment.objects.update(session_started_at=timezone.now(), session_units=1)
    page = client.get(THANKS).text
    assert "There are more items" in page
    assert "Continue" in page


def test_whoever_can_be_given_nothing_is_told_kindly(client, study):
    Slot.objects.update(stratum="origin: Asia")
    study.tasks.update(strata=["origin: Asia"])
    who = factories.user()
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    page = client.get("/studies/words/annotate/", follow=True).text
    assert "Nothing for you at the moment" in page
    assert "nothing to do with how you work" in page
    assert "That is your choice and it is fine" in page


@pytest.mark.parametrize(
    ("status", "words"),
    [(StudyStatus.PAUSED, "The study is paused"), (StudyStatus.CLOSED, "The study has ended")],
)
def test_a_study_that_stopped_says_so(client, amal, study, status, words):
    study.status, study.closed_at = status, timezone.now() if status == StudyStatus.CLOSED else None
    study.save()
    for page in ("annotate/", "thanks/", "consent/"):
        assert words in client.get(f"/studies/words/{page}", follow=True).text


def test_only_stopping_keeps_the_answers_and_can_be_undone(client, amal):
    page = client.post(WITHDRAW, {"choice": "stop"}, follow=True)
    assert "your answers stay in the data" in page.text
    assert Response.objects.filter(withdrawn_at__isnull=True).count() == 1
    assert "Only stop taking part" not in client.get(WITHDRAW).text
    assert client.post("/studies/words/come-back/").url == "/studies/words/annotate/"
    assert Enrolment.objects.get().status == EnrolmentStatus.QUALIFIED


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "Please choose one of the two"),
        ({"choice": "delete"}, "Please confirm: this cannot be undone"),
        ({"choice": "everything", "sure": "on"}, "everything is not one of the available choices"),
    ],
)
def test_nothing_is_withdrawn_by_mistake(client, amal, sent, words):
    page = client.post(WITHDRAW, sent)
    assert (page.status_code, words in page.text) == (422, True)
    assert Response.objects.filter(withdrawn_at__isnull=True).count() == 1
    assert Enrolment.objects.get().status == EnrolmentStatus.QUALIFIED


def test_looking_at_the_page_withdraws_nothing(client, amal):
    Enrolment.objects.update(answered=2, golds=1)  # as the page at work counts, not as rows
    page = client.get(WITHDRAW).text
    assert "You gave 3 answers in this study, not counting practice items." in page
    assert "cannot be called back" in page
    assert " checked" not in page
    assert Response.objects.filter(withdrawn_at__isnull=True).count() == 1


def test_withdrawing_is_confirmed_and_leads_to_a_page_that_says_so(client, amal):
    page = client.post(WITHDRAW, {"choice": "delete", "sure": "on"}, follow=True)
    assert page.redirect_chain == [(WITHDRAW, 302)]
    assert "You have withdrawn" in page.text
    assert page["Clear-Site-Data"] == '"storage"'  # drafts that the browser kept
    assert not Response.objects.filter(withdrawn_at__isnull=True).exists()
    event = AuditEvent.objects.get(what="withdrawal")
    assert (event.by, event.details["asked_by"]) == (None, "the annotator")


@pytest.mark.parametrize(
    ("status", "kept"), [(EnrolmentStatus.QUALIFIED, True), (EnrolmentStatus.SCREENED_OUT, False)]
)
def test_what_the_browser_keeps_of_other_studies_stays_as_long_as_they_are_in_one(client, amal, status, kept):
    other = factories.enrolment(factories.rating_study(), who=Annotator.objects.get(user=amal))
    Enrolment.objects.filter(pk=other.pk).update(status=status)
    page = client.post(WITHDRAW, {"choice": "delete", "sure": "on"}, follow=True)
    assert "You have withdrawn" in page.text
    assert ("Clear-Site-Data" not in page) == kept


def test_a_study_one_withdrew_from_is_not_offered_again(client, amal, study):
    client.post(WITHDRAW, {"choice": "delete", "sure": "on"})
    assert "words" not in client.get("/").text
    agreed = client.post("/studies/words/consent/", {"text": study.consent_texts.get().pk}, follow=True)
    assert "You have withdrawn" in agreed.text
    assert Enrolment.objects.get().status == EnrolmentStatus.WITHDRAWN


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
@pytest.mark.parametrize("standing", [EnrolmentStatus.BLOCKED, EnrolmentStatus.SCREENED_OUT])
def test_the_way_out_stays_open_in_every_state(client, amal, study, status, standing):
    study.status, study.closed_at = status, timezone.now() if status == StudyStatus.CLOSED else None
    study.save()
    become(standing)
    assert client.get(WITHDRAW).status_code == 200
    client.post(WITHDRAW, {"choice": "delete", "sure": "on"})
    assert not Response.objects.filter(withdrawn_at__isnull=True).exists()


def test_nobody_can_withdraw_what_is_somebody_elses(client, amal):
    client.force_login(factories.user("stranger"))
    for send in (client.get, client.post):
        assert send(WITHDRAW, {"choice": "delete", "sure": "on"}).status_code == 404
    assert client.post("/studies/words/come-back/").status_code == 404
    assert Response.objects.filter(withdrawn_at__isnull=True).count() == 1
