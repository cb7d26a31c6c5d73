"""The JSON endpoints of the annotation page (docs/annotating.md)."""

import json
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from annotation.annotate.views import request_body
from annotation.annotate.views.request_body import RequestRefused
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.models import (
    Box,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    Image,
    Judgement,
    Option,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)
from annotation.participation.services import enrolments
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
URL = "/studies/words/annotate/"


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=["sombrero", "kind", "poor", "turban", "tall"])


@pytest.fixture
def enrolment(client, study):
    who = factories.user("amal")
    client.force_login(who)
    return factories.enrolment(study, who=factories.annotator(user=who), consented=True)


def post(client, endpoint, body, *, url=URL):
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(f"{url}{endpoint}/", text, content_type="application/json")


def items(client, **body):
    return post(client, "items", body).json()


def rated(item, value=5, **more):
    option = item["options"][0]
    judgement = {"option": option["id"], "value": value, "position": option["position"], **more}
    return {"unit": item["unit"], "client_key": item["client_key"], "answers": [judgement]}


def picture_study(**fields):
    """A depiction study of one image with two pages, whose file is here."""
    study = factories.study("words", contact="a@example.org", **fields)
    factories.consent_text(study)
    image = factories.image()
    image.sha256 = "0" * 64
    image.file.save("a.png", ContentFile(b"png"))
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=image.image_set, wording="What is here?")
    for page in (1, 2):
        factories.page_unit(task, picture=image, page=page, texts=[f"{word} {page}" for word in "abcd"])
    return study


def test_it_gives_three_items_and_then_only_what_is_missing(client, enrolment):
    first = items(client)
    assert [item["attribute"] for item in first["items"]] == ["sombrero", "kind", "poor"]
    assert first["state"] == "items"
    have = [item["client_key"] for item in first["items"]]
    assert items(client, have=have)["items"] == []

    assert post(client, "answers", rated(first["items"][0])).json() == {"outcome": "kept"}
    then = items(client, have=have[1:])
    assert [item["attribute"] for item in then["items"]] == ["turban"]
    assert then["held"] == [*have[1:], then["items"][0]["client_key"]]
    assert then["progress"] == {"answered": 1}


def test_what_they_hold_is_told_whole_also_if_they_ask_for_less(client, enrolment):
    """The page takes what is not named for somebody else's."""
    first = items(client, wanted=4)
    have = [item["client_key"] for item in first["items"]]
    assert len(have) == 4
    assert [item["client_key"] for item in items(client, wanted=0)["items"]] == have[:1]
    fewer = items(client, have=have, wanted=1)
    assert (fewer["held"], fewer["items"]) == (have, [])
    assert [item["client_key"] for item in items(client, wanted=2)["items"]] == have[:2]


def test_nobody_takes_more_items_into_their_hands_than_the_page_can_use(client, enrolment, study):
    for number in range(20):
        factories.attribute_unit(study.tasks.get(), f"word {number}")
    assert len(items(client, wanted=1000)["items"]) == 12
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 12


def test_a_statement_comes_in_parts_with_identity_and_attribute(client, enrolment, study):
    task = factories.task(
        study, kind=TaskKind.PREVALENCE, wording="Have you heard that [id] are [attr]", strata=("any",)
    )
    of = factories.association(group_name="Mexican", text="merry")
    unit = Unit.objects.create(task=task, position=1, association=of)
    Option.objects.create(unit=unit, attribute=of.attribute, position=1)
    factories.open_slots(unit)
    item = next(item for item in items(client, wanted=6)["items"] if item["unit"] == unit.pk)
    assert item["kind"] == "prevalence"
    assert item["statement"] == [
        ["text", "Have you heard that "],
        ["identity", "Mexican"],
        ["text", " are "],
        ["attribute", "merry"],
    ]
    assert (item["page"], item["pages"], item["image"]) == (1, 1, None)


@pytest.mark.parametrize(
    ("requested", "language", "words"),
    [("es-mx", "es", "se puede ver"), ("en", "en", "can be"), ("ar", "en", "can be")],
)
def test_the_wording_comes_in_the_readers_language_where_there_is_one(
    client, enrolment, settings, requested, language, words
):
    settings.LANGUAGES = [("en", "English"), ("es", "Spanish"), ("ar", "Arabic")]
    Task.objects.update(
        wording="'[attr]' can be seen.", translations={"es": {"wording": "'[attr]' se puede ver."}}
    )
    answer = client.post(
        f"{URL}items/", "{}", content_type="application/json", headers={"accept-language": requested}
    )
    item = answer.json()["items"][0]
    assert item["language"] == language
    assert words in "".join(text for _, text in item["statement"])


