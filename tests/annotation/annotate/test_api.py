"""A front end of one's own: consent, next, answers, skips, by the same rules as the page at work."""

from __future__ import annotations

import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.annotate.limits import DAY_MS
from annotation.models import (
    Consent,
    Enrolment,
    EnrolmentStatus,
    Image,
    Judgement,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    TaskKind,
)
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
STUDY = "studies/words"


@pytest.fixture
def someone():
    return factories.user("someone")


@pytest.fixture
def study():
    return factories.rating_study(name="words", leads=[factories.user("lead")])


@pytest.fixture
def program(someone, study):
    return Program(someone, "annotate")


@pytest.fixture
def agreed(program, study):
    text = program.get(f"{STUDY}/consent").json()["texts"][0]["id"]
    assert program.post(f"{STUDY}/consent", {"text": text}).status_code == 200
    return program


def answer_to(item, value=5):
    return {
        "unit": item["unit"],
        "client_key": item["client_key"],
        "answers": [
            {"option": option["id"], "value": value, "position": option["position"]}
            for option in item["options"]
        ],
    }


def test_a_front_end_from_the_first_text_to_the_last_answer(program, study, someone):
    assert [one["name"] for one in program.get("own-studies").json()["results"]] == ["words"]
    problem = is_problem(program.post(f"{STUDY}/next"), 409)
    assert problem["state"] == "no_consent"
    assert f"/api/v1/{STUDY}/consent" in problem["detail"]
    before = program.get(f"{STUDY}/consent").json()
    assert before["agreed"] is False
    after = program.post(f"{STUDY}/consent", {"text": before["texts"][0]["id"]}).json()
    assert after["agreed"] is True
    seen = []
    while True:
        got = program.post(f"{STUDY}/next", {"wanted": 2})
        if got.status_code == 404:
            break
        item = got.json()["items"][0]
        seen.append(item["attribute"])
        assert program.post(f"{STUDY}/answers", answer_to(item)).status_code == 201
    problem = is_problem(got, 404)
    assert problem["type"] == "urn:visage:problem:nothing-left"
    assert sorted(seen) == ["kind", "poor", "sombrero"]
    assert Response.objects.filter(annotator__user=someone, slot__isnull=False).count() == 3


def test_what_the_client_has_is_not_described_again(agreed):
    first = agreed.post(f"{STUDY}/next", {"wanted": 2}).json()
    keys = [item["client_key"] for item in first["items"]]
    again = agreed.post(f"{STUDY}/next", {"wanted": 3, "have": keys}).json()
    assert set(keys) < set(again["held"])
    assert [item["client_key"] for item in again["items"]] == [
        key for key in again["held"] if key not in keys
    ]
    assert agreed.post(f"{STUDY}/next", {"wanted": 2}).json()["items"] == first["items"]


def test_sending_an_answer_again_is_the_same_as_sending_it_once(agreed):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    first = agreed.post(f"{STUDY}/answers", answer_to(item))
    again = agreed.post(f"{STUDY}/answers", answer_to(item, value=1))
    assert (first.status_code, first.json()["outcome"]) == (201, "kept")
    assert (again.status_code, again.json()["outcome"]) == (200, "repeat")
    assert Judgement.objects.get().value == 5


@pytest.mark.parametrize(
    ("change", "status", "pointer"),
    [
        ({"unit": 0}, 400, "/unit"),
        ({"unit": 2**63}, 400, "/unit"),
        ({"client_key": "mine"}, 400, "/client_key"),
        ({"answers": []}, 400, "/answers"),
        ({"answers": [{"option": 1}]}, 400, "/answers/0/value"),
        ({"answers": "all"}, 400, "/answers"),
        ({"annotator": 1}, 400, "/annotator"),
        ({"active_ms": -1}, 400, "/active_ms"),
        ({"started_at": "then"}, 400, "/started_at"),
        ({"client_key": str(uuid.uuid4())}, 403, None),
    ],
)
def test_what_is_no_answer_is_refused(agreed, change, status, pointer):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    problem = is_problem(agreed.post(f"{STUDY}/answers", {**answer_to(item), **change}), status)
    if pointer:
        assert pointer in {error["pointer"] for error in problem["errors"]}
    assert not Response.objects.exists()


