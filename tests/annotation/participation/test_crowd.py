"""People from a crowd platform: how they come in, what is kept of them, how they hand their work in."""

import csv

import pytest
from django.contrib.auth import get_user_model

from annotation.exports.services import writing
from annotation.models import (
    Annotator,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Slot,
    SlotState,
    Study,
    StudyStatus,
)
from annotation.participation.services import crowd, withdrawals
from tests import factories

pytestmark = pytest.mark.django_db

PROLIFIC = {"PROLIFIC_PID": "5f8d0c1e", "STUDY_ID": "64aa", "SESSION_ID": "77bb-session"}
MTURK = {"participant": "workerId", "study": "hitId", "session": "assignmentId"}
ENTER = "/studies/words/enter/"


@pytest.fixture
def study():
    return factories.rating_study(
        name="words",
        self_enrol=False,
        completion_code="C1AB2",
        completion_url="https://app.prolific.com/submissions/complete?cc=C1AB2",
    )


def arrive(client, **changed):
    given = {name: value for name, value in {**PROLIFIC, **changed}.items() if value is not None}
    return client.get(ENTER, given, follow=True)


def agree(client, study) -> None:
    client.post("/studies/words/consent/", {"text": study.consent_texts.get().pk})


def rate(client, study, *, times: int) -> None:
    enrolment = Enrolment.objects.get()
    for unit in list(study.tasks.get().units.order_by("position"))[:times]:
        factories.response(unit, who=enrolment.annotator)
        Enrolment.objects.filter(pk=enrolment.pk).update(answered=times)


def test_somebody_who_arrives_is_asked_to_agree_first(client, study):
    page = arrive(client)
    assert page.redirect_chain[-1][0] == "/studies/words/consent/"
    assert "What taking part means." in page.text
    enrolment = Enrolment.objects.get()
    assert enrolment.status == EnrolmentStatus.INVITED
    assert (enrolment.crowd_participant, enrolment.crowd_session) == ("5f8d0c1e", "77bb-session")
    account = enrolment.annotator.user
    assert account.username == enrolment.annotator.pseudonym
    assert not account.has_usable_password()


def test_the_same_person_in_another_browser_is_the_same_annotator(client, study):
    arrive(client)
    agree(client, study)
    client.logout()
    page = arrive(client, SESSION_ID="88cc")
    assert page.redirect_chain[-1][0] == "/studies/words/annotate/"
    assert Annotator.objects.count() == Enrolment.objects.count() == 1
    assert Enrolment.objects.get().crowd_session == "88cc"


def test_one_person_is_somebody_else_in_another_study(client, study):
    other = factories.rating_study(name="other", completion_url="https://platform.example/done")
    arrive(client)
    client.logout()
    client.get("/studies/other/enter/", PROLIFIC)
    first, second = Enrolment.objects.all()
    assert first.annotator != second.annotator
    digests = {crowd.withdrawn_id(study=of, participant="5f8d0c1e") for of in (study, other)}
    assert len(digests) == 2, "who withdrew from one is not known by it in another"


@pytest.mark.parametrize("missing", sorted(PROLIFIC))
def test_a_link_with_something_missing_says_what(client, study, missing):
    page = arrive(client, **{missing: None})
    assert page.status_code == 400
    assert f"“{missing}” of the link is missing" in page.text
    assert "It is not your mistake" in page.text
    assert not Enrolment.objects.exists()


@pytest.mark.parametrize(
    "value", ["x" * 121, "{{%PROLIFIC_PID%}}", "<script>", "a b", "a\0b", "ñandú", "   ", "withdrawn 00"]
)
def test_what_is_not_an_id_is_refused(client, study, value):
    page = arrive(client, PROLIFIC_PID=value)
    assert page.status_code == 400
    assert "<script>" not in page.text
    assert not get_user_model().objects.exists()


def test_a_parameter_given_twice_is_refused(client, study):
    page = client.get(f"{ENTER}?PROLIFIC_PID=a&PROLIFIC_PID=b&STUDY_ID=c&SESSION_ID=d")
    assert (page.status_code, "more than once" in page.text) == (400, True)


def test_the_parameters_are_called_as_the_study_says(client, study):
    study.crowd_parameters = {**MTURK, "study": ""}
    study.save()
    client.get(ENTER, {"workerId": "A1B2", "assignmentId": "3ABC", "turkSubmitTo": "x"})
    assert Enrolment.objects.get().crowd_participant == "A1B2"
    assert client.get(ENTER, PROLIFIC).status_code == 400


