"""What an annotator says of themselves and takes back, through a front end of one's own."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from annotation.models import (
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Response,
    Slot,
    SlotState,
    Study,
    StudyStatus,
)
from annotation.participation.services import annotators
from annotation.studies.services import studies
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db
PROFILE = "studies/words/profile"
PART = "studies/words/part"


@pytest.fixture
def study():
    questions = [{"field": "tongue", "label": "Your first language", "choices": ["Hindi", "Other"]}]
    return factories.rating_study(name="words", questions=questions)


@pytest.fixture
def enrolment(study):
    return factories.enrolment(study, user=factories.user("amal"), consented=True)


@pytest.fixture
def program(enrolment):
    return Program(enrolment.annotator.user, "annotate")


def asked(program, address=PROFILE):
    return {one["field"]: one for one in program.get(address).json()["questions"]}


def test_the_profile_is_asked_answered_and_taken_back_as_on_the_page(program, enrolment):
    assert [one["value"] for one in asked(program)["gender"]["choices"]] == ["woman", "man", "non-binary"]
    answers = [
        {"field": "gender", "choice": "woman", "own_words": "mostly", "may_publish": True},
        {"field": "origin", "own_words": "the mountains"},
        {"field": "tongue", "choice": "Hindi"},
    ]
    told = {one["field"]: one for one in program("PUT", PROFILE, {"answers": answers}).json()["questions"]}
    assert (told["gender"]["choice"], told["gender"]["own_words"], told["gender"]["may_publish"]) == (
        "woman",
        "mostly",
        True,
    )
    assert (told["origin"]["choice"], told["origin"]["own_words"]) == ("", "the mountains")
    kept = {one.field: one for one in ProfileAnswer.objects.all()}
    assert kept["gender"].value == "woman"
    assert (kept["origin"].self_described, kept["tongue"].value) == (True, "Hindi")
    program("PUT", "own-profile", {"answers": [{"field": "gender", "choice": "man"}]})
    assert [(one.field, one.value) for one in ProfileAnswer.objects.all()] == [("gender", "man")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"field": "shoes", "choice": "x"}, "There are: origin"),
        ({"field": "gender", "choice": "queen"}, "There are: man, non-binary, woman"),
        ({"field": "languages", "choice": "Hindi"}, "There are: none: send own_words"),
        ({"field": "origin", "choice": "Europe"}, "Each question is answered once"),
    ],
)
def test_an_answer_to_no_question_is_refused_and_nothing_is_kept(program, answer, said):
    good = {"field": "origin", "choice": "Asia"}
    refused = is_problem(program("PUT", PROFILE, {"answers": [good, answer]}), 422)
    assert refused["detail"].startswith("answers/1/")
    assert said in refused["detail"]
    assert not ProfileAnswer.objects.exists()


def test_who_has_not_agreed_is_asked_nothing(study):
    program = Program(factories.user("new"), "annotate")
    assert is_problem(program.get(PROFILE), 409)["state"] == "no_consent"
    is_problem(program.get(PART), 404)
    is_problem(program.post("studies/words/consent", {"text": 2**63}), 400)
    factories.enrolment(study, who=factories.annotator(user=get_user_model().objects.get(username="new")))
    assert is_problem(program.get(PROFILE), 409)["state"] == "no_consent"


def test_stopping_keeps_the_answers_and_coming_back_goes_on(program, study, enrolment):
    for of in (study, factories.rating_study()):
        factories.response(of.tasks.get().units.earliest("pk"), who=enrolment.annotator)
    factories.response(study.tasks.get().units.latest("pk"), who=enrolment.annotator, current=False)
    Enrolment.objects.filter(pk=enrolment.pk).update(answered=1)
    assert program.get(PART).json() == {
        "study": "words",
        "status": "qualified",
        "agreed": True,
        "answers": 1,
        "done": False,
        "completion_code": "",
        "completion_url": "",
    }
    stopped = program.post(f"{PART}/stop").json()
    assert (stopped["status"], stopped["answers"]) == ("finished", 1)
    assert is_problem(program.get(PROFILE), 409)["state"] == "finished"
    text = {"text": study.consent_texts.get().pk}
    assert is_problem(program.post("studies/words/consent", text), 409)["state"] == "blocked"
    assert program.post(f"{PART}/come-back").json()["status"] == "qualified"


def test_withdrawing_is_asked_twice_and_takes_everything_back(program, study, enrolment):
    factories.response(study.tasks.get().units.earliest("pk"), who=enrolment.annotator, justification="mine")
    is_problem(program.post(f"{PART}/withdraw", {"sure": False}), 422)
    assert Response.objects.get().withdrawn_at is None
    for _ in range(2):
        told = program.post(f"{PART}/withdraw", {"sure": True}).json()
        assert (told["status"], told["answers"], told["agreed"]) == ("withdrawn", 0, False)
    assert Response.objects.get().withdrawn_at is not None
    assert Consent.objects.get().withdrawn_at is not None
    (event,) = AuditEvent.objects.filter(what="withdrawal")
    assert event.details["asked_by"] == "the annotator"


def test_who_leads_the_study_by_now_cannot_agree_to_a_newer_text(program, study, enrolment):
    newer = factories.consent_text(study, version=2)
    study.leads.add(enrolment.annotator.user)
    is_problem(program.post("studies/words/consent", {"text": newer.pk}), 404)
    assert Consent.objects.get().text.version == 1


def test_one_can_withdraw_from_a_study_that_is_closed_or_has_shut_one_out(program, study, enrolment):
    studies.change_status(study=study, to=StudyStatus.CLOSED, by=None)
    text = {"text": study.consent_texts.get().pk}
    assert is_problem(program.post("studies/words/consent", text), 409)["state"] == "closed"
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert program.post(f"{PART}/withdraw", {"sure": True}).json()["status"] == "withdrawn"


def test_the_code_for_the_platform_is_given_when_the_part_is_over(program, study, enrolment):
    study.completion_code, study.completion_url = "C0DE", "https://crowd.example/?cc="
    study.save()
    Enrolment.objects.update(crowd_participant="5f9abc")
    assert program.get(PART).json()["completion_code"] == ""
    over = program.post(f"{PART}/stop").json()
    assert (over["completion_code"], over["completion_url"]) == ("C0DE", "https://crowd.example/?cc=C0DE")


def test_the_code_is_for_all_work_done_or_a_study_that_stopped_and_not_after_withdrawing(
    program, study, enrolment
):
    Study.objects.update(completion_code="C0DE")
    Enrolment.objects.update(crowd_participant="5f9abc")

    def told():
        part = program.get(PART).json()
        return part["done"], part["completion_code"]

    assert told() == (False, "")
    Slot.objects.update(state=SlotState.FILLED)
    assert told() == (True, "C0DE")
    Consent.objects.all().delete()
    assert told() == (False, "")
    Study.objects.update(status=StudyStatus.PAUSED)
    assert told() == (False, "C0DE")
    Enrolment.objects.update(status=EnrolmentStatus.WITHDRAWN)
    assert told() == (False, "")


def test_who_does_not_agree_is_forgotten_and_who_agreed_is_not(program, study, enrolment):
    is_problem(program("DELETE", "studies/words/consent"), 409)
    guest = annotators.newcomer()
    Enrolment.objects.create(annotator=guest, study=study, status=EnrolmentStatus.INVITED)
    theirs = Program(guest.user, "annotate")
    assert theirs("DELETE", "studies/words/consent").status_code == 204
    assert not get_user_model().objects.filter(pk=guest.user_id).exists()
    assert Enrolment.objects.get() == enrolment
