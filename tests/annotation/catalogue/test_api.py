"""What is studied, what is asked, and what was done, through the API."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
import yaml
from django.core.management import call_command
from drf_spectacular import validation
from drf_spectacular.generators import SchemaGenerator

from annotation.api import docs
from annotation.models import AuditEvent, IdentityGroup, SlotState
from tests import factories
from tests.annotation.api.calls import Program, documented, is_problem
from tests.annotation.studies import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(factories.user("admin", admin=True))


def names(answer, key="name"):
    assert answer.status_code == 200, answer.content
    return [one[key] for one in answer.json()["results"]]


def test_groups_attributes_and_associations(program):
    world.resource()
    IdentityGroup.objects.filter(name="Mexican").update(singular="Mexican person", article="a")
    assert names(program.get("identity-groups")) == ["French", "Mexican", "Nepali"]
    assert names(program.get("identity-groups?region=Europe")) == ["French"]
    assert names(program.get("identity-groups?name=Nepali&axis=nationality")) == ["Nepali"]
    assert names(program.get("attributes?contains=PO"), "text") == ["poncho", "poor"]
    assert names(program.get("sources")) == ["votes"]
    factories.association(group_name="Welsh", text="rugby", from_source=factories.source("another"))
    assert names(program.get("identity-groups?source=another")) == ["Welsh"]
    assert names(program.get("attributes?source=another"), "text") == ["rugby"]
    asked = program.get("associations?source=votes&group=Mexican&attribute=sombrero")
    (one,) = asked.json()["results"]
    assert (one["group"], one["attribute"], one["out_stereotypical"]) == ("Mexican", "sombrero", 3)
    group = program.get(f"identity-groups/{one['group_id']}").json()
    assert (group["name"], group["region"]) == ("Mexican", "Latin America")
    assert [group[form] for form in ("article", "singular", "plural")] == ["a", "Mexican person", ""]


@pytest.mark.parametrize(
    ("path", "most"), [("identity-groups", 2), ("attributes", 2), ("associations", 2), ("sources", 2)]
)
def test_lists_of_the_catalogue_cost_two_queries(program, path, most, django_assert_max_num_queries):
    world.resource()
    program.get(path)
    with django_assert_max_num_queries(most):
        assert len(program.get(path).json()["results"]) >= 1


def test_tasks_and_units_with_how_far_they_are(program, django_assert_max_num_queries):
    study = factories.rating_study(name="words")
    unit = study.tasks.get().units.first()
    factories.response(unit)
    unit.slots.filter(state=SlotState.OPEN).first()
    (task,) = program.get("studies/words/tasks").json()["results"]
    assert (task["kind"], task["overlap"], task["image_set"]) == ("visual_nature", 3, None)
    assert program.get(f"studies/words/tasks/{task['id']}").json() == task
    with django_assert_max_num_queries(7):
        rows = program.get("studies/words/units?task=visual_nature&purpose=data").json()["results"]
    assert [(row["stimulus"], row["wanted"], row["filled"]) for row in rows] == [
        ("sombrero", 3, 1),
        ("kind", 3, 0),
        ("poor", 3, 0),
    ]
    assert rows[0]["options"][0]["attribute"] == "sombrero"
    assert program.get(f"studies/words/units/{rows[0]['id']}").json() == rows[0]
    assert program.get("studies/words/units?purpose=gold").json()["results"] == []


def test_the_audit_trail_by_kind_study_and_time(program):
    study = factories.study("words")
    first = AuditEvent.objects.create(what="export", study=study, details={"format": "csv"})
    AuditEvent.objects.create(what="withdrawal", study=study)
    AuditEvent.objects.create(what="export")
    found = program.get("audit-events?what=export&study=words").json()["results"]
    assert [(one["id"], one["by"], one["details"]) for one in found] == [(first.pk, None, {"format": "csv"})]
    assert program.get("audit-events?until=2020-01-01T00:00:00Z").json()["results"] == []
    is_problem(program.get("audit-events?since=then"), 400)
    assert len(program.get("audit-events?since=2020-01-01T00:00:00Z").json()["results"]) == 4


def test_who_am_i(program, client):
    said = program.get("account").json()
    assert (said["username"], said["admin"], said["token"]["scopes"]) == (
        "admin",
        True,
        ["read", "manage", "annotate", "export", "accounts"],
    )
    assert "digest" not in str(said)
    assert said["creates_studies"] is True
    client.force_login(factories.user("plain"))
    said = client.get("/api/v1/account").json()
    assert (said["admin"], said["creates_studies"], said["token"]) == (False, False, None)


def test_the_schema_is_generated_without_a_warning(tmp_path, monkeypatch):
    # written in Rust: the command's own takes as long as a minute of pages
    monkeypatch.setattr(
        validation.jsonschema,
        "validate",
        lambda *, instance, schema: jsonschema_rs.validate(schema, instance),
    )
    file = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    assert "openapi: 3.1.0" in file.read_text()


def test_every_operation_says_what_it_does_and_what_it_needs():
    operations = [
        (path, method, operation)
        for path, methods in documented()["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    assert len(operations) > 60
    for path, method, operation in operations:
        assert operation.get("description"), (path, method)
        answers = operation["responses"]
        assert "application/problem+json" in answers["429"]["content"], (path, method)
        kept = method == "get" and "200" in answers
        assert ("ETag" in answers.get("200", {}).get("headers", {})) == ("304" in answers) == kept, path
        assert ("413" in answers) >= ("requestBody" in operation), (path, method)
    identities = [operation["operationId"] for _, _, operation in operations]
    assert len(set(identities)) == len(identities)


def test_the_schema_is_made_once_for_each_language_and_written_once_for_each_format(client, monkeypatch):
    client.force_login(factories.user("plain"))
    docs._rendered.cache_clear()
    docs._schema.cache_clear()
    times: list[object] = []
    make = SchemaGenerator.get_schema
    monkeypatch.setattr(
        SchemaGenerator, "get_schema", lambda *args, **kwargs: times.append(args) or make(*args, **kwargs)
    )
    formats = ("application/vnd.oai.openapi", "application/json")
    first = [client.get("/api/v1/schema?lang=es", headers={"Accept": kind}) for kind in formats]
    assert [answer["Content-Type"] for answer in first] == list(formats)
    assert json.loads(first[1].content) == yaml.load(first[0].content, Loader=yaml.CSafeLoader)

    def again(*args, **kwargs):
        raise AssertionError("made again")

    assert len(times) == 1, "in both formats it is the same"
    monkeypatch.setattr(docs, "_schema", again)
    second = [client.get("/api/v1/schema?lang=es", headers={"Accept": kind}) for kind in formats]
    assert [answer.content for answer in second] == [answer.content for answer in first]
    # a language there is not is that of the program, however many are made up
    monkeypatch.undo()
    unknown = client.get("/api/v1/schema?lang=tlh", headers={"Accept": formats[1]})
    assert unknown.content == client.get("/api/v1/schema?lang=en", headers={"Accept": formats[1]}).content


def test_the_documentation_page_loads_no_script_from_elsewhere_and_none_inline(client):
    assert client.get("/api/v1/docs").status_code == 302
    client.force_login(factories.user("plain"))
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    assert "<style" not in page.text
    assert "style=" not in page.text
    assert page.text.count("<script") == page.text.count("<script src=") == 2
    assert "http://" not in page.text
    assert "https://" not in page.text
    script = client.get("/api/v1/docs?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert "'self'" in page["Content-Security-Policy"]
    assert "unsafe" not in page["Content-Security-Policy"]
