"""The manifest of a backup is read strictly: whatever is not as it was written is refused."""

import json
from dataclasses import replace

import pytest

from tests.visage_app.backup.world import with_value
from visage_app.backup.manifest import Lines, Manifest, NewerFormat, NotAManifest, Table, parse

LINES = Lines(rows=0, bytes=2**63 - 1, parts=0, sha256="0123456789abcdef" * 4)
TABLE = Table(
    name="t" * 63, key="id", columns=(("id", "integer"), ("n_2", "text")), last_id=None, lines=LINES
)
WHOLE = Manifest(
    made_at="2026-01-31T12:00:00Z",
    code="visage-studies 1",
    database="sqlite 3",
    migrations=(("annotation", "0001_initial"),),
    tables=(TABLE, replace(TABLE, name="u", last_id=0)),
    files=LINES,
    file_bytes=0,
    lost_files=0,
)


def test_it_is_read_as_it_was_written():
    assert parse(WHOLE.as_json()) == WHOLE
    assert WHOLE.rows == 0
    assert replace(WHOLE, tables=(replace(TABLE, lines=replace(LINES, rows=3)),) * 2).rows == 6


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ("format", "another", "does not belong to this program"),
        ("version", "1", "version is not of type int"),
        ("version", True, "version is not of type int"),
        ("version", -1, "version is not a whole number of at least 0"),
        *((name, 5, f"{name} is not of type str") for name in ("made_at", "code", "database")),
        *((name, None, f"{name} is not of type list") for name in ("migrations", "tables")),
        *((name, "5", f"{name} is not of type int") for name in ("file_bytes", "lost_files")),
        ("lost_files", 2**63, "lost_files is not a whole number"),
        *(("migrations.0", pair, "a pair of strings") for pair in ("ab", ["a"], ["a", 1], list("abc"))),
        ("tables.0", [], "TypeError"),
        ("tables.0.name", "u", "a table appears twice"),
        ("tables.0.name", None, "name is not of type str"),
        *(("tables.0.name", name, "not a valid name") for name in ("", "A", "a\n", "2", "_", "t" * 64)),
        ("tables.0.name", "-" * 99, f"'{'-' * 80}' is not a valid name of a table or column"),
        ("tables.0.columns.1.0", "id) VALUES (1); --", "not a valid name of a table or column"),
        ("tables.0.columns.1.0", "id", f"the columns of {'t' * 63} are not valid"),
        ("tables.0.columns.1.1", "x" * 99, f"'{'x' * 80}' is not a kind of column"),
        ("tables.0.key", "nothing", "columns of t+ are not valid"),
        ("tables.0.last_id", "5", "last_id is not of type int"),
        *((f"tables.0.lines.{of}", 5.0, f"{of} is not of type int") for of in ("rows", "bytes", "parts")),
        *(
            ("files.sha256", of, "a checksum is invalid")
            for of in ("0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n")
        ),
        ("files", None, "TypeError"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_written_is_named(place, value, why):
    changed = json.loads(WHOLE.as_json())
    with_value(place, value)(changed)
    with pytest.raises(NotAManifest, match=why):
        parse(json.dumps(changed).encode())


@pytest.mark.parametrize("raw", [b"", b"[]", b"5", b"{", b"\xff", b"[" * 100_000])
def test_other_files_are_no_manifests(raw):
    with pytest.raises(NotAManifest):
        parse(raw)


@pytest.mark.parametrize("gone", ["format", "version", "made_at", "files", "lost_files"])
def test_nothing_may_be_left_out(gone):
    changed = json.loads(WHOLE.as_json())
    del changed[gone]
    with pytest.raises(NotAManifest):
        parse(json.dumps(changed).encode())


def test_a_later_format_names_what_made_it_whatever_else_it_holds():
    with pytest.raises(NewerFormat, match="format 2, made by visage-studies 9"):
        parse(b'{"format": "visage-studies backup", "version": 2, "code": "visage-studies 9"}')
    with pytest.raises(NotAManifest, match="code is not of type str"):
        parse(b'{"format": "visage-studies backup", "version": 2, "code": 9}')


def test_the_same_content_has_the_same_digest_wherever_and_whenever_it_was_made():
    elsewhere = replace(
        WHOLE, made_at="later", code="", database="postgresql 17", tables=WHOLE.tables[::-1], lost_files=1
    )
    assert elsewhere.digest == WHOLE.digest
    other = replace(LINES, sha256="f" * 64)
    first, second = WHOLE.tables
    for changed in (
        replace(WHOLE, files=other),
        replace(WHOLE, tables=(first, replace(second, lines=other))),
        replace(WHOLE, tables=(first, replace(second, name="v"))),
    ):
        assert changed.digest != WHOLE.digest
