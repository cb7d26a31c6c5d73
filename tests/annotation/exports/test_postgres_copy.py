"""PostgreSQL's own COPY writes the long table as Python does, to the byte (annotation/exports)."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from django.db import connection

from annotation.exports import table
from annotation.exports.formats import parquet, postgres_copy, text
from annotation.exports.selection import SURPLUS, Filters, Selection
from annotation.exports.table import COLUMNS
from annotation.models import Box, Option, OptionRole, Purpose, Response, TaskKind, Unit
from tests import factories
from tests.annotation.exports.world import depiction

pytestmark = pytest.mark.django_db

ODD = (
    '=HYPERLINK("http://x")',
    "+1",
    "-2",
    "@sum",
    "\ttab",
    "\rreturn",
    "\nfeed",
    "＝wide",
    "＠wide",
    'a "quoted" word, and a comma',
    "two\r\nlines\n",
    "\\.",
    "\\N",
    "NULL",
    "100 % {0} %s",
    "ünïcödé 日本 🎩",
    " spaces ",
    "'",
    "'=was a formula",
    "",
)
CORNERS = (
    (0, 0, 1, 1),
    (0.1, 1e-05, 0.30000000000000004, 123456.78901234567),
    (2 / 3, 1e-07, 65535, 65535.5),
)


def written(study, **filters) -> tuple[bytes, bytes]:
    """The table as it leaves, and as Python alone makes it."""
    asked = Filters(**filters)
    leaves = b"".join(postgres_copy.long_csv(Selection(study, asked)))
    return leaves, b"".join(text.long_csv(Selection(study, asked)))


def of_every_kind():
    """A study in which every column has every sort of content."""
    study = depiction(title="All")
    pages = study.tasks.get()
    picture = factories.image(
        image_set=pages.image_set,
        group_name="=Formula",
        index=9,
        reference="",
        file="images/ab/+odd name.png",
        sha256="0" * 64,
        width=100000,
        height=100000,
    )
    unit = factories.page_unit(pages, picture=picture, page=3, texts=("=hat", "+x", "plain", "a, b"))
    given = factories.response(unit, values=[1, 1, 0, 0, 1], who=factories.annotator(simulated=True))
    for judgement in given.judgements.filter(value=1):
        for corners in CORNERS:
            Box.objects.create(
                judgement=judgement,
                image_width=100000,
                image_height=200000,
                **dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True)),
            )
    rated = factories.task(study, kind=TaskKind.VISUAL_NATURE)
    for number, odd in enumerate(ODD):
        said = factories.response(
            factories.attribute_unit(rated, f"{odd} {number}".lower().strip(), source_name=odd),
            values=[number % 5 + 1],
            justification=odd,
            who=factories.annotator(pseudonym=f"{odd}{number}"[:30]),
        )
        moment = datetime(2026, 1, 31, 23, 59, 59, number % 3 * 123450, tzinfo=UTC)
        Response.objects.filter(pk=said.pk).update(
            started_at=moment if number % 2 else None,
            submitted_at=moment + timedelta(seconds=1) if number % 4 else None,
            active_ms=number or None,
            idle_ms=None,
            language=["", "es"][number % 2],
            current=number % 7 != 0,
            revision=number + 1,
        )
    surplus = factories.response(factories.attribute_unit(rated, "late"), values=[5])
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    taught = factories.attribute_unit(rated, "taught", purpose=Purpose.TRAINING)
    Response.objects.filter(pk=factories.response(taught, values=[5]).pk).update(slot=None)
    for kind, value in ((TaskKind.PREVALENCE, -1), (TaskKind.OFFENSIVENESS, 4), (TaskKind.ASSOCIATION, 5)):
        task = factories.task(study, kind=kind)
        association = factories.association(text=f"-{kind}")
        asked = Unit.objects.create(task=task, position=1, association=association)
        Option.objects.create(
            unit=asked, attribute=association.attribute, role=OptionRole.STIMULUS, position=1
        )
        factories.open_slots(asked)
        factories.response(asked, values=[value])
    return study


def test_both_ways_write_the_same_bytes():
    study = of_every_kind()
    leaves, plain = written(study)
    rows = list(csv.DictReader(io.StringIO(plain.decode(), newline="")))
    assert len(rows) == 20 + len(ODD) + 5
    assert leaves == plain


def test_both_ways_write_the_same_json_lines():
    study = of_every_kind()
    leaves = b"".join(postgres_copy.long_jsonl(Selection(study)))
    plain = b"".join(text.long_jsonl(Selection(study)))
    rows = [json.loads(line) for line in leaves.split(b"\n")[:-1]]
    assert len(rows) == 20 + len(ODD) + 5
    assert [tuple(row) for row in rows] == [COLUMNS] * len(rows)
    assert set(ODD) <= {row["justification"] for row in rows}
    assert leaves == plain


def test_control_characters_are_the_same_in_json_both_ways():
    study = factories.study()
    every = "".join(map(chr, range(1, 32))) + "\x7f\x80\u2028\u2029\ufeff</script>"
    unit = factories.attribute_unit(factories.task(study), "odd")
    factories.response(unit, values=[5], justification=every)
    leaves = b"".join(postgres_copy.long_jsonl(Selection(study)))
    assert json.loads(leaves)["justification"] == every
    assert leaves == b"".join(text.long_jsonl(Selection(study)))


def test_both_ways_make_the_same_columns():
    study = of_every_kind()
    left, plain = (
        pa.Table.from_batches(batches(Selection(study)), parquet.SCHEMA)
        for batches in (parquet.batches, parquet.python_batches)
    )
    assert plain.num_rows == 20 + len(ODD) + 5
    for name in COLUMNS:
        assert left.column(name).to_pylist() == plain.column(name).to_pylist(), name
    assert left.schema == plain.schema


@pytest.mark.parametrize(
    "filters",
    [
        {"task": "visual_nature"},
        {"group": "French"},
        {"status": SURPLUS},
        {"pool": "in"},
        {"stratum": "any", "since": datetime(2026, 1, 1).date()},
    ],
    ids=str,
)
def test_both_ways_take_the_same_rows(filters):
    leaves, plain = written(of_every_kind(), **filters)
    assert leaves == plain


def test_a_simulated_study_says_so_in_both_ways():
    leaves, plain = written(depiction(simulated=True))
    assert plain.count(b",yes,any,") == 15
    assert leaves == plain


def test_an_empty_study_has_a_head():
    leaves, plain = written(factories.study())
    assert leaves == plain == (",".join(COLUMNS) + "\r\n").encode()


def test_rows_are_counted_as_they_pass(monkeypatch):
    monkeypatch.setattr(table, "CHUNK", 4)
    told: list[int] = []
    selection = Selection(depiction(), on_progress=told.append)
    for _ in postgres_copy.long_csv(selection):
        pass
    assert told == [4, 8, 12, 15]
    told.clear()
    again = Selection(selection.study, on_progress=told.append)
    assert sum(piece.count(b"\n") for piece in postgres_copy.long_jsonl(again)) == 15
    assert told == [4, 8, 12, 15]


@pytest.mark.skipif("postgresql" not in connection.vendor, reason="COPY is PostgreSQL's")
def test_on_postgresql_no_cell_is_made_by_python(monkeypatch):
    study = depiction()
    monkeypatch.setattr(table, "_row", None)
    assert b"".join(postgres_copy.long_csv(Selection(study))).count(b"\r\n") == 16
    assert b"".join(postgres_copy.long_jsonl(Selection(study))).count(b"\n") == 15
