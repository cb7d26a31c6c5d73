"""*Try it as an annotator*: what an annotator gets, by the same rules, and nothing of it is stored."""

from __future__ import annotations

import json
import re
from uuid import UUID

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.annotate.services import items as annotators_items
from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer
from annotation.annotate.services.trying import _answers_before
from annotation.assignment import lease_keys
from annotation.models import EnrolmentStatus, Option, Purpose, StudyStatus, TaskKind, Unit
from tests import factories
from tests.annotation.annotate.accepted import rated

pytestmark = pytest.mark.django_db
URL = "/studies/words/try/"
KINDS = [TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS, TaskKind.ASSOCIATION]


def every_kind():
    """A lead, and their study with every kind of task, practice and gold items."""
    lead = factories.user("lead")
    made = factories.rating_study(
        name="words", texts=["sombrero", "kind", "poor", "tall"], leads=[lead], break_after=20, gold_rate=0.25
    )
    rating = made.tasks.get()
    for purpose, text in [(Purpose.TRAINING, "hat"), (Purpose.GOLD, "crown"), (Purpose.GOLD, "scarf")]:
        check = factories.attribute_unit(rating, text, purpose=purpose, feedback=f"About {text}.")
        check.slots.all().delete()
        check.options.update(expected=[4, 5])
    picture = factories.image()
    picture.sha256 = "0" * 64
    picture.file.save("a.png", ContentFile(b"png"))
    images = factories.task(
        made, kind=TaskKind.DEPICTION, image_set=picture.image_set, wording="What is here?"
    )
    for page in (1, 2):
        factories.page_unit(images, picture=picture, page=page, texts=[f"{word} {page}" for word in "abcd"])
    for kind in KINDS:
        task = factories.task(made, kind=kind, wording=f"{kind}: [id] are [attr].")
        of = factories.association(text=f"word of {kind}")
        unit = Unit.objects.create(task=task, position=1, association=of)
        Option.objects.create(unit=unit, attribute=of.attribute, position=1)
        factories.open_slots(unit)
    return lead, made


@pytest.fixture(scope="module")
def made(once):
    return once(every_kind)


@pytest.fixture
def both(made, db, tmp_path):
    return made.copied(tmp_path)


@pytest.fixture
def lead(both):
    return both[0]


@pytest.fixture
def study(both):
    return both[1]


@pytest.fixture
def trying(client, lead, study):
    client.force_login(lead)
    return client


def contents():
    """Every row of every table of the annotation app."""
    return {
        model._meta.label: list(model.objects.order_by("pk").values())
        for model in apps.get_app_config("annotation").get_models(include_auto_created=True)
    }


def post(client, endpoint, body, *, query=""):
    return client.post(f"{URL}{endpoint}/{query}", json.dumps(body), content_type="application/json")


def go_through(client, *, query=""):
    """All items in the order in which they are given, three at a time, each answered as it comes."""
    seen, have, after = [], [], None
    while True:
        reply = post(client, "items", {"have": have, "after": after}, query=query).json()
        if reply["state"] == "done":
            return seen
        seen += reply["items"]
        have = [*have, *(item["client_key"] for item in reply["items"])]
        after = seen[-1]["client_key"]
        assert have[:1] == reply["held"][:1]
        item = next(item for item in seen if item["client_key"] == have[0])
        assert post(client, "answers", rated(item)).status_code == 200
        have = have[1:]


@pytest.mark.parametrize("status", StudyStatus.values)
def test_nothing_is_stored_of_a_try_of_every_kind_of_task(trying, study, lead, status):
    ends = timezone.now() if status == StudyStatus.CLOSED else None
    type(study).objects.update(status=status, closed_at=ends)
    before = contents()
    assert trying.get(URL).status_code == 200
    page = trying.get(f"{URL}annotate/")
    assert "Nothing is stored" in page.text
    found = go_through(trying)
    assert {item["kind"] for item in found} == set(TaskKind.values)
    for item in found:
        assert post(trying, "skips", {**rated(item), "reason": "upsetting", "note": "x"}).status_code == 200
        assert post(trying, "corrections", rated(item)).status_code == 200
    assert trying.get(f"{URL}token/").json()["enrolment"] == f"try-{study.pk}-{lead.pk}"
    item = found[0]
    plain = {"unit": item["unit"], "client_key": item["client_key"], "value": 5}
    assert trying.post(f"{URL}annotate/", plain).status_code == 303
    assert trying.post(f"{URL}annotate/", {**plain, "value": ""}).status_code == 422
    assert trying.get(f"{URL}end/").status_code == trying.post(f"{URL}end/").status_code == 200
    assert contents() == before


