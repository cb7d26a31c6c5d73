"""Exports as files: JSON lines and Parquet, filters, what comes along, whole or not at all."""

import json
import zipfile
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.exports import table
from annotation.exports.formats import parquet
from annotation.exports.formats.registry import FORMATS
from annotation.exports.selection import Filters
from annotation.exports.services import writing
from annotation.exports.table import COLUMNS
from annotation.models import AuditEvent, Response, Slot
from tests import factories
from tests.annotation.exports.world import depiction, unpacked, written

pytestmark = pytest.mark.django_db


def lines(study, **filters) -> list[dict]:
    return [
        json.loads(line) for line in unpacked(study, "jsonl", **filters)["annotations.jsonl"].splitlines()
    ]


def test_json_lines_hold_the_same_rows_with_their_types():
    rows = lines(depiction())
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 15
    first = rows[0]
    assert (first["value"], first["current"], first["idle_ms"]) == (1, True, None)
    assert first["boxes"] == [[40, 20, 140, 70], [0.5, 0, 400, 200]]
    assert datetime.fromisoformat(first["submitted_at"]).tzinfo is not None


def test_parquet_holds_the_same_rows_in_typed_columns_and_several_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "CHUNK", 4)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 8)
    study = depiction()
    file = pq.ParquetFile(written(study, "parquet", tmp_path / "x.parquet"))
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [8, 7]
    assert file.schema_arrow.equals(parquet.SCHEMA)
    rows = file.read().to_pylist()
    file.close()
    same = lines(study)
    for row in rows:
        for name in ("started_at", "submitted_at"):
            row[name] = row[name].isoformat()
    assert rows == same


def test_parquet_of_a_study_without_answers_has_its_columns(tmp_path):
    file = pq.read_table(written(factories.study(), "parquet", tmp_path / "x.parquet"))
    assert (file.num_rows, tuple(file.column_names)) == (0, COLUMNS)


@pytest.mark.parametrize("fmt", FORMATS)
def test_what_the_columns_hold_travels_with_the_data(tmp_path, fmt):
    form = FORMATS[fmt]
    study = depiction(simulated=True)
    path = written(study, fmt, tmp_path / "out")
    beside = path / "README.md" if path.is_dir() else tmp_path / "out.columns.md"
    for text in (beside.read_text(), unpacked(study, fmt)["README.md"].decode()):
        assert "| column | meaning |" in text
        assert all(meaning in text for _, meaning in form.columns)
        assert "made by a program" in text
        assert "Filters: none" in text


@pytest.mark.parametrize("fmt", FORMATS)
def test_nobody_is_named_and_nothing_withdrawn_gets_out(fmt):
    study = depiction()
    person = factories.user("jane.doe")
    annotator = Response.objects.earliest("pk").annotator
    annotator.user = person
    annotator.save()
    gone = Response.objects.get(annotator__pseudonym="a-two")
    Response.objects.filter(pk=gone.pk).update(withdrawn_at=gone.submitted_at)
    everything = b"".join(unpacked(study, fmt).values())
    assert b"jane.doe" not in everything
    assert b'a-two"' not in everything
    assert b"a-two," not in everything


def test_filters_take_the_part_that_was_asked_for():
    study = depiction()
    assert {row["identity"] for row in lines(study, group="French")} == {"French"}
    assert lines(study, status="surplus") == []
    Slot.objects.filter(responses__annotator__pseudonym="a-one").update(stratum="origin: Asia")
    study.tasks.update(strata=["origin: Asia", "any", "any"])
    assert {row["annotator"] for row in lines(study, stratum="origin: Asia")} == {"a-one"}
    task = factories.task(study)
    factories.response(factories.attribute_unit(task))
    assert {row["task"] for row in lines(study, task="visual_nature")} == {"visual_nature"}
    assert len(lines(study)) == 16


