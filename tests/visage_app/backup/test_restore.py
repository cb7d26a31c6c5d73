"""`manage.py restore`: all or nothing, only into an empty installation, and safe against forged files."""

import gzip
import hashlib
import json
import tarfile

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.images import files as image_files
from annotation.models import AuditEvent, Image, Judgement, Study
from tests import factories
from tests.visage_app.backup.world import (
    emptied,
    forged,
    installation,
    refused,
    said_nothing,
    unpacked,
    with_value,
)
from visage_app.backup import values
from visage_app.backup.services import restoring, tables, writing

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_installation_with_data_is_left_alone(path, monkeypatch):
    monkeypatch.setattr(image_files, "store", lambda *_, **__: pytest.fail("a file was stored"))
    factories.user("here before")
    with pytest.raises(CommandError, match=r"already holds data: auth_user \(1 rows\).*new database"):
        call_command("restore", str(path))
    assert User.objects.get().username == "here before"
    assert not Study.objects.exists()


def test_two_restores_do_not_mix(path, monkeypatch):
    """The second finds the rows of the first when its turn comes, though it saw an empty installation."""
    real = restoring._check_empty
    looked = []

    def check_empty(manifest):
        looked.append(1)
        real(manifest)
        if len(looked) == 1:
            restoring.restore(path=path, progress=said_nothing)

    monkeypatch.setattr(restoring, "_check_empty", check_empty)
    with pytest.raises(restoring.RestoreRefused, match="already holds data"):
        restoring.restore(path=path, progress=said_nothing)
    assert Study.objects.count() == 1


def test_no_other_tables_and_columns(path):
    def session(manifest):
        manifest["tables"][0]["name"] = "django_session"

    def column(manifest):
        manifest["tables"][1]["columns"][1][0] = "other"

    def kind(manifest):
        columns = next(each for each in manifest["tables"] if each["name"] == "annotation_box")["columns"]
        columns[1][1] = "text"

    def added(name, *columns):
        def told(manifest):
            empty = next(each for each in manifest["tables"] if not each["lines"]["parts"])
            of = {"columns": columns, "key": columns[0][0]} if columns else {}
            manifest["tables"].append({**empty, "name": name, **of})

        return told

    sessions = ("session_key", "text"), ("session_data", "text"), ("expire_date", "time")
    for told, why in (
        (session, "no table django_session|differ"),
        (column, "columns"),
        (kind, "columns"),
        (added("of_another_program"), "no table of_another_program"),
        (added("django_session", *sessions), "no table django_session"),
    ):
        refused(forged(path, told=told), why)