@pytest.mark.parametrize(
    ("requested", "language", "words"),
    [
        ("es-mx", "es", "se puede representar"),
        ("ar", "ar", "يمكن تصوير الصفة"),
        ("en", "en", "can be visually depicted"),
    ],
)
def test_the_usual_wording_comes_in_the_readers_language_and_is_recorded_so(
    client, enrolment, settings, requested, language, words
):
    settings.LANGUAGES = [("en", "English"), ("es", "Spanish"), ("ar", "Arabic")]
    item = client.post(
        f"{URL}items/", "{}", content_type="application/json", headers={"accept-language": requested}
    ).json()["items"][0]
    assert item["language"] == language
    assert words in "".join(text for _, text in item["statement"])
    assert ["attribute", item["attribute"]] in item["statement"]
    assert post(client, "answers", {**rated(item), "language": item["language"]}).status_code == 200
    assert Response.objects.get().language == language
    # a translation of its own goes before the program's
    Task.objects.update(translations={"es": {"wording": "¿Se ve '[attr]'?"}})
    again = client.post(
        f"{URL}items/", "{}", content_type="application/json", headers={"accept-language": requested}
    ).json()["items"][0]
    assert ("¿Se ve" in "".join(text for _, text in again["statement"])) == (language == "es")


def test_options_come_in_an_order_of_each_annotator_with_none_of_the_above_last(client):
    picture_study()
    study = Study.objects.get()
    orders = set()
    for _ in range(6):
        who = factories.user()
        client.force_login(who)
        factories.enrolment(study, who=factories.annotator(user=who), consented=True)
        item = items(client, wanted=1)["items"][0]
        again = items(client, wanted=1)["items"][0]
        assert item["options"] == again["options"]
        assert item["options"][-1]["none"]
        assert [option["position"] for option in item["options"]] == [1, 2, 3, 4, 5]
        orders.add(tuple(option["text"] for option in item["options"]))
    assert len(orders) > 1
    assert all(sorted(text[0] for text in order[:-1]) == list("abcd") for order in orders)


def test_a_depiction_item_says_which_page_of_how_many_and_where_its_image_is(client):
    study = picture_study()
    who = factories.user()
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    task, other = study.tasks.get(), factories.task(factories.study(), kind=TaskKind.DEPICTION)
    picture = Image.objects.get()
    factories.page_unit(other, picture=picture, page=3)
    factories.page_unit(task, picture=factories.image(index=2), page=4)
    item = items(client)["items"][0]
    assert (item["page"], item["pages"], item["attribute"], item["identity"]) == (1, 2, "", "")
    assert item["image"] == {
        "url": f"/images/{picture.pk}/",
        "width": 512,
        "height": 512,
    }
    file = client.get(item["image"]["url"])
    assert b"".join(file.streaming_content) == b"png"
    Image.objects.update(file="")
    assert items(client)["items"][0]["image"]["url"] == ""


def test_a_depiction_answer_is_kept_with_its_boxes_and_the_positions_shown(client):
    study = picture_study()
    who = factories.user()
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    item = items(client)["items"][0]
    judgements = [
        {"option": option["id"], "value": 0, "position": option["position"], "boxes": []}
        for option in item["options"]
    ]
    judgements[0] |= {"value": 1, "boxes": [[-5, 10.5, 100, 90], [300, 20, 200, 40]]}
    judgements[1] |= {"value": 1, "whole_image": True}
    body = {"unit": item["unit"], "client_key": item["client_key"], "answers": judgements, "idle_ms": 50}
    assert post(client, "answers", body).status_code == 200
    kept = {j.option_id: j for j in Judgement.objects.all()}
    assert [kept[one["option"]].position for one in judgements] == [1, 2, 3, 4, 5]
    assert [kept[one["option"]].value for one in judgements] == [1, 1, 0, 0, 0]
    assert kept[judgements[1]["option"]].whole_image
    boxes = Box.objects.order_by("pk").values_list("x0", "y0", "x1", "y1")
    assert list(boxes) == [(0, 10.5, 100, 90), (200, 20, 300, 40)]
    assert Response.objects.get().idle_ms == 50


