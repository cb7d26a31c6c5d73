"""Taking the annotator-level table out: command, page, and what a row says."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from annotation.exports import table
from annotation.exports.formats.registry import FORMATS
from annotation.exports.selection import Selection
from annotation.exports.services import writing
from annotation.exports.table import COLUMNS
from annotation.models import AuditEvent, Box, Judgement, Option, OptionRole, Response, TaskKind, Unit
from tests import factories

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]


def rows_of(study) -> list[dict[str, str]]:
    text = "".join(writing.stream_csv(study=study, by=None))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def depiction_study(**fields):
    study = factories.study(**fields)
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
    return study, factories.page_unit(task, picture=factories.image(index=5), page=2)


def test_there_is_one_row_for_each_option_shown_in_the_order_shown():
    study, unit = depiction_study()
    factories.response(unit, values=[1, 0, 0, 0, 0], who=factories.annotator(pseudonym="a-one"))
    rows = rows_of(study)
    assert [row["attribute"] for row in rows] == ["hat", "sombrero", "poor", "kind", ""]
    assert [row["shown_position"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row["value"] for row in rows] == ["1", "0", "0", "0", "0"]
    assert rows[0]["label"] == "Depicted"
    assert rows[4]["role"] == "none_of_above"
    assert {row["annotator"] for row in rows} == {"a-one"}
    assert {(row["image"], row["identity"], row["page"]) for row in rows} == {
        ("Mexican5.png", "Mexican", "2")
    }


def test_boxes_are_json_corner_points():
    study, unit = depiction_study()
    given = factories.response(unit, values=[1, 0, 0, 0, 0])
    judgement = given.judgements.get(position=1)
    for x0 in (1, 20.5):
        Box.objects.create(judgement=judgement, x0=x0, y0=2, x1=30, y1=40, image_width=512, image_height=512)
    rows = rows_of(study)
    assert json.loads(rows[0]["boxes"]) == [[1.0, 2.0, 30.0, 40.0], [20.5, 2.0, 30.0, 40.0]]
    assert json.loads(rows[1]["boxes"]) == []


def test_an_annotator_whom_the_release_does_not_identify_has_an_empty_cell_but_a_response_number():
    study, unit = depiction_study()
    first, second = factories.response(unit), factories.response(unit)
    rows = rows_of(study)
    assert {row["annotator"] for row in rows} == {""}
    assert {row["response"] for row in rows} == {str(first.pk), str(second.pk)}


def test_withdrawn_answers_stay_out_and_surplus_and_superseded_ones_are_marked():
    study, unit = depiction_study()
    withdrawn, surplus, older = (factories.response(unit) for _ in range(3))
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=withdrawn.submitted_at)
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    Response.objects.filter(pk=older.pk).update(current=False)
    seen = {row["response"]: (row["current"], row["surplus"]) for row in rows_of(study)}
    assert seen == {str(surplus.pk): ("yes", "yes"), str(older.pk): ("no", "no")}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_justification_that_a_spreadsheet_would_run_is_defused(start):
    study = factories.study()
    unit = factories.attribute_unit(factories.task(study), "hat")
    factories.response(unit, values=[3], justification=f"{start}HYPERLINK(1)")
    assert rows_of(study)[0]["justification"] == f"'{start}HYPERLINK(1)"


def test_numbers_are_never_escaped():
    study = factories.study()
    task = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    factories.response(factories.attribute_unit(task, "kind"), values=[-1])
    assert rows_of(study)[0]["value"] == "-1"


def test_simulated_rows_say_so():
    study = factories.study()
    unit = factories.attribute_unit(factories.task(study))
    factories.response(unit, who=factories.annotator(simulated=True))
    factories.response(unit, who=factories.annotator())
    assert [row["simulated"] for row in rows_of(study)] == ["yes", "no"]


def test_only_rows_of_the_study_asked_for_come_out():
    study, other = factories.study(), factories.study()
    factories.response(factories.attribute_unit(factories.task(other)))
    assert rows_of(study) == []


def test_queries_grow_with_chunks_and_not_with_rows(monkeypatch, django_assert_num_queries):
    study = factories.study()
    task = factories.task(study)
    for _ in range(5):
        factories.response(factories.attribute_unit(task))
    # the audit trail, and who had withdrawn before and after; then the rows, and the boxes of each chunk,
    # which PostgreSQL gives in one COPY that is not counted here
    copied = connection.vendor == "postgresql"
    with django_assert_num_queries(3 if copied else 5):
        list(writing.stream_csv(study=study, by=None))
    monkeypatch.setattr(table, "CHUNK", 2)
    with django_assert_num_queries(3 if copied else 7):
        assert len(rows_of(study)) == 5


def test_every_column_is_explained_in_the_documentation():
    text = (ROOT / "docs" / "exports.md").read_text()
    formats, _, long_table = text.partition("## The long annotator-level table")
    explained = [line for line in long_table.splitlines() if line.startswith("| `")]
    assert explained == [f"| `{name}` | {meaning} |" for name, _, meaning in table.COLUMN_SPECS]
    offered = [line.split("`")[1] for line in formats.splitlines() if line.startswith("| `")]
    assert offered[: len(FORMATS)] == list(FORMATS)


def test_the_command_writes_the_file_whole_and_says_how_many_rows(tmp_path, capsys):
    _study, unit = depiction_study(name="live")
    factories.response(unit)
    out = tmp_path / "table.csv"
    call_command("export", "live", format="csv", out=out)
    lines = out.read_bytes().decode("utf-8").splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert len(lines) == 6
    assert "5 rows of study 'live'" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "table.csv.columns.md"}


def test_the_command_does_not_replace_a_file_unless_told_to(tmp_path):
    factories.study("live")
    out = tmp_path / "table.csv"
    out.write_text("mine")
    with pytest.raises(CommandError, match="--force"):
        call_command("export", "live", out=out)
    assert out.read_text() == "mine"
    call_command("export", "live", out=out, force=True)
    assert out.read_text().startswith("study,")


def test_an_export_that_fails_half_way_leaves_what_was_there(tmp_path, monkeypatch):
    _study, unit = depiction_study(name="live")
    factories.response(unit)
    out = tmp_path / "table.csv"
    out.write_text("mine")

    def fail(*_args):
        raise RuntimeError("disk gone")

    monkeypatch.setattr(Selection, "count_rows", fail)
    with pytest.raises(RuntimeError):
        call_command("export", "live", out=out, force=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.csv", "mine")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "liv"}, "There is no study 'liv'. There are: live."),
        ({"study": "live", "format": "xlsx"}, "There is no export format 'xlsx'. Choose from: csv, "),
        ({"study": "live", "out": Path("/no/such/folder/x.csv")}, "There is no folder /no/such/folder"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(tmp_path, arguments, message):
    factories.study("live")
    options = {"out": tmp_path / "x.csv", **arguments}
    with pytest.raises(CommandError, match=message):
        call_command("export", options.pop("study"), **options)


def test_an_admin_downloads_the_table_as_a_stream(client):
    _study, unit = depiction_study(name="live")
    factories.response(unit)
    client.force_login(factories.user(admin=True))
    answer = client.get(reverse("export_annotations", args=["live"]))
    assert answer.streaming
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="live-annotations.csv"' in answer["Content-Disposition"]
    assert answer.getvalue().decode().count("\n") == 6


def test_the_plain_table_says_where_its_columns_are_explained(client):
    """RFC 8288, `describedby`: the address holds what travels with the other formats, every column of it."""
    _study, unit = depiction_study(name="live")
    factories.response(unit)
    client.force_login(factories.user(admin=True))
    answer = client.get(reverse("export_annotations", args=["live"]))
    where = re.fullmatch(r'<(.+)>; rel="describedby"; type="text/plain"', answer["Link"])[1]
    header = answer.getvalue().decode().splitlines()[0].split(",")
    told = client.get(where)
    assert told["Content-Type"] == "text/plain; charset=utf-8"
    text = told.content.decode()
    assert "`live`, format `csv`. Filters: none." in text
    assert re.findall(r"^\| `(\w+)` \| .+ \|$", text, re.MULTILINE) == header
    overview = client.get(reverse("overview", args=["live"])).content.decode()
    assert f'<a href="{where}">What the columns mean</a>' in overview


def test_what_columns_mean_is_told_to_who_may_take_the_data_and_leaves_no_trace(client):
    lead = factories.user()
    factories.study("live", leads=[lead])
    url = reverse("export_columns", args=["live"])
    assert client.get(url).status_code == 302
    client.force_login(lead)
    assert client.get(url).status_code == 404
    client.force_login(factories.user(admin=True))
    assert client.get(url).status_code == 200
    assert not AuditEvent.objects.exists()


def test_nobody_but_an_admin_takes_data_out(client):
    lead, stranger = factories.user(), factories.user()
    factories.study("live", leads=[lead])
    url = reverse("export_annotations", args=["live"])
    assert client.get(url).status_code == 302
    for user in (lead, stranger):
        client.force_login(user)
        assert client.get(url).status_code == 404


def test_a_judgement_of_every_kind_of_task_has_a_stimulus():
    study = factories.study()
    task = factories.task(study, kind=TaskKind.PREVALENCE)
    association = factories.association(text="sombrero")
    unit = Unit.objects.create(task=task, position=1, association=association)
    Option.objects.create(unit=unit, attribute=association.attribute, role=OptionRole.STIMULUS, position=1)
    factories.open_slots(unit)
    factories.response(unit, values=[1])
    factories.response(factories.attribute_unit(factories.task(study), "hat"))
    assert sorted(row["stimulus"] for row in rows_of(study)) == ["Mexican: sombrero", "hat"]
    assert Judgement.objects.count() == 2


def test_an_export_leaves_a_row_in_the_audit_trail(client):
    of, admin = factories.study(), factories.user(admin=True)
    client.force_login(admin)
    b"".join(client.get(f"/studies/{of.name}/export/annotations.csv").streaming_content)
    event = AuditEvent.objects.get()
    assert (event.what, event.study, event.by) == ("export", of, admin)