def test_a_preview_shows_the_study_and_keeps_nothing(client, study):
    study.crowd_parameters = MTURK
    study.save()
    page = client.get(ENTER, {"hitId": "3XYZ", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    assert (page.status_code, "This is a preview" in page.text) == (200, True)
    assert not get_user_model().objects.exists()


def test_asking_for_the_head_of_the_page_lets_nobody_in(client, study):
    assert client.head(ENTER, PROLIFIC).status_code == 200
    assert not get_user_model().objects.exists()


def test_a_study_that_expects_nobody_from_a_platform_has_no_such_page(client, study):
    study.crowd_parameters = {}
    study.save()
    assert client.get(ENTER, PROLIFIC).status_code == 404


@pytest.mark.parametrize(
    ("status", "words"), [(StudyStatus.PAUSED, "is paused"), (StudyStatus.CLOSED, "has ended")]
)
def test_a_study_that_is_not_open_lets_nobody_new_in(client, status, words):
    factories.rating_study(name="words", status=status, completion_code="C1")
    page = arrive(client)
    assert words in page.text
    assert "nothing about you was stored" in page.text
    assert not get_user_model().objects.exists()


def test_a_draft_is_not_found(client):
    factories.rating_study(name="words", status=StudyStatus.DRAFT)
    assert client.get(ENTER, PROLIFIC).status_code == 404


def test_who_comes_when_all_places_are_taken_is_told_before_agreeing(client, study):
    Slot.objects.update(state=SlotState.FILLED)
    factories.rating_study()
    page = arrive(client)
    assert "All places are taken" in page.text
    assert "This has nothing to do with you" in page.text
    assert 'href="https://app.prolific.com/submissions/complete?cc=C1AB2"' in page.text
    assert not get_user_model().objects.exists()


def test_who_declines_is_not_kept_and_is_told_to_free_their_place(client, study):
    arrive(client)
    page = client.post("/studies/words/consent/", {"decline": "yes"})
    assert "return or cancel the task" in page.text
    assert not get_user_model().objects.exists()
    assert not Annotator.objects.exists()


def test_nobody_is_switched_out_of_their_own_account_unasked(client, study):
    lead = factories.user("lead")
    client.force_login(lead)
    page = client.get(ENTER, PROLIFIC)
    assert "You are logged in as lead" in page.text
    assert not Enrolment.objects.exists()
    assert client.session["_auth_user_id"] == str(lead.pk)

    client.post(f"{ENTER}?PROLIFIC_PID=5f8d0c1e&STUDY_ID=64aa&SESSION_ID=77bb-session")
    assert client.session["_auth_user_id"] == str(Enrolment.objects.get().annotator.user.pk)


def test_a_link_never_logs_in_to_an_account_with_a_password_or_rights(client, study):
    arrive(client)
    account = Enrolment.objects.get().annotator.user
    for change in ({"is_staff": True}, {"is_superuser": True}, {"is_active": False}):
        client.logout()
        get_user_model().objects.update(is_staff=False, is_superuser=False, is_active=True)
        get_user_model().objects.filter(pk=account.pk).update(**change)
        assert client.get(ENTER, PROLIFIC).status_code == 404
        assert "_auth_user_id" not in client.session


def test_who_has_set_a_password_since_is_asked_for_it_and_comes_back(client, study):
    arrive(client)
    account = Enrolment.objects.get().annotator.user
    account.set_password("a-long-password")
    account.save()
    client.force_login(factories.user("somebody-else"))
    asked = client.post(f"{ENTER}?PROLIFIC_PID=5f8d0c1e&STUDY_ID=64aa&SESSION_ID=77bb-session", follow=True)
    assert asked.redirect_chain[-1][0] == "/accounts/login/?next=/studies/words/annotate/"
    assert "You have set a password here" in asked.text
    assert "_auth_user_id" not in client.session
    sent = {"username": account.username, "password": "a-long-password", "next": "/studies/words/annotate/"}
    assert client.post("/accounts/login/", sent).url == "/studies/words/annotate/"
    assert arrive(client).redirect_chain[-1][0] == "/studies/words/consent/", "who is in already is not asked"


def test_the_code_and_the_link_are_shown_once_nothing_is_left(client, study):
    arrive(client)
    agree(client, study)
    rate(client, study, times=2)
    half_way = client.get("/studies/words/thanks/").text
    assert "C1AB2" not in half_way
    rate(client, study, times=0)
    unit = study.tasks.get().units.last()
    factories.response(unit, who=Enrolment.objects.get().annotator)
    page = client.get("/studies/words/thanks/").text
    assert "C1AB2</code>" in page
    assert 'href="https://app.prolific.com/submissions/complete?cc=C1AB2"' in page


def test_who_came_another_way_sees_no_code(client, study):
    amal = factories.user("amal")
    enrolment = factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    for unit in study.tasks.get().units.all():
        factories.response(unit, who=enrolment.annotator)
    Enrolment.objects.update(answered=3)
    client.force_login(amal)
    page = client.get("/studies/words/thanks/").text
    assert "You rated 3 items" in page
    assert "C1AB2" not in page


def test_who_is_screened_out_can_hand_in_their_time(client, study):
    arrive(client)
    agree(client, study)
    Enrolment.objects.update(status=EnrolmentStatus.SCREENED_OUT)
    page = client.get("/studies/words/annotate/", follow=True).text
    assert "Thank you for taking part in the training" in page
    assert "Your time still counts" in page
    assert "C1AB2" in page


@pytest.mark.parametrize(
    ("code", "url", "expected"),
    [
        ("A B", "https://p.org/?cc={code}&x=1", "https://p.org/?cc=A%20B&x=1"),
        ("A&B", "https://p.org/?cc=", "https://p.org/?cc=A%26B"),
        ("A/B", "http://p.org/?cc=", "http://p.org/?cc=A%2FB"),
        ("AB", "https://p.org/done", "https://p.org/done"),
        ("AB", "", ""),
        ("AB", "javascript:alert(1)//=", ""),
    ],
)
def test_the_link_back_carries_the_code(code, url, expected):
    made = crowd.study_completion(study=Study(completion_code=code, completion_url=url))
    assert (made.code, made.url) == (code, expected)


@pytest.mark.parametrize(
    ("code", "url", "has_one"), [("C1", "", True), ("", "https://p.org/", True), ("", "", False)]
)
def test_who_is_done_hands_in_a_code_or_follows_a_link(code, url, has_one):
    study = factories.study(completion_code=code, completion_url=url)
    enrolment = factories.enrolment(study)
    assert crowd.completion(enrolment=enrolment) is None, "they came another way"
    enrolment.crowd_participant = "5f8d0c1e"
    assert bool(crowd.completion(enrolment=enrolment)) == has_one


def test_the_platforms_id_is_in_no_export_and_on_no_page(client, study):
    arrive(client)
    agree(client, study)
    rate(client, study, times=1)
    rows = list(csv.reader("".join(writing.stream_csv(study=study, by=None)).splitlines()))
    assert len(rows) == 2
    assert not any("5f8d0c1e" in cell or "77bb-session" in cell for row in rows for cell in row)
    for page in ("", "annotate/", "thanks/", "withdraw/", "profile/"):
        assert "5f8d0c1e" not in client.get(f"/studies/words/{page}").text
    lead = factories.user("lead")
    study.leads.add(lead)
    client.force_login(lead)
    for page in ("overview/", "people/"):
        shown = client.get(f"/studies/words/{page}", follow=True).text
        assert "5f8d0c1e" not in shown
        assert "77bb-session" not in shown


def test_who_withdrew_is_recognised_without_their_id_and_gets_nothing_again(client, study):
    arrive(client)
    agree(client, study)
    rate(client, study, times=1)
    withdrawals.withdraw(annotator=Annotator.objects.get(), study=study, by=None)
    client.logout()
    page = arrive(client)
    assert "You have withdrawn" in page.text
    assert "_auth_user_id" not in client.session
    assert Enrolment.objects.count() == 1
    assert "5f8d0c1e" not in Enrolment.objects.get().crowd_participant
    assert not Consent.objects.filter(withdrawn_at__isnull=True).exists()


@pytest.mark.parametrize(
    "given", [PROLIFIC, {}, {"PROLIFIC_PID": "5f8d0c1e"}, {"x": "ASSIGNMENT_ID_NOT_AVAILABLE"}]
)
def test_a_study_that_recruits_on_no_platform_lets_nobody_in_who_makes_up_an_id(client, given):
    """Every study knows the names of a platform's parameters, whether it uses one or not."""
    factories.rating_study(name="words", self_enrol=False)
    page = client.get(ENTER, given)
    assert page.status_code == client.get("/studies/nosuch/enter/", given).status_code == 404
    assert not Enrolment.objects.exists()
    assert not get_user_model().objects.exists()


def test_who_was_here_before_comes_back_when_nobody_new_is_let_in(client, study):
    arrive(client)
    client.logout()
    Slot.objects.update(state=SlotState.FILLED)
    assert arrive(client).redirect_chain[-1][0] == "/studies/words/consent/"
    client.logout()
    Study.objects.update(status=StudyStatus.PAUSED)
    assert arrive(client).redirect_chain[-1][0] == "/studies/words/thanks/"


def test_a_guest_makes_room_for_the_next_one_unasked(client, study):
    arrive(client)
    assert arrive(client, PROLIFIC_PID="next").redirect_chain[-1][0] == "/studies/words/consent/"
    account = Enrolment.objects.get(crowd_participant="next").annotator.user
    assert client.session["_auth_user_id"] == str(account.pk)


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_nobody_new_enters_a_study_that_is_not_open(study, status):
    study.status = status
    arrival = crowd.Arrival(participant="5f8d0c1e", session="77bb-session")
    with pytest.raises(ValueError, match="nobody new can enter"):
        crowd.enter(study=study, arrival=arrival)
    assert not Annotator.objects.exists()


def test_who_came_from_a_platform_comes_back_when_it_no_longer_recruits(client, study):
    arrive(client)
    study.completion_code = study.completion_url = ""
    study.save()
    client.logout()
    assert arrive(client).redirect_chain[-1][0] == "/studies/words/consent/"
    assert Enrolment.objects.count() == 1