def test_sending_an_answer_twice_counts_once(client, enrolment):
    item = items(client)["items"][0]
    assert post(client, "answers", rated(item)).json()["outcome"] == "kept"
    again = post(client, "answers", rated(item, value=1))
    assert (again.status_code, again.json()["outcome"]) == (200, "repeat")
    assert Judgement.objects.get().value == 5


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_an_answer_under_way_when_the_study_stops_is_kept(client, enrolment, status):
    item = items(client)["items"][0]
    Study.objects.update(status=status, closed_at=timezone.now() if status == StudyStatus.CLOSED else None)
    assert post(client, "answers", rated(item)).status_code == 200
    after = items(client)
    assert (after["state"], after["items"]) == (str(status), [])


def test_an_answer_given_before_a_new_consent_text_is_kept_and_nothing_more_is_given_out(
    client, enrolment, study
):
    item = items(client)["items"][0]
    ConsentText.objects.create(study=study, version=2, text="new")
    assert post(client, "answers", rated(item)).status_code == 200
    assert items(client) == {"state": "no_consent", "held": [], "items": [], "progress": {"answered": 1}}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"answers": []}, "answers"),
        ({"answers": [5]}, "answers"),
        ({"answers": "x"}, "answers"),
        ({"answers": [{"option": "1"}]}, "option"),
        ({"answers": [{"option": 1, "value": True, "position": 1}]}, "value"),
        ({"answers": [{"option": 1, "value": 1.5, "position": 1}]}, "value"),
        ({"answers": [{"option": 1, "value": 1, "position": 0}]}, "position"),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "boxes": [[1, 2, 3]]}]}, "boxes"),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "boxes": [[1, 2, 3, "4"]]}]}, "boxes"),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "boxes": [[0, 0, 1e300, 4]]}]}, "boxes"),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "whole_image": 1}]}, "whole_image"),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "justification": 5}]}, "justification"),
        (
            {"answers": [{"option": 1, "value": 1, "position": 1, "justification": "x" * 2001}]},
            "justification",
        ),
        ({"answers": [{"option": 1, "value": 1, "position": 1, "justification": "\x00"}]}, "justification"),
        ({"client_key": "x"}, "client_key"),
        ({"client_key": None}, "client_key"),
        ({"unit": 2**70}, "unit"),
        ({"unit": None}, "unit"),
        ({"language": 5}, "language"),
    ],
)
def test_what_the_page_never_sends_is_refused_by_field_and_nothing_is_written(client, enrolment, more, field):
    answer = post(client, "answers", {**rated(items(client)["items"][0]), **more})
    assert answer.status_code in {400, 422}
    assert answer.json()["field"] == field
    assert answer.json()["error"]
    assert not Response.objects.exists()


@pytest.mark.parametrize(
    "body", ["", "[]", "5", "{", '{"unit": NaN}', "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass")]
)
@pytest.mark.parametrize("endpoint", ["items", "answers", "skips", "corrections"])
def test_what_is_not_a_json_object_is_refused(client, enrolment, endpoint, body):
    answer = client.post(f"{URL}{endpoint}/", body, content_type="application/json")
    assert answer.status_code == 400
    assert "JSON object" in answer.json()["error"]


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"active_ms": -5, "idle_ms": "x", "started_at": "yesterday"},
        {"active_ms": 1e99, "idle_ms": 1e12, "started_at": "0001-01-01T00:00:00+14:00"},
        {"active_ms": True, "idle_ms": [], "started_at": 5},
        {"active_ms": 1200.7, "started_at": "2031-01-01T00:00:00Z"},
    ],
)
def test_nonsense_about_time_loses_no_answer(client, enrolment, times):
    assert post(client, "answers", {**rated(items(client)["items"][0]), **times}).status_code == 200
    response = Response.objects.get()
    assert response.started_at <= response.submitted_at
    assert response.active_ms is None or 0 <= response.active_ms <= 24 * 60 * 60 * 1000


def test_a_refusal_of_the_rules_says_what_to_do(client, enrolment):
    answer = post(client, "answers", rated(items(client)["items"][0], value=3))
    assert answer.status_code == 422
    assert "Please write in a few words why" in answer.json()["error"]


