"""The catalogue in the browser: found, read, and changed only while no study uses it."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.catalogue import queries, services
from annotation.catalogue.keyset import stretch
from annotation.imports import files
from annotation.models import Association, AuditEvent, CatalogueImport, Source
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.annotation.imports import release_files

pytestmark = [pytest.mark.django_db, pytest.mark.pages]


@pytest.fixture
def lead():
    return factories.user("lead", lead=True)


@pytest.fixture
def mine(lead):
    source = factories.source("mine")
    source.owner = lead
    source.save()
    return source


@pytest.fixture
def pairs(mine):
    factories.group("French", region="Europe")
    factories.group("Texan", axis="us_state", region="North America")
    made = {
        "hat": {"in_votes": (3, 0, 0), "out_votes": (1, 2, 0), "mean": -1.0},
        "poor": {"in_votes": (1, 2, 0), "out_votes": (3, 0, 0), "mean": 2.5},
    }
    for text, fields in made.items():
        factories.association(text=text, from_source=mine, **fields)
    factories.association(group_name="French", text="wine", in_votes=(None,) * 3, out_votes=None)
    factories.association(group_name="Texan", text="hat", out_votes=None)


def events():
    return AuditEvent.objects.filter(what__startswith="source").order_by("pk")


def found(filters):
    rows = queries.associations(filters).order_by("pk")
    return [f"{row.group.name}: {row.attribute.text}" for row in rows]


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({}, ["Mexican: hat", "Mexican: poor", "French: wine", "Texan: hat"]),
        ({"source": "mine"}, ["Mexican: hat", "Mexican: poor"]),
        ({"contains": "HA"}, ["Mexican: hat", "Texan: hat"]),
        ({"group_contains": "xa"}, ["Texan: hat"]),
        ({"region": "Europe"}, ["French: wine"]),
        ({"axis": "us_state"}, ["Texan: hat"]),
        ({"in_min": 3}, ["Mexican: hat"]),
        ({"in_min": 0}, ["Mexican: hat", "Mexican: poor", "Texan: hat"]),
        ({"out_min": 2}, ["Mexican: poor"]),
        ({"offensiveness_min": 0}, ["Mexican: poor"]),
        ({"offensiveness_max": 0.0}, ["Mexican: hat"]),
        ({"offensiveness_min": -1, "offensiveness_max": 4}, ["Mexican: hat", "Mexican: poor"]),
        ({"contains": "%"}, []),
    ],
)
def test_filters_are_the_same_on_the_page_and_in_the_api(client, lead, pairs, filters, wanted):
    assert found(filters) == wanted
    answer = Program(lead)(
        "GET", "associations?" + "&".join(f"{k}={v}" for k, v in filters.items()).replace("%", "%25")
    )
    assert [f"{row['group']}: {row['attribute']}" for row in answer.json()["results"]] == wanted
    client.force_login(lead)
    page = client.get("/catalogue/", filters)
    assert [f"{row.group.name}: {row.attribute.text}" for row in page.context["page"].rows] == wanted


def test_a_filter_that_cannot_be_is_told(client, lead, pairs):
    client.force_login(lead)
    page = client.get("/catalogue/?offensiveness_min=9&in_min=x&after=" + "9" * 30)
    assert page.status_code == 422
    assert set(page.context["form"].errors) == {"offensiveness_min", "in_min", "after"}
    is_problem(Program(lead).get("associations?in_min=-1"), 400)


def test_every_row_is_on_one_page_forwards_and_backwards(mine):
    texts = [f"a{number:02}" for number in range(7)]
    for text in texts:
        factories.attribute(text)
    rows = factories.Attribute.objects.all()
    first = stretch(rows, field="text", size=3)
    second = stretch(rows, field="text", size=3, after=first.after)
    third = stretch(rows, field="text", size=3, after=second.after)
    assert [row.text for part in (first, second, third) for row in part.rows] == texts
    assert (first.before, third.after) == (None, None)
    back = stretch(rows, field="text", size=3, before=third.before)
    assert [row.text for row in back.rows] == texts[3:6]
    start = stretch(rows, field="text", size=3, before=back.before)
    assert ([row.text for row in start.rows], start.before) == (texts[:3], None)
    gone = stretch(rows, field="text", size=3, after=10**9)
    assert [row.text for row in gone.rows] == texts[:3]


@pytest.mark.parametrize(
    ("path", "most"), [("", 8), ("groups/", 8), ("attributes/", 8), ("sources/", 6), ("imports/", 7)]
)
def test_a_page_asks_a_known_number_of_questions(
    client, lead, pairs, path, most, django_assert_max_num_queries
):
    client.force_login(lead)
    client.get(f"/catalogue/{path}")
    with django_assert_max_num_queries(most):
        assert client.get(f"/catalogue/{path}").status_code == 200


def test_pages_of_one_row_show_votes_and_say_where_nobody_was_asked(client, lead, pairs):
    client.force_login(lead)
    wine = Association.objects.get(attribute__text="wine")
    again = factories.association(group_name="French", text="wine", from_source=factories.source("again"))
    page = client.get(f"/catalogue/associations/{wine.pk}/").text
    assert "None" not in page
    assert f"/catalogue/associations/{again.pk}/" in page
    assert "Nobody rated it" in page
    group = client.get(f"/catalogue/groups/{wine.group_id}/")
    assert [row.pk for row in group.context["page"].rows] == [wine.pk, again.pk]
    assert "Content warning" in group.text


def test_a_source_in_use_is_only_superseded(client, lead, mine, pairs):
    newer, program = factories.source("newer"), Program(lead)
    study = factories.study("secret", title="A secret study")
    unit = factories.task(study, kind="prevalence")
    unit.units.create(position=1, association=mine.associations.first())
    client.force_login(lead)
    page = client.get("/catalogue/sources/mine/")
    assert (page.context["uses"].total, page.context["uses"].visible) == (1, ())
    assert "secret" not in page.text
    assert client.post("/catalogue/sources/mine/", {"title": "Other"}).status_code == 422
    client.post("/catalogue/sources/mine/delete/")
    is_problem(program("DELETE", "sources/mine"), 409)
    is_problem(program("PATCH", "sources/mine", {"title": "Other"}), 409)
    mine.refresh_from_db()
    assert (mine.title, mine.associations.count()) == ("mine", 2)
    assert program("PUT", "sources/mine/successor", {"by": "newer"}).json()["superseded_by"] == "newer"
    newer.owner = lead
    newer.save()
    is_problem(program("PUT", "sources/newer/successor", {"by": "mine"}), 422)
    is_problem(program("PUT", "sources/mine/successor", {"by": "nosuch"}), 422)
    client.post("/catalogue/sources/mine/supersede/", {"successor": ""})
    mine.refresh_from_db()
    assert mine.superseded_by is None
    assert set(events().values_list("what", "by")) == {("source superseded", lead.pk)}


def test_the_rule_of_a_study_uses_a_source_too(lead, mine):
    factories.study("other", stereotype_source=mine)
    with pytest.raises(services.SourceInUse):
        services.delete_source(source=mine, by=lead)


def test_ones_own_unused_source_is_edited_and_deleted(client, lead, mine, pairs):
    client.force_login(lead)
    sent = {"title": " New ", "licence": "CC0", "origin": "https://example.org/", "citation": ""}
    assert client.post("/catalogue/sources/mine/", sent).status_code == 302
    assert client.post("/catalogue/sources/mine/", {"title": " "}).status_code == 422
    told = Program(lead)("PATCH", "sources/mine", {"citation": "Me"}).json()
    assert (told["title"], told["licence"], told["citation"], told["associations"]) == ("New", "CC0", "Me", 2)
    client.post("/catalogue/sources/mine/delete/")
    assert not Source.objects.filter(name="mine").exists()
    assert factories.Attribute.objects.filter(text="poor").exists()
    assert list(events().values_list("what", flat=True)) == [
        *("source changed", "source changed", "source deleted")
    ]


def test_what_is_somebody_elses_stays(client, lead, mine):
    other = factories.user("other", lead=True)
    client.force_login(other)
    for path in ("", "delete/", "supersede/"):
        assert (
            client.post(f"/catalogue/sources/mine/{path}", {"title": "x", "successor": ""}).status_code == 404
        )
    assert client.post("/catalogue/sources/mine/", {"title": ""}).status_code == 404
    program = Program(other)
    for method, path, body in (("DELETE", "", None), ("PATCH", "", {}), ("PUT", "/successor", {"by": None})):
        is_problem(program(method, f"sources/mine{path}", body), 403)
    assert not events().exists()


def test_pairs_are_checked_shown_and_saved(client, lead):
    factories.group("Mexican")
    client.force_login(lead)
    sent = {"title": "Pairs", "name": "pairs", "axis": "nationality"}
    wrong = client.post("/catalogue/new-source/", {**sent, "typed": "Mexican, hat\nMexcan, hat\nx"})
    assert wrong.status_code == 422
    assert [error.row for error in wrong.context["errors"]] == [2, 3]
    assert "Did you mean &#x27;Mexican&#x27;?" in wrong.text
    file = SimpleUploadedFile("a.csv", b"\xef\xbb\xbfidentity;attribute\nMexican;Hat \nMartian;green\n")
    sent["create_groups"] = "on"
    preview = client.post("/catalogue/new-source/", {**sent, "file": file})
    assert preview.status_code == 200
    assert not Source.objects.filter(name="pairs").exists()
    saved = {**sent, "checked": preview.context["text"], "demonym:Martian": "Marsian", "save": "yes"}
    assert client.post("/catalogue/new-source/", saved).status_code == 302
    rows = Source.objects.get(name="pairs").associations.order_by("pk")
    assert [(row.group.demonym, row.attribute.text) for row in rows] == [
        ("Mexican", "hat"),
        ("Marsian", "green"),
    ]
    again = client.post("/catalogue/new-source/", saved)
    assert again.status_code == 422
    assert "already" in again.text


@pytest.mark.parametrize(
    "given",
    [{}, {"typed": " "}, {"typed": "a, b", "file": SimpleUploadedFile("a.csv", b"identity,attribute\na,b")}],
)
def test_either_a_file_or_typed_pairs(client, lead, given):
    client.force_login(lead)
    sent = {"title": "Pairs", "name": "pairs", "axis": "nationality", **given}
    page = client.post("/catalogue/new-source/", sent)
    assert page.status_code == 422
    assert "typed" in page.context["form"].errors


def test_pairs_of_a_program(lead):
    factories.group("Mexican")
    program = Program(lead)
    pairs = [{"identity": "mexican", "attribute": "Hat", "in_votes": [3, 0, 0], "offensiveness": [1, 2]}]
    body = {"title": "Pairs", "pairs": [*pairs, {"identity": "Martian", "attribute": "green"}]}
    problem = is_problem(program.post("sources/pairs/pairs", body), 422)
    assert "Pair 2: there is no identity 'Martian'" in problem["detail"]
    checked = program.post("sources/pairs/pairs", {**body, "check_only": True})
    assert (checked.status_code, checked.json()["stored"], checked.json()["wrong"]) == (200, False, 1)
    assert not Source.objects.exists()
    groups = [{"name": "Martian", "demonym": "Marsian"}]
    made = program.post("sources/pairs/pairs", {**body, "create_groups": True, "new_groups": groups})
    assert (made.status_code, made.json()["source"]["owner"], made.json()["associations"]) == (201, "lead", 2)
    assert made.json()["unknown"][0]["demonym"] == "Marsian"
    is_problem(program.post("sources/pairs/pairs", {**body, "create_groups": True}), 409)
    is_problem(program.post("sources/x/pairs", {"title": "x", "pairs": [{"identity": "a"}]}), 400)


def test_files_are_uploaded_on_the_page_and_by_a_program(client, lead, tmp_path):
    client.force_login(lead)
    path = release_files.seegull(tmp_path)
    sent = {"kind": "seegull", "seegull-axis": "nationality"}
    assert client.post("/catalogue/imports/", sent).status_code == 422
    with path.open("rb") as file:
        answer = client.post("/catalogue/imports/", {**sent, "seegull-associations": file})
    job = CatalogueImport.objects.get()
    assert answer.url == f"/catalogue/imports/{job.pk}/"
    assert "stereotypes_global_v2.csv" in client.get(answer.url).text
    part = client.get(f"{answer.url}progress/", headers={"HX-Request": "true"})
    assert "hx-get" in part.text
    headers = {"Authorization": f"Bearer {Program(lead).secret}"}
    for kind, content, status in (
        ("seegull?axis=us_state", path.read_bytes(), 202),
        ("seegull?axis=other", path.read_bytes(), 400),
        ("seegull", b"", 422),
        ("visage", b"PK no zip", 422),
    ):
        url, body = f"/api/v1/imports/{kind}", {"content_type": "application/octet-stream"}
        answer = client.generic("POST", url, content, **body, headers=headers)
        assert answer.status_code == status, (kind, answer.content)
    other = Program(factories.user("other", lead=True))
    is_problem(other.get(f"imports/{job.pk}"), 404)
    assert other.get("imports").json()["results"] == []


def test_a_file_that_is_too_large_is_refused(client, lead, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    headers = {"Authorization": f"Bearer {Program(lead).secret}"}
    answer = client.generic(
        "POST", "/api/v1/imports/seegull", b"x" * 11, content_type="text/csv", headers=headers
    )
    is_problem(answer, 413)


def test_a_licence_that_nobody_stated_is_said_to_be_so(client, lead, mine):
    Source.objects.filter(pk=mine.pk).update(licence="")
    client.force_login(lead)
    for url in (reverse("source", args=[mine.name]), reverse("sources")):
        assert "not stated" in client.get(url).text
    Source.objects.update(licence="CC0")
    for url in (reverse("source", args=[mine.name]), reverse("sources")):
        assert "not stated" not in client.get(url).text
