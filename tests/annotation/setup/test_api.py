"""Studies through the API: made of a file, changed, opened, read back."""

from __future__ import annotations

import json
import tomllib

import pytest

from annotation.models import AuditEvent, Study, StudyStatus
from annotation.setup import services as setup_services
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.annotation.studies import world

pytestmark = pytest.mark.django_db

DOCUMENT = {
    "name": "words",
    "title": "Which words are visual?",
    "contact": "studies@example.org",
    "consent": {"text": "What taking part means."},
    "tasks": [{"kind": "visual_nature", "attributes": ["hat", "kind"], "strata": ["any", "any"]}],
}


@pytest.fixture
def maker():
    user = factories.user("maker", lead=True)
    return type(user).objects.get(pk=user.pk)


@pytest.fixture
def program(maker):
    return Program(maker)


@pytest.fixture
def made(program):
    assert program.post("studies", DOCUMENT).status_code == 201
    return program


def test_a_study_is_made_of_json(program, maker):
    answer = program.post("studies", DOCUMENT)
    assert answer.status_code == 201
    said = answer.json()
    assert (said["outcome"], said["units"], said["slots"]) == ("made", 2, 4)
    assert said["study"]["leads"] == ["maker"]
    assert Study.objects.get(name="words").status == StudyStatus.DRAFT
    again = program.post("studies", DOCUMENT)
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")