def test_numbers_texts_and_lists_have_limits(agreed):
    item = agreed.post(f"{STUDY}/next", {"wanted": 12}).json()["items"][0]
    body, box = answer_to(item), [1, 2, 3, 4]
    judgements = (
        *({"option": 0}, {"value": 1001}, {"value": -1001}, {"position": 0}, {"position": 201}),
        *({"justification": "x" * 2001}, {"boxes": [[*box[:3], 2e9]]}, {"boxes": [box] * 201}),
    )
    for change in (
        *({"answers": [{**body["answers"][0], **more}]} for more in judgements),
        *({"active_ms": DAY_MS + 1}, {"idle_ms": -1}, {"idle_ms": DAY_MS + 1}, {"language": "x" * 11}),
    ):
        is_problem(agreed.post(f"{STUDY}/answers", {**body, **change}), 400)
    for more in ({"wanted": 0}, {"wanted": 13}, {"have": [item["client_key"]] * 1001}):
        is_problem(agreed.post(f"{STUDY}/next", more), 400)
    said = is_problem(agreed.post(f"{STUDY}/next", {"have": [item["client_key"], 5]}), 400)
    assert (said["detail"], said["errors"][0]["pointer"]) == ("have/1: Send a string.", "/have/1")
    is_problem(agreed.post(f"{STUDY}/skips", {**skip_of(item), "note": "x" * 2001}), 400)
    most = {"active_ms": DAY_MS, "idle_ms": DAY_MS, "language": "x" * 10}
    assert agreed.post(f"{STUDY}/answers", {**body, **most}).status_code == 201


def test_practice_is_told_and_the_statement_is_in_the_language_that_is_asked_for(agreed, study):
    practice = factories.attribute_unit(study.tasks.get(), "hat", purpose="training")
    practice.slots.all().delete()
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    spanish = {"accept-language": "es"}
    told = []
    for _ in range(2):
        got = agreed.post(f"{STUDY}/next", **spanish).json()
        [item] = got["items"]
        told.append((item["training"], item["language"], got["answered"]))
        agreed.post(f"{STUDY}/answers", answer_to(item))
    assert told == [(True, "es", 0), (False, "es", 0)]
    [last] = agreed.get(f"{STUDY}/answers", **spanish).json()["answers"]
    assert last["item"]["language"] == "es"
    assert agreed.post(f"{STUDY}/next").json()["answered"] == 1


@pytest.mark.parametrize("value", [0, 6, 3])
def test_a_value_off_the_scale_or_without_its_reason_is_refused(agreed, value):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    is_problem(agreed.post(f"{STUDY}/answers", answer_to(item, value=value)), 422)
    assert not Response.objects.exists()


def test_a_box_in_an_answer_about_words_is_refused(agreed):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    for value in (5, 1):
        body = answer_to(item, value=value)
        body["answers"][0]["boxes"] = [[1, 2, 3, 4]]
        is_problem(agreed.post(f"{STUDY}/answers", body), 422)
    body["answers"][0]["boxes"] = [[1, 2, 3]]
    is_problem(agreed.post(f"{STUDY}/answers", body), 400)


def test_boxes_come_with_answers_about_images(someone, program):
    study = factories.study("pictures")
    text = factories.consent_text(study)
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any",))
    picture = factories.image()
    factories.page_unit(task, picture=picture)
    program.post("studies/pictures/consent", {"text": text.pk})
    assert program.post("studies/pictures/next").json()["items"][0]["image"]["url"] == ""
    Image.objects.update(file="a.png", sha256="0" * 64)
    item = program.post("studies/pictures/next").json()["items"][0]
    assert item["image"]["url"] == reverse("api:image_file", args=[picture.pk])
    assert (item["image"]["width"], item["options"][-1]["none"]) == (512, True)
    body = answer_to(item, value=0)
    body["answers"][0] |= {"value": 1, "boxes": [[10, 20, 30, 40.5]]}
    answer = program.post("studies/pictures/answers", body)
    assert answer.status_code == 201, answer.content
    (last,) = program.get("studies/pictures/answers").json()["answers"]
    assert [one["boxes"] for one in last["answers"] if one["value"]] == [[[10.0, 20.0, 30.0, 40.5]]]


def test_somebody_elses_item_is_not_answered(agreed, study):
    other = Program(factories.user("other"), "annotate")
    other.post(f"{STUDY}/consent", {"text": study.consent_texts.get().pk})
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    is_problem(other.post(f"{STUDY}/answers", answer_to(item)), 403)
    is_problem(other.post(f"{STUDY}/skips", {**skip_of(item)}), 403)
    assert not Response.objects.exists()


def skip_of(item, reason="unclear"):
    return {"unit": item["unit"], "client_key": item["client_key"], "reason": reason}