def test_somebody_elses_item_is_refused(client, enrolment, study):
    theirs = slots.lease_next(enrolment=factories.enrolment(study))
    body = {"unit": theirs.unit_id, "client_key": str(theirs.lease_key), "answers": []}
    for endpoint in ("answers", "corrections", "skips"):
        answer = post(client, endpoint, {**body, "reason": "other"})
        assert answer.status_code == 403, endpoint
        assert answer.json()["error"]
    body["client_key"] = str(uuid4())
    assert post(client, "answers", body).status_code == 403
    assert not Response.objects.exists()
    assert not Skip.objects.exists()


def test_an_item_of_another_study_cannot_be_answered_here(client, enrolment):
    unit = factories.rating_study(texts=["turban"]).tasks.get().units.get()
    key = lease_keys.issue(annotator_id=enrolment.annotator_id, unit_id=unit.pk)
    body = {"unit": unit.pk, "client_key": str(key), "answers": []}
    for endpoint in ("answers", "corrections"):
        assert post(client, endpoint, body).status_code == 403
    assert not Response.objects.exists()


def test_a_skipped_item_goes_to_somebody_else_and_does_not_come_back(client, enrolment):
    item = items(client)["items"][0]
    theirs = slots.lease_next(enrolment=factories.enrolment(Study.objects.get()))
    assert theirs.unit_id == item["unit"]
    body = {"unit": item["unit"], "client_key": item["client_key"], "reason": "upsetting", "note": "ugh"}
    for _ in range(2):
        assert post(client, "skips", body).json() == {"outcome": "skipped"}
    assert Skip.objects.get().note == "ugh"
    assert Slot.objects.filter(unit=item["unit"], state=SlotState.OPEN).count() == 2
    assert Slot.objects.filter(state=SlotState.LEASED, annotator=enrolment.annotator).count() == 2
    assert item["unit"] not in {one["unit"] for one in items(client)["items"]}
    assert post(client, "skips", {**body, "reason": "bored"}).status_code == 422


def test_ones_own_last_answers_can_be_looked_at_and_corrected_once_and_again(client, enrolment, study):
    first, second, _ = items(client)["items"]
    post(client, "answers", rated(first, value=5))
    post(client, "answers", rated(second, value=3, justification="hm"))
    factories.response(study.tasks.get().units.get(position=1), who=factories.annotator())  # not theirs

    reply = client.get(f"{URL}last/").json()["answers"]
    assert [one["item"]["attribute"] for one in reply] == ["kind", "sombrero"]
    option = reply[0]["item"]["options"][0]
    assert reply[0]["judgements"][str(option["id"])] == {
        "value": 3,
        "justification": "hm",
        "whole_image": False,
        "boxes": [],
    }
    item = reply[1]["item"]
    times = {"started_at": timezone.now().isoformat(), "active_ms": 7, "idle_ms": 8, "language": "es"}
    for outcome in ("kept", "repeat"):  # sent again, it is the same correction
        sent = post(client, "corrections", {**rated(item, value=1), **times})
        assert (sent.status_code, sent.json()) == (200, {"outcome": outcome})
    corrected = Response.objects.get(revision=2)
    assert {**times, "started_at": corrected.started_at.isoformat()} == times
    assert [getattr(corrected, name) for name in ("active_ms", "idle_ms", "language")] == [7, 8, "es"]
    assert list(
        Response.objects.filter(unit=item["unit"], annotator=enrolment.annotator)
        .order_by("revision")
        .values_list("revision", "current", "judgements__value")
    ) == [(1, False, 5), (2, True, 1)]
    # The key is used up; the next correction has one of its own.
    fresh = client.get(f"{URL}last/").json()["answers"][0]["item"]
    assert fresh["client_key"] != item["client_key"]
    assert post(client, "corrections", rated(fresh, value=2)).status_code == 200
    assert Response.objects.filter(unit=item["unit"], annotator=enrolment.annotator).count() == 3


def test_the_last_ten_answers_are_shown_the_newest_first(client, enrolment, study):
    task = study.tasks.get()
    units = [factories.attribute_unit(task) for _ in range(11)]
    factories.responses((unit, None, enrolment.annotator) for unit in units)
    shown = [answer["item"]["unit"] for answer in client.get(f"{URL}last/").json()["answers"]]
    assert shown == [unit.pk for unit in reversed(units[1:])]