@pytest.mark.parametrize(
    ("days", "there"),
    [
        ({"since": "2026-03-02"}, {"a-two", "a-two-b"}),
        ({"until": "2026-03-02"}, {"a-one", "a-two"}),
        ({"since": "2026-03-02", "until": "2026-03-02"}, {"a-two"}),
    ],
)
def test_days_are_utc_and_both_ends_count(tmp_path, days, there):
    study = depiction()
    moments = ((1, 23, 59), (2, 23, 59), (3, 0, 0))
    for response, (day, hour, minute) in zip(Response.objects.order_by("pk"), moments, strict=True):
        then = datetime(2026, 3, day, hour, minute, tzinfo=UTC)
        Response.objects.filter(pk=response.pk).update(started_at=then, submitted_at=then)
    asked = [f"--{name}={day}" for name, day in days.items()]
    call_command("export", study.name, "--format", "jsonl", "--out", str(tmp_path / "x.jsonl"), *asked)
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert {row["annotator"] for row in rows} == there


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "offensiveness"}, "There is no task 'offensiveness' here. Choose from: depiction."),
        ({"pool": "both"}, "There is no pool 'both' here. Choose from: in, out."),
        ({"stratum": "some"}, "There is no stratum 'some' here. Choose from: any."),
        ({"status": "withdrawn"}, "There is no status 'withdrawn' here. Choose from: counted, surplus."),
        ({"group": "Martian"}, "There is no identity group 'Martian'."),
        ({"since": datetime(2026, 2, 2).date(), "until": datetime(2026, 2, 1).date()}, "is after"),
    ],
)
def test_a_filter_that_is_none_is_one_clear_error_and_no_export(tmp_path, options, message):
    depiction()
    with pytest.raises(CommandError, match=message):
        call_command("export", "live", out=tmp_path / "x.csv", **options)
    assert list(tmp_path.iterdir()) == []
    assert not AuditEvent.objects.exists()


def test_the_audit_trail_says_what_left_and_by_whom():
    study = depiction()
    admin = factories.user(admin=True)
    filters = Filters(group="French")
    b"".join(writing.stream_zip(study=study, fmt="coco", by=admin, filters=filters))
    event = AuditEvent.objects.get()
    assert (event.what, event.study, event.by) == ("export", study, admin)
    assert event.details == {"format": "coco", "filters": {"group": "French"}}


def test_several_files_become_a_folder_or_an_archive_with_the_same_in_it(tmp_path, capsys):
    depiction()
    call_command("export", "live", format="voc", out=tmp_path / "voc")
    call_command("export", "live", format="voc", out=tmp_path / "voc.zip")
    assert "3 files of study 'live', with a README.md" in capsys.readouterr().out
    folder = {
        str(path.relative_to(tmp_path / "voc")): path.read_bytes()
        for path in (tmp_path / "voc").rglob("*")
        if path.is_file()
    }
    with zipfile.ZipFile(tmp_path / "voc.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == folder
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert {path.name for path in tmp_path.iterdir()} == {"voc", "voc.zip"}
    assert (tmp_path / "voc").stat().st_mode & 0o077 == 0
    assert (tmp_path / "voc.zip").stat().st_mode & 0o077 == 0


def test_only_a_folder_that_an_export_made_is_ever_replaced(tmp_path):
    depiction()
    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "README.md").write_text("all I have")
    for fmt in ("voc", "csv"):
        with pytest.raises(CommandError, match="that no export made"):
            call_command("export", "live", format=fmt, out=mine, force=True)
    assert [path.name for path in mine.iterdir()] == ["README.md"]
    call_command("export", "live", format="voc", out=tmp_path / "voc")
    with pytest.raises(CommandError, match="--force"):
        call_command("export", "live", format="voc", out=tmp_path / "voc")
    (tmp_path / "voc" / "old.txt").write_text("old")
    call_command("export", "live", format="voc", out=tmp_path / "voc", force=True)
    assert not (tmp_path / "voc" / "old.txt").exists()


@pytest.mark.parametrize("out", ["voc", "voc.zip"])
def test_several_files_that_fail_half_way_leave_nothing(tmp_path, monkeypatch, out):
    study = depiction()

    def fail(*_args):
        raise RuntimeError("disk gone")

    monkeypatch.setattr("annotation.exports.formats.voc.TemporaryText.content", fail)
    with pytest.raises(RuntimeError):
        call_command("export", study.name, format="voc", out=tmp_path / out)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_does_not_open(tmp_path):
    study = depiction()
    pieces = writing.stream_zip(study=study, fmt="csv", by=None, filters=Filters())
    whole = b"".join(pieces)
    (tmp_path / "part.zip").write_bytes(whole[:-30])
    assert not zipfile.is_zipfile(tmp_path / "part.zip")


@pytest.mark.parametrize(("terminal", "expected"), [(False, []), (True, [15])])
def test_on_a_terminal_the_command_shows_how_far_it_is(tmp_path, monkeypatch, terminal, expected):
    depiction()
    told: list[int] = []
    monkeypatch.setattr("rich.console.Console.is_terminal", terminal)
    monkeypatch.setattr("rich.progress.Progress.update", lambda bar, task, completed: told.append(completed))
    call_command("export", "live", format="jsonl", out=tmp_path / "out.jsonl")
    assert told == expected