def test_skipping_costs_nothing_and_counts_once(agreed):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    for _ in range(2):
        answer = agreed.post(f"{STUDY}/skips", {**skip_of(item), "note": "?"})
        assert (answer.status_code, answer.content) == (204, b"")
    assert Skip.objects.get().note == "?"
    assert item["client_key"] not in agreed.post(f"{STUDY}/next").json()["held"]
    is_problem(agreed.post(f"{STUDY}/skips", skip_of(item, "boring")), 400)


def test_a_change_of_mind_is_a_new_revision(agreed):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    agreed.post(f"{STUDY}/answers", answer_to(item))
    (last,) = agreed.get(f"{STUDY}/answers").json()["answers"]
    assert last["answers"][0]["value"] == 5
    assert agreed.post(f"{STUDY}/corrections", answer_to(last["item"], value=1)).status_code == 201
    assert list(Response.objects.order_by("pk").values_list("revision", "current")) == [(1, False), (2, True)]


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_a_study_that_is_not_open_gives_nothing_out_and_takes_what_it_gave(agreed, study, status):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    closed = timezone.now() if status == StudyStatus.CLOSED else None
    Study.objects.update(status=status, closed_at=closed)
    assert is_problem(agreed.post(f"{STUDY}/next"), 409)["state"] == status
    assert agreed.post(f"{STUDY}/answers", answer_to(item)).status_code == 201


def test_somebody_who_was_blocked_gets_nothing_more(agreed, study):
    item = agreed.post(f"{STUDY}/next").json()["items"][0]
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert is_problem(agreed.post(f"{STUDY}/next"), 409)["state"] == "blocked"
    is_problem(agreed.post(f"{STUDY}/skips", skip_of(item)), 403)
    is_problem(agreed.post(f"{STUDY}/corrections", answer_to(item)), 403)
    assert agreed.post(f"{STUDY}/answers", answer_to(item)).status_code == 201, "it was given out before"
    text = study.consent_texts.get().pk
    is_problem(agreed.post(f"{STUDY}/consent", {"text": text}), 409)


def test_a_newer_text_is_to_be_agreed_to_first(agreed, study):
    old = study.consent_texts.get().pk
    new = factories.consent_text(study, version=2)
    assert is_problem(agreed.post(f"{STUDY}/next"), 409)["state"] == "no_consent"
    is_problem(agreed.post(f"{STUDY}/consent", {"text": old}), 409)
    assert agreed.post(f"{STUDY}/consent", {"text": new.pk}).status_code == 200
    assert agreed.post(f"{STUDY}/next").status_code == 200


def test_a_study_by_invitation_is_not_there_for_others(program, study):
    Study.objects.update(self_enrol=False)
    for method, path in (("GET", "consent"), ("POST", "consent"), ("POST", "next"), ("GET", "answers")):
        is_problem(program(method, f"{STUDY}/{path}", {"text": 1} if path == "consent" else {}), 404)
    assert program.get("own-studies").json()["results"] == []
    assert not Enrolment.objects.exists()


def test_nobody_agrees_in_a_draft(program, study):
    Study.objects.update(status=StudyStatus.DRAFT, opened_at=None)
    is_problem(program.post(f"{STUDY}/consent", {"text": study.consent_texts.get().pk}), 404)
    assert not Consent.objects.exists()


def test_a_lead_does_not_answer_in_their_own_study(study):
    lead = Program(study.leads.get(), "annotate")
    is_problem(lead.post(f"{STUDY}/next"), 404)
    factories.enrolment(study, who=factories.annotator(user=study.leads.get()), consented=True)
    assert is_problem(lead.post(f"{STUDY}/next"), 409)["state"] == "blocked"
    is_problem(lead.post(f"{STUDY}/consent", {"text": study.consent_texts.get().pk}), 404)
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_gold_items_look_like_any_other(agreed, study):
    task = study.tasks.get()
    gold = factories.attribute_unit(task, "gold", purpose="gold")
    gold.slots.all().delete()
    gold.options.update(expected=[5])
    Study.objects.update(gold_rate=0.5)
    outcomes = set()
    while (got := agreed.post(f"{STUDY}/next")).status_code == 200:
        item = got.json()["items"][0]
        assert item["training"] is False
        assert "purpose" not in item
        outcomes.add(tuple(sorted(agreed.post(f"{STUDY}/answers", answer_to(item)).json().items())))
    assert outcomes == {(("correct", None), ("feedback", ""), ("outcome", "kept"))}
    assert Response.objects.filter(unit=gold).exists()