def test_who_has_not_answered_anything_has_no_last_answers(client, enrolment):
    assert client.get(f"{URL}last/").json() == {"answers": []}


def test_the_last_answers_come_with_options_in_the_order_in_which_they_were_shown(client):
    study = picture_study()
    who = factories.user()
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    item = items(client)["items"][0]
    judgements = [
        {"option": o["id"], "value": int(o["none"]), "position": o["position"]} for o in item["options"]
    ]
    post(client, "answers", {"unit": item["unit"], "client_key": item["client_key"], "answers": judgements})
    reply = client.get(f"{URL}last/").json()["answers"][0]["item"]
    assert reply["options"] == item["options"]


def check_unit(study, purpose, *, text, expected, feedback=""):
    task = study.tasks.get()
    unit = Unit.objects.create(
        task=task,
        position=task.units.count() + 1,
        attribute=factories.attribute(text),
        purpose=purpose,
        feedback=feedback,
    )
    Option.objects.create(unit=unit, attribute=unit.attribute, position=1, expected=expected)
    return unit


def test_practice_items_come_first_say_so_and_answer_with_feedback(client, enrolment, study):
    check_unit(study, "training", text="hat", expected=[5], feedback="A hat can be seen.")
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    (item,) = items(client)["items"]
    assert (item["attribute"], item["training"]) == ("hat", True)
    for outcome in ("kept", "repeat"):  # also when the first reply was lost
        reply = post(client, "answers", rated(item, value=1)).json()
        assert reply == {"outcome": outcome, "correct": False, "feedback": "A hat can be seen."}
    Option.objects.update(expected=None)
    reply = post(client, "answers", rated(item, value=1)).json()
    assert reply == {"outcome": "repeat", "correct": None, "feedback": "A hat can be seen."}
    assert not items(client)["items"][0]["training"]
    assert client.get(f"{URL}last/").json() == {"answers": []}, "practice is not corrected"


def test_nothing_tells_a_gold_item_from_any_other(client, enrolment, study):
    check_unit(study, "gold", text="hat", expected=[5], feedback="told you")
    Study.objects.update(gold_rate=0.5)
    Enrolment.objects.update(answered=10)
    gold, data = items(client)["items"][:2]
    assert gold["attribute"] == "hat"
    assert gold.keys() == data.keys()
    assert not gold["training"]
    reply = [post(client, "answers", rated(item, value=1)).json() for item in (gold, data)]
    assert reply[0] == reply[1] == {"outcome": "kept"}
    before, after = 10, items(client)["progress"]["answered"]
    assert after == before + 2  # both count for what the page shows


def test_a_page_that_was_logged_in_again_gets_a_token_that_works(client, enrolment):
    client.handler.enforce_csrf_checks = True
    token = client.get(f"{URL}token/").json()
    assert token["enrolment"] == enrolment.pk
    sent = client.post(
        f"{URL}items/", "{}", content_type="application/json", headers={"X-CSRFToken": token["token"]}
    )
    assert sent.status_code == 200
    assert client.post(f"{URL}items/", "{}", content_type="application/json").status_code == 403


def test_a_page_that_was_open_before_an_upgrade_can_still_send_its_answer(client, enrolment):
    old_url = URL.replace("/annotate/", "/desk/")
    (item,) = items(client, wanted=1)["items"]
    assert post(client, "answers", rated(item), url=old_url).json() == {"outcome": "kept"}
    assert client.get(f"{old_url}token/").json()["desk"] == enrolment.pk


def test_a_stranger_learns_nothing_but_that_they_do_not_take_part(client, study):
    client.force_login(factories.user())
    for endpoint in ("items", "answers", "skips", "corrections"):
        answer = post(client, endpoint, {})
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert client.get(f"{URL}last/").status_code == client.get(f"{URL}token/").status_code == 404


def test_somebody_who_was_blocked_gets_no_more_and_what_they_were_answering_is_kept(client, enrolment):
    first, second = items(client)["items"][:2]
    enrolments.block(enrolment=enrolment, by=factories.user("lead"))
    given = post(client, "items", {}).json()
    assert (given["state"], given["items"]) == ("blocked", []), "so that the page goes where it is told why"
    assert post(client, "answers", rated(first)).json()["outcome"] == "kept"
    assert Response.objects.count() == 1
    skipped = {"unit": second["unit"], "client_key": second["client_key"], "reason": "other"}
    assert post(client, "skips", skipped).status_code == 403
    (own,) = client.get(f"{URL}last/").json()["answers"]
    correction = {**rated(first), "client_key": own["item"]["client_key"]}
    assert post(client, "corrections", correction).status_code == 403
    assert Response.objects.count() == 1


