"""Annotator-level data through the API: at once, in the background, and a page at a time."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest
from django.utils import timezone

from annotation.exports.services import jobs as export_jobs
from annotation.models import AuditEvent, ExportJob, Judgement, Response
from tests import factories
from tests.annotation.api.calls import Program, documented, is_problem

pytestmark = pytest.mark.django_db
STUDY = "studies/words"


@pytest.fixture
def admin():
    return factories.user("admin", admin=True)


@pytest.fixture
def study():
    study = factories.rating_study(name="words")
    for unit in study.tasks.get().units.all():
        for value in (5, 4, 1):
            factories.response(unit, values=[value], who=factories.annotator(), justification="=1+1")
    return study


@pytest.fixture
def program(admin, study, tmp_path, settings):
    settings.VAR_DIR = tmp_path
    return Program(admin)


def everything(program, path):
    rows, address = [], path
    while address:
        one = program.get(address.partition("/api/v1/")[2] or address).json()
        rows += one["results"]
        address = one["next"]
    return rows


def test_judgements_a_page_at_a_time_are_the_whole_study(program):
    rows = everything(program, f"{STUDY}/judgements?limit=4")
    assert [row["response"] for row in rows] == list(
        Response.objects.order_by("pk").values_list("pk", flat=True)
    )
    first = rows[0]
    assert (first["task"], first["attribute"], first["value"], first["label"]) == (
        "visual_nature",
        "sombrero",
        5,
        "Strongly agree",
    )
    assert first["justification"] == "=1+1", "JSON is as it was written"
    assert first["boxes"] == []
    assert first["annotator"]


def test_what_was_withdrawn_is_not_there(program):
    gone = Response.objects.first()
    Response.objects.filter(pk=gone.pk).update(withdrawn_at=timezone.now())
    rows = everything(program, f"{STUDY}/judgements")
    assert len(rows) == 8
    assert gone.pk not in {row["response"] for row in rows}


def test_every_page_is_noted_with_who_took_it(program, admin):
    everything(program, f"{STUDY}/judgements?limit=5&task=visual_nature")
    events = AuditEvent.objects.filter(what="judgements read").order_by("pk")
    assert [event.details["rows"] for event in events] == [5, 4]
    assert {event.by for event in events} == {admin}
    assert events[0].details["filters"] == {"task": "visual_nature"}
    numbers = list(Judgement.objects.order_by("pk").values_list("pk", flat=True))
    ends = [(event.details["first"], event.details["last"]) for event in events]
    assert ends == [(numbers[0], numbers[4]), (numbers[5], numbers[8])]
    rows = program.get(f"{STUDY}/judgements?limit=2&order=-id").json()["results"]
    assert [row["response"] for row in rows] == list(
        Response.objects.order_by("-pk").values_list("pk", flat=True)[:2]
    )
    newest = AuditEvent.objects.latest("pk").details
    assert newest == {"rows": 2, "first": numbers[7], "last": numbers[8]}


@pytest.mark.parametrize(
    "query",
    ["task=depiction", "stratum=nobody", "group=Nobody", "since=2026-02-01&until=2026-01-01", "pool=x"],
)
def test_a_filter_that_there_is_not_is_refused(program, query):
    wanted = 400 if query == "pool=x" else 422  # of the others, each could be in another study
    is_problem(program.get(f"{STUDY}/judgements?{query}"), wanted)
    is_problem(program.get(f"{STUDY}/export?format=csv&{query}"), wanted)
    assert not AuditEvent.objects.filter(what__in=["export", "judgements read"]).exists()


def test_pages_of_judgements_cost_the_same_number_of_queries(program, django_assert_max_num_queries):
    program.get(f"{STUDY}/judgements?limit=1")
    with django_assert_max_num_queries(11):
        program.get(f"{STUDY}/judgements?limit=9")


def test_an_export_at_once(program, admin):
    answer = program.get(f"{STUDY}/export?format=crowdkit", Accept="application/zip")
    assert answer.status_code == 200
    assert 'filename="words-crowdkit.zip"' in answer["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert "README.md" in archive.namelist()
    assert AuditEvent.objects.get(what="export").by == admin
    said = is_problem(program.get(f"{STUDY}/export"), 400)
    assert said["errors"][0]["parameter"] == "format"
    is_problem(program.get(f"{STUDY}/export?format=word"), 400)


def test_an_export_in_the_background(program, admin):
    asked = program.post(f"{STUDY}/exports", {"format": "csv", "task": "visual_nature"})
    assert asked.status_code == 202
    job = asked.json()
    assert (job["state"], job["has_file"], job["filters"]) == ("pending", False, {"task": "visual_nature"})
    path = f"{STUDY}/exports/{job['id']}"
    is_problem(program.get(f"{path}/file"), 409)
    assert program.post(f"{STUDY}/exports", {"format": "csv", "task": "visual_nature"}).json() == job
    assert export_jobs.make_pending() == 1
    done = program.get(path).json()
    assert (done["state"], done["rows"], done["has_file"]) == ("done", 9, True)
    answer = program.get(f"{path}/file")
    assert 'filename="words-csv.zip"' in answer["Content-Disposition"]
    content = b"".join(answer.streaming_content)
    assert (len(content), hashlib.sha256(content).hexdigest()) == (done["size"], done["sha256"])
    assert [one["id"] for one in program.get(f"{STUDY}/exports?state=done").json()["results"]] == [job["id"]]
    assert is_problem(program.post(f"{path}/retry"), 409)["state"] == "done"
    assert program("DELETE", path).status_code == 204
    is_problem(program.get(path), 404)
    assert not ExportJob.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"format": "word"}, 400),
        ({"format": "csv", "by": 1}, 400),
        ({"format": "csv", "since": "yesterday"}, 400),
        ({"format": "csv", "stratum": "nobody"}, 422),
        ({"format": "coco", "task": "visual_nature"}, 422),
    ],
)
def test_an_export_that_cannot_be_made_is_not_begun(program, body, status):
    is_problem(program.post(f"{STUDY}/exports", body), status)
    assert not ExportJob.objects.exists()


def test_another_admins_export_is_not_there(program, study):
    other = factories.user("other", admin=True)
    job = ExportJob.objects.create(study=study, by=other, format="csv")
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "/file")):
        is_problem(program(method, f"{STUDY}/exports/{job.pk}{path}"), 404)
    assert program.get(f"{STUDY}/exports").json()["results"] == []
    assert ExportJob.objects.exists()


def test_formats_say_what_they_are_for(program):
    formats = {one["name"]: one for one in program.get("export-formats").json()["formats"]}
    assert formats["crowdkit"]["use"]
    assert formats["parquet"]["media_type"] == "application/vnd.apache.parquet"


def test_a_file_comes_as_what_it_is_and_as_plain_bytes_to_who_knows_no_other(program):
    asked = f"{STUDY}/export?format=crowdkit"
    for accepted, kind in (
        ("*/*", "application/zip"),
        ("application/octet-stream, application/zip", "application/zip"),
        ("application/json", "application/zip"),
        ("application/octet-stream", "application/octet-stream"),
        ("application/octet-stream, application/problem+json", "application/octet-stream"),
    ):
        answer = program.get(asked, Accept=accepted)
        assert (answer.status_code, answer["Content-Type"]) == (200, kind)
        assert "Accept" in answer["Vary"]
        assert zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))).testzip() is None
    is_problem(program.get(f"{STUDY}/export?format=nothing", Accept="application/octet-stream"), 400)


def test_the_schema_names_plain_bytes_wherever_a_file_is_sent_or_comes():
    """Clients made from it leave out what has no kind that they know, or read a picture as text."""
    files = 0
    for address, methods in documented()["paths"].items():
        for method, operation in methods.items():
            contents = [each.get("content", {}) for each in operation["responses"].values()]
            contents.append(operation.get("requestBody", {}).get("content", {}))
            for content in contents:
                binary = [kind for kind, one in content.items() if one["schema"].get("format") == "binary"]
                assert not binary or "application/octet-stream" in binary, f"{method} {address}"
                files += bool(binary)
    assert files == 17