def test_the_order_is_an_annotators(trying, study):
    found = go_through(trying)
    who = factories.enrolment(study, consented=True)
    who.status = EnrolmentStatus.TRAINING
    who.save()
    expected = []
    while (given := annotators_items.next_items(enrolment=who, wanted=3)).state == "items":
        item = given.items[0]
        expected.append(item)
        unit = Unit.objects.get(pk=item.unit_id)
        options = list(unit.options.order_by("position"))
        lowest = {TaskKind.VISUAL_NATURE: 5, TaskKind.DEPICTION: 0}.get(unit.task.kind, 1)
        values = [lowest] * len(options)
        if unit.task.kind == TaskKind.DEPICTION:
            values[-1] = 1  # none of the above
        responses.submit(
            enrolment=who,
            unit_id=unit.pk,
            client_key=item.client_key,
            answers=[
                Answer(option_id=option.pk, value=value, position=position)
                for position, (option, value) in enumerate(zip(options, values, strict=True), start=1)
            ],
        )
    purposes = dict(Unit.objects.values_list("pk", "purpose"))
    assert [purposes[item["unit"]] for item in found] == [purposes[item.unit_id] for item in expected]
    data = [item["unit"] for item in found if purposes[item["unit"]] == Purpose.DATA]
    assert data == [item.unit_id for item in expected if purposes[item.unit_id] == Purpose.DATA]
    # training first, and only it is called so
    assert [item["training"] for item in found] == [True] + [False] * (len(found) - 1)


@pytest.mark.parametrize("rate", [0.01, 0.07, 0.1, 0.15, 0.3, 1 / 3, 0.7, 1.0])
def test_as_many_answers_come_before_a_check_as_for_an_annotator(rate):
    for number in range(1, 200):
        answers = _answers_before(number, rate=rate)
        assert answers * rate >= number > (answers - 1) * rate


def test_one_kind_of_task_can_be_tried_alone(trying):
    page = trying.get(URL).text
    assert f"{URL}annotate/?task=depiction" in page
    found = go_through(trying, query="?task=depiction")
    assert [item["page"] for item in found] == [1, 2]
    config = trying.get(f"{URL}annotate/?task=depiction").context["config"]
    assert (config["total"], config["draws"]) == (2, True)
    assert config["urls"]["items"] == f"{URL}items/?task=depiction"
    second = trying.get(f"{URL}annotate/?task=depiction&after={found[0]['client_key']}")
    assert second.context["progress"].answered == 1
    assert not trying.get(f"{URL}annotate/?task=visual_nature").context["config"]["draws"]
    assert trying.get(f"{URL}annotate/?task=nonsense").status_code == 404


def test_two_versions_of_a_task_are_one_kind(trying, study):
    factories.task(study, kind=TaskKind.VISUAL_NATURE, version=2)
    page = trying.get(URL).text
    listed = ["visual_nature", "depiction", *(kind.value for kind in KINDS)]
    assert re.findall(rf"{URL}annotate/\?task=(\w+)", page) == listed
    assert trying.get("/").text.lower().count("visual nature of an attribute") == 1


def test_a_wrong_answer_is_refused_as_for_an_annotator(trying, study, client):
    page = next(item for item in go_through(trying) if item["kind"] == TaskKind.DEPICTION)
    empty = rated(page, 0, boxes=[])
    for judgement in empty["answers"]:
        judgement["value"] = 0
    without_box = rated(page, boxes=[])
    words = next(item for item in go_through(trying) if item["kind"] == TaskKind.VISUAL_NATURE)
    for body, text in [
        (empty, "Nothing is chosen"),
        (without_box, "draw a box"),
        (rated(words, 3), "Please write in a few words why"),
        (rated(words, 99), "99"),
    ]:
        for endpoint in ("answers", "corrections"):
            reply = post(trying, endpoint, body)
            assert reply.status_code == 422
            assert text in reply.json()["error"]
            assert reply.json()["field"] == "answers"
    assert post(trying, "skips", {**rated(words), "reason": "dull"}).status_code == 422
    assert post(trying, "skips", {**rated(words), "reason": "other", "note": "x" * 2001}).status_code == 400
    assert post(trying, "answers", {"unit": 1}).json()["field"] == "client_key"
    assert trying.post(f"{URL}answers/", "no json", content_type="application/json").status_code == 400


def test_practice_gets_feedback_and_gold_does_not(trying):
    found = go_through(trying)
    practice = found[0]
    assert post(trying, "answers", rated(practice)).json() == {
        "outcome": "kept",
        "correct": True,
        "feedback": "About hat.",
    }
    assert not post(trying, "answers", rated(practice, 1)).json()["correct"]
    gold = next(item for item in found if item["attribute"] in {"crown", "scarf"})
    assert post(trying, "answers", rated(gold, 1)).json() == {"outcome": "kept"}