def test_who_becomes_a_lead_gets_no_more_items(client, enrolment, study):
    study.leads.add(enrolment.annotator.user)
    assert items(client)["state"] == "blocked"
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_items_and_answers_ask_the_database_a_small_fixed_number_of_times(
    client, enrolment, study, django_assert_num_queries
):
    for number in range(40):
        factories.attribute_unit(study.tasks.get(), f"word {number}")
    items(client)
    trips_are_dear = connection.vendor == "postgresql"  # there some are made together
    with django_assert_num_queries(7 if trips_are_dear else 8):
        items(client)  # things in hand; two of these begin and end a transaction
    first = items(client)["items"][0]
    with django_assert_num_queries(8 if trips_are_dear else 11):
        post(client, "answers", rated(first))


@pytest.mark.parametrize("endpoint", ["answers", "skips"])
def test_a_reason_of_many_lines_is_counted_as_a_text_box_counts_it(client, enrolment, endpoint):
    (item,) = items(client, wanted=1)["items"]
    reason = "why\r\n" * 500
    body = rated(item, value=3, justification=reason)
    if endpoint == "skips":
        body = {"unit": item["unit"], "client_key": item["client_key"], "reason": "other", "note": reason}
    assert post(client, endpoint, body).status_code == 200
    kept = Judgement.objects.get().justification if endpoint == "answers" else Skip.objects.get().note
    assert kept == ("why\n" * 500).strip()
    assert (
        post(
            client, endpoint, {**rated(item, value=3, justification="x" * 2001), "note": "x" * 2001}
        ).status_code
        == 400
    )


def test_a_text_may_be_as_long_as_is_said_and_a_box_has_four_numbers():
    assert request_body.text({"note": "x" * 5}, "note", maximum=5) == "x" * 5
    with pytest.raises(RequestRefused, match="at most 4"):
        request_body.text({"note": "x" * 5}, "note", maximum=4)
    for corners in ([1, 2, 3], [1, 2, 3, 4, 5]):
        with pytest.raises(RequestRefused, match="four numbers"):
            request_body.answers({"answers": [{"option": 1, "value": 1, "position": 1, "boxes": [corners]}]})


def test_numbers_and_lists_are_within_their_limits():
    assert request_body.integer({"n": 5}, "n", minimum=5, maximum=5) == 5
    keys = [str(uuid4())] * 1000
    assert len(request_body.uuids({"have": keys}, "have")) == 1000
    answer = {"option": 1, "value": 1, "position": 1}
    for refused in (
        lambda: request_body.integer({"n": 5}, "n", minimum=6),
        lambda: request_body.integer({"n": 5}, "n", maximum=4),
        lambda: request_body.uuids({"have": [*keys, keys[0]]}, "have"),
        *(
            partial(request_body.answers, {"answers": [{**answer, **more}]})
            for more in (
                {"option": 0},
                {"value": 1001},
                {"value": -1001},
                {"position": 201},
                {"boxes": [[True, 0, 1, 1]]},
                {"boxes": [[0, 0, 1e9, 1]]},
            )
        ),
    ):
        with pytest.raises(RequestRefused):
            refused()


def test_times_that_cannot_be_are_as_if_they_were_not_sent():
    now = timezone.now()
    sent = {"active_ms": -1, "idle_ms": float("inf"), "started_at": (now - timedelta(days=31)).isoformat()}
    assert request_body.times(sent) == dict.fromkeys(sent)
    sent = {"active_ms": True, "started_at": now.replace(tzinfo=None).isoformat()}
    assert request_body.times(sent) == {**dict.fromkeys(sent), "idle_ms": None}
    day = 24 * 60 * 60 * 1000
    begun = now - timedelta(days=29)
    sent = {"active_ms": 0, "idle_ms": day + 1, "started_at": begun.isoformat()}
    assert request_body.times(sent) == {"active_ms": 0, "idle_ms": day, "started_at": begun}