def test_of_many_names_the_first_are_told():
    assert restoring._named(list("abcde")) == "a, b, c, d, e"
    assert restoring._named(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_a_later_format_and_unknown_migrations_name_the_version_to_install(path):
    refused(forged(path, told=with_value("version", 2)), "newer format 2, made by visage-studies .*Install")
    refused(
        forged(path, told=lambda manifest: manifest["migrations"].append(["annotation", "9999_later"])),
        r"unknown to this version: annotation\.9999_later\. Install",
    )


def test_an_older_one_says_how_to_go_back_and_forward(path):
    last = max(name for app, name in tables.applied() if app == "annotation")

    def older(manifest):
        manifest["migrations"].remove(["annotation", last])

    refused(
        forged(path, told=older),
        rf"before these migrations: annotation\.{last}.*forward again: manage\.py migrate annotation 0",
    )


def test_a_database_that_waits_for_migrations_says_so(path, monkeypatch):
    monkeypatch.setattr(tables, "applied", lambda: ())
    refused(path, r"manage\.py migrate")


@pytest.mark.parametrize(
    ("table", "column", "value", "why"),
    [
        ("annotation_judgement", "value", 9, "judgement_value_in_scale|refused"),
        ("annotation_judgement", "response_id", 10**9, "refused"),
        ("annotation_judgement", "value", None, "refused"),
        ("annotation_judgement", "value", "7", "not a 64-bit integer"),
        ("annotation_box", "x1", "inf", "refused"),
    ],
)
def test_a_row_that_cannot_be_leaves_nothing(path, table, column, value, why):
    """The last row of its table: whatever was loaded before it is gone again."""
    columns = [name for name, _ in next(one for one in tables.tables() if one.name == table).columns]

    def spoiled(lines):
        *rest, last = lines
        row = json.loads(last)
        row[columns.index(column)] = value
        return [*rest, json.dumps(row).encode()]

    refused(forged(path, rows={table: spoiled}), why)


def test_no_file_is_stored_before_every_row_has_been_read(path, monkeypatch):
    stored = []
    monkeypatch.setattr(image_files, "store", lambda data, *, suffix: stored.append(suffix))
    refused(forged(path, rows={"auth_user": lambda lines: [*lines, b"no row"]}), "auth_user cannot be read")
    assert not stored


def test_an_interruption_before_the_end_leaves_nothing_and_can_be_repeated(path, monkeypatch):
    def interrupted(manifest, progress):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(restoring, "_compare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restoring.restore(path=path, progress=said_nothing)
    assert not Study.objects.exists()
    assert not User.objects.exists()
    call_command("restore", str(path))
    assert Study.objects.count() == 1


def test_what_is_read_back_differently_is_not_kept(path, monkeypatch):
    real = tables.insert_rows

    def fill(table, rows):
        if table.name == "annotation_judgement":
            rows = list(rows)[:-1]
        real(table, rows)

    monkeypatch.setattr(tables, "insert_rows", fill)
    refused(path, "rows of annotation_judgement differ from the backup")


def test_a_file_that_stands_there_already_is_kept_or_mended(path):
    names = sorted(name for name in unpacked(path) if name.startswith("media/"))
    data = [unpacked(path)[name] for name in names]
    kept, _ = image_files.store(data[0])
    damaged, _ = image_files.store(data[1])
    with default_storage.open(damaged, "wb") as file:
        file.write(b"harmed")
    call_command("restore", str(path))
    for name, held in zip((kept, damaged), data, strict=True):
        assert image_files.is_stored(name, sha256=image_files.digest(held))


def test_a_character_that_only_one_database_can_store(path):
    """NUL in a text, which SQLite takes and PostgreSQL does not: its row is named, nothing is written."""

    def with_nul(lines):
        row = json.loads(lines[0])
        spoiled = ["lead\0x" if value == "lead" else value for value in row]
        return [values.line(spoiled).strip(), *lines[1:]]

    path = forged(path, rows={"auth_user": with_nul})
    if connection.vendor == "postgresql":
        refused(path, r"Row 1 of auth_user has a character that PostgreSQL cannot store.*lead")
    else:
        call_command("restore", str(path))
        assert User.objects.get().username == "lead\0x"


def test_text_that_only_looks_like_nul_is_restored_on_both(tmp_path):
    installation()
    Image.objects.update(prompt="\\u0000 and \\ud800")
    made = writing.backup(path=tmp_path / "all.tar", progress=said_nothing)
    emptied()
    assert restoring.restore(path=tmp_path / "all.tar", progress=said_nothing).digest == made.digest
    assert Image.objects.first().prompt == "\\u0000 and \\ud800"


def test_json_null_is_not_sql_null(tmp_path):
    """PostgreSQL and SQLite tell them apart, and so does a backup."""
    unit = factories.attribute_unit(factories.task(factories.study("of nulls")))
    option = unit.options.get()
    table = connection.ops.quote_name("annotation_option")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET expected = 'null' WHERE id = %s", [option.pk])
    made = writing.backup(path=tmp_path / "all.tar", progress=said_nothing)
    emptied()
    assert restoring.restore(path=tmp_path / "all.tar", progress=said_nothing).digest == made.digest
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table} WHERE expected IS NULL")
        assert cursor.fetchone() == (0,)


def test_numbers_of_permissions_are_those_of_the_backup(path):
    """Here `migrate` gave others: what refers to a permission or a kind of content must not be mistaken."""
    ContentType.objects.clear_cache()
    wanted = {
        tuple(json.loads(line)[:1])
        for line in gzip.decompress(unpacked(path)["tables/auth_permission/000001.jsonl.gz"]).splitlines()
    }
    Permission.objects.all().delete()
    ContentType.objects.all().delete()
    call_command("migrate", verbosity=0)  # makes them anew, with other numbers
    assert set(Permission.objects.values_list("pk")) != wanted
    ContentType.objects.get_for_model(Study)  # is kept from now on
    call_command("restore", str(path))
    assert set(Permission.objects.values_list("pk")) == wanted
    kind = ContentType.objects.get(app_label="annotation", model="study")
    assert ContentType.objects.get_for_model(Study).pk == kind.pk, "those of before are forgotten"
    assert User.objects.get(username="lead").has_perm("annotation.change_study")


def test_checking_changes_nothing(path):
    call_command("restore", str(path), "--check")
    assert not Study.objects.exists()
    assert not AuditEvent.objects.exists()
    assert not Judgement.objects.exists()


def test_its_checksum_can_be_compared_without_this_program(path, tmp_path):
    with tarfile.open(path) as held:
        # Python before 3.11.4 has no filters, as a keyword neither
        held.extraction_filter = getattr(tarfile, "data_filter", None)
        held.extractall(tmp_path / "by hand")
    manifest = (tmp_path / "by hand" / "manifest.json").read_bytes()
    told = (tmp_path / "by hand" / "manifest.sha256").read_text()
    assert told == f"{hashlib.sha256(manifest).hexdigest()}  manifest.json\n"
    assert (tmp_path / "by hand" / "manifest.json").stat().st_mode & 0o077 == 0