def test_neither_gold_without_a_rate_nor_what_only_a_machine_judges_is_shown(trying, study):
    type(study).objects.update(gold_rate=0)
    factories.attribute_unit(study.tasks.get(kind=TaskKind.VISUAL_NATURE), "flag").slots.all().delete()
    items = post(trying, "items", {"wanted": 9}, query="?task=visual_nature").json()["items"]
    assert [item["attribute"] for item in items] == ["hat", "sombrero", "kind", "poor", "tall"]


def test_an_answer_brings_the_next_items(trying):
    first = post(trying, "items", {}).json()["items"]
    keys = [item["client_key"] for item in first]
    body = {**rated(first[0]), "after": keys[-1], "next": {"have": keys[1:], "wanted": 3}}
    following = post(trying, "answers", body).json()["next"]
    assert following["held"][:2] == keys[1:]
    assert len(following["items"]) == 1
    assert following["items"][0]["client_key"] not in keys
    # a page that has enough gets none, and a key of nobody's leads to no page of an error
    enough = post(trying, "items", {"have": keys, "wanted": 1}).json()
    assert (enough["held"], enough["items"]) == (keys, [])
    assert post(trying, "items", {"after": str(UUID(int=2**128 - 1))}).json()["state"] == "done"
    first_page = trying.get(f"{URL}annotate/?after=nonsense").context
    assert (first_page["item"]["client_key"], first_page["progress"].answered) == (keys[0], 0)
    assert first_page["form_url"] == f"{URL}annotate/"


def test_a_key_is_for_one_account_and_one_item_and_no_lease(trying, client, study):
    first, second = post(trying, "items", {}).json()["items"][:2]
    assert post(trying, "answers", {**rated(first), "client_key": second["client_key"]}).status_code == 403
    Option.objects.filter(unit=second["unit"]).delete()
    assert post(trying, "answers", rated(second)).status_code == 403, "it is gone"
    other = factories.user("other")
    study.leads.add(other)
    client.force_login(other)
    assert post(client, "answers", rated(first)).status_code == 403
    # not even for an annotator with the number of the account
    for number in range(1, 50):
        assert not lease_keys.was_issued(
            UUID(first["client_key"]), annotator_id=number, unit_id=first["unit"]
        )
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    real = client.post("/studies/words/annotate/answers/", json.dumps(rated(first)), "application/json")
    assert real.status_code == 403


ADDRESSES = ["", "annotate/", "end/", "token/"]


def test_annotators_and_other_teams_find_nothing(client, study):
    other = factories.user("other", lead=True)
    factories.study("another", leads=[other])
    amal = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    for who in (other, amal):
        client.force_login(who)
        assert [client.get(URL + address).status_code for address in ADDRESSES] == [404] * 4
        for endpoint in ("items", "answers", "skips", "corrections"):
            assert post(client, endpoint, {}).status_code == 404
        assert "Try it as an annotator" not in client.get("/studies/words/").text


def test_a_lead_finds_the_way_in_and_back(trying, study, lead):
    assert f'href="{URL}"' in trying.get("/studies/words/").text
    assert f'href="{URL}"' in trying.get("/studies/words/overview/").text
    assert trying.get(URL).context["wizard"] == "", "an open study is not set up"
    assert 'href="/studies/words/overview/"' in trying.get(URL).text
    type(study).objects.update(status=StudyStatus.DRAFT, opened_at=None)
    lead.user_permissions.set([*factories.user(lead=True).user_permissions.all()])
    assert 'href="/setup/words/open/"' in trying.get(f"{URL}annotate/").text


def test_without_items_or_a_consent_text_the_page_says_so(trying, lead):
    factories.study("bare", status=StudyStatus.DRAFT, leads=[lead])
    page = trying.get("/studies/bare/try/").text
    assert "no items yet" in page
    assert "no consent text yet" in page
    assert trying.get("/studies/bare/try/annotate/")["Location"] == "/studies/bare/try/end/"


def test_without_scripts_the_form_goes_from_item_to_item(trying):
    page = trying.get(f"{URL}annotate/?task=visual_nature")
    shown = []
    while page.status_code == 200:
        item = page.context["item"]
        shown.append(item["attribute"])
        sent = {"unit": item["unit"], "client_key": item["client_key"], "value": 4}
        page = trying.get(trying.post(page.context["form_url"], sent)["Location"])
    assert page["Location"] == f"{URL}end/"
    assert shown[0] == "hat"
    assert sorted(shown[1:]) in [
        sorted(["sombrero", "kind", "poor", "tall", gold]) for gold in ("crown", "scarf")
    ]


def test_the_number_of_queries_does_not_grow_with_the_study(trying, study):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            trying.get(f"{URL}annotate/")
            post(trying, "items", {})
        return len(queries)

    asked()
    few = asked()
    for number in range(20):
        factories.attribute_unit(study.tasks.get(kind=TaskKind.VISUAL_NATURE), f"more {number}")
    assert asked() == few