def test_a_study_is_made_of_a_file_and_read_back(program):
    world.resource()
    world.pictures()
    world.rated()
    factories.user("noor")
    factories.user("maria")
    admin = Program(factories.user("admin", admin=True))
    made = admin.client.post(
        "/api/v1/studies",
        world.EVERY_KEY.encode(),
        content_type="application/toml",
        headers={"Authorization": f"Bearer {admin.secret}"},
    )
    assert made.status_code == 201, made.content
    answer = admin.get("studies/whole/setup.toml", Accept="application/toml")
    assert answer["Content-Type"] == "application/toml; charset=utf-8"
    file = tomllib.loads(answer.text)
    assert file == admin.get("studies/whole/setup").json()
    assert file["questions"][0]["field"] == "diaspora"
    again = admin.client.put(
        "/api/v1/studies/whole/setup",
        answer.content,
        content_type="application/toml",
        headers={"Authorization": f"Bearer {admin.secret}"},
    )
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": None}, "name is missing"),
        ({"title": ""}, "title"),
        ({"surprise": 1}, "surprise"),
        ({"tasks": []}, "tasks"),
        ({"tasks": [{"kind": "telepathy"}]}, "telepathy"),
        ({"consent": None}, ""),
        ({"name": "Not A Slug"}, "lowercase letters"),
        ({"leads": ["admin"]}, "only an administrator"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_whole(program, change, words):
    factories.user("admin", admin=True)
    answer = program.post("studies", {**DOCUMENT, **change})
    said = is_problem(answer, 409 if "leads" in change else 422)
    assert words in said["detail"]
    assert not Study.objects.exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"x"', b"\xff", b"[" * 50_000, b'{"a": NaN}', b"null"])
def test_what_is_no_file_is_refused(program, body):
    answer = program.client.post(
        "/api/v1/studies",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {program.secret}"},
    )
    assert answer.status_code in (400, 422)
    is_problem(answer, answer.status_code)


def test_what_is_too_large_or_of_another_kind_is_refused(program):
    headers = {"Authorization": f"Bearer {program.secret}"}
    large = json.dumps({**DOCUMENT, "description": "x" * 3_000_000}).encode()
    answer = program.client.post("/api/v1/studies", large, content_type="application/json", headers=headers)
    is_problem(answer, 413)
    answer = program.client.post("/api/v1/studies", b"x", content_type="text/plain", headers=headers)
    is_problem(answer, 415)
    answer = program.client.post(
        "/api/v1/studies", b"= not", content_type="application/toml", headers=headers
    )
    is_problem(answer, 400)


def test_whoever_may_not_set_up_studies_makes_none():
    is_problem(Program(factories.user()).post("studies", DOCUMENT), 403)
    assert not Study.objects.exists()


def test_another_teams_study_is_not_taken_over(program):
    factories.study("words", status=StudyStatus.DRAFT, leads=[factories.user("other")])
    is_problem(program.post("studies", DOCUMENT), 409)
    assert Study.objects.get().title == "words"


def test_a_draft_follows_its_changed_file(made):
    before = made.get("studies/words/setup")
    document = before.json()
    document["tasks"][0]["attributes"] = ["hat", "kind", "poor"]
    answer = made("PUT", "studies/words/setup", document, **{"If-Match": before["ETag"]})
    assert (answer.status_code, answer.json()["outcome"], answer.json()["units"]) == (200, "remade", 3)
    now = made.get("studies/words/setup")
    assert now["ETag"] == answer["ETag"] != before["ETag"]


def test_a_change_that_would_undo_that_of_another_is_refused(made, maker):
    """Two read the same; whoever is second is told."""
    etag = made.get("studies/words/setup")["ETag"]
    first, second = ({**DOCUMENT, "title": title} for title in ("First", "Second"))
    assert made("PUT", "studies/words/setup", first, **{"If-Match": etag}).status_code == 200
    is_problem(made("PUT", "studies/words/setup", second, **{"If-Match": etag}), 412)
    assert Study.objects.get().title == "First"
    assert made("PUT", "studies/words/setup", second, **{"If-Match": "*"}).status_code == 200
    assert made("PUT", "studies/words/setup", first).status_code == 200


def test_a_study_keeps_its_name(made):
    is_problem(made("PUT", "studies/words/setup", {**DOCUMENT, "name": "other"}), 422)


def test_what_people_were_asked_does_not_change(made):
    assert made.post("studies/words/status", {"status": "open"}).status_code == 200
    is_problem(made("PUT", "studies/words/setup", {**DOCUMENT, "title": "Another"}), 409)
    assert Study.objects.get().title == DOCUMENT["title"]


def test_a_study_goes_from_draft_to_closed(made, maker):
    for status in ("open", "open", "paused", "open", "closed"):
        answer = made.post("studies/words/status", {"status": status})
        assert (answer.status_code, answer.json()["status"]) == (200, status)
    said = is_problem(made.post("studies/words/status", {"status": "open"}), 409)
    assert "A closed study cannot be reopened." in said["detail"]
    assert setup_services.documents(user=maker) == {}, "what was set up is open: nothing is kept on the pages"
    events = Study.objects.get().audit_events.order_by("pk")
    assert list(events.values_list("what", "by")) == [
        (f"study {what}", maker.pk) for what in ("made from a file", "opened", "paused", "resumed", "closed")
    ]


@pytest.mark.parametrize("body", [{}, {"status": "draft"}, {"status": "open", "title": "x"}, {"to": "open"}])
def test_a_move_that_there_is_not_moves_nothing(made, body):
    is_problem(made.post("studies/words/status", body), 400)
    assert Study.objects.get().status == StudyStatus.DRAFT


def test_moving_a_study_that_was_moved_meanwhile_is_refused(made):
    etag = made.get("studies/words")["ETag"]
    made.post("studies/words/status", {"status": "open"})
    answer = made.post("studies/words/status", {"status": "closed"}, **{"If-Match": etag})
    is_problem(answer, 412)
    assert Study.objects.get().status == StudyStatus.OPEN


def test_a_lead_without_the_right_to_set_up_does_not_open_a_draft():
    lead = factories.user("lead")
    study = factories.rating_study(name="words", status=StudyStatus.DRAFT, leads=[lead])
    is_problem(Program(lead).post("studies/words/status", {"status": "open"}), 403)
    is_problem(Program(lead)("PUT", "studies/words/setup", DOCUMENT), 403)
    study.refresh_from_db()
    assert study.status == StudyStatus.DRAFT


def test_a_lead_without_the_right_to_set_up_pauses_what_is_open_and_is_told_why_it_stays():
    lead = factories.user("lead")
    factories.rating_study(name="words", leads=[lead])
    assert Program(lead).post("studies/words/status", {"status": "paused"}).status_code == 200
    is_problem(Program(lead)("PUT", "studies/words/setup", DOCUMENT), 409)
    setup_services.save(user=lead, name="kept", document={})
    is_problem(Program(lead)("DELETE", "studies/kept/setup"), 404)


def test_what_is_kept_on_the_pages_can_be_discarded(made, maker):
    assert "words" in setup_services.documents(user=maker)
    assert made("DELETE", "studies/words/setup").status_code == 204
    assert setup_services.documents(user=maker) == {}
    is_problem(made("DELETE", "studies/words/setup"), 404)
    assert Study.objects.filter(name="words").exists()


def test_whether_a_study_can_be_filled(made):
    said = made.get("studies/words/feasibility").json()
    assert (said["people"], said["feasible"]) == (0, False)
    assert said["rates"] == [
        {
            "task": "visual_nature",
            "stratum": "any",
            "wanted": 4,
            "filled": 0,
            "leased": 0,
            "open": 4,
            "people": 0,
        }
    ]


def test_who_made_a_study_is_in_the_audit_trail(made, maker):
    assert AuditEvent.objects.filter(study__name="words").exists()
