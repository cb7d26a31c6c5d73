"""`manage.py restore`: all or nothing, only into an empty installation, and safe against forged files."""

import gzip
import hashlib
import io
import json
import random
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.images import files as image_files
from annotation.models import AuditEvent, Image, Judgement, Study
from tests import factories
from tests.visage_app.backup.world import emptied, forged, installation, packed, said_nothing, unpacked
from visage_app.backup import archive, values
from visage_app.backup.services import restoring, tables, writing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the backup of these tests is once the first of them has made it."""
    return tmp_path_factory.mktemp("kept") / "all.tar"


@pytest.fixture
def path(kept, tmp_path):
    """A backup of everything; the installation is empty."""
    if not kept.exists():
        installation()
        writing.backup(path=kept, progress=said_nothing)
        emptied()
    return Path(shutil.copy(kept, tmp_path))


def refused(path, why: str) -> None:
    """`restore` says `why` and leaves the installation as it was, with nothing in it."""
    with pytest.raises(CommandError, match=why):
        call_command("restore", str(path))
    assert all(
        tables.count(table) == 0 for table in tables.tables() if table.name not in tables.FILLED_BY_MIGRATE
    )
    assert Permission.objects.filter(codename="change_study").exists()


def test_an_installation_with_data_is_left_alone(path):
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


def test_any_changed_byte_is_noticed(path, tmp_path):
    whole = path.read_bytes()
    dice = random.Random(5)
    changed = tmp_path / "changed.tar"
    places = [dice.randrange(len(whole)) for _ in range(150)] + [0, 512, len(whole) - 1, len(whole) - 600]
    for place in places:
        harmed = bytearray(whole)
        harmed[place] ^= 1 << dice.randrange(8)
        changed.write_bytes(harmed)
        with pytest.raises(archive.ArchiveDamaged):
            restoring.check(path=changed, progress=said_nothing)
    refused(changed, "cannot be restored, and nothing was")


def test_one_that_broke_off_or_goes_on_is_noticed(path, tmp_path):
    whole = path.read_bytes()
    dice = random.Random(6)
    cut = tmp_path / "cut.tar"
    for length in [*(dice.randrange(len(whole)) for _ in range(40)), 0, 511, len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(archive.ArchiveDamaged, match=r"incomplete|damaged"):
            restoring.check(path=cut, progress=said_nothing)
    cut.write_bytes(whole + bytes(512))
    refused(cut, "has data after its end")


@pytest.mark.parametrize("what", ["text", "zip", "zeros", "tar"])
def test_other_files_are_not_taken_for_backups(tmp_path, what):
    path = tmp_path / "other"
    path.write_bytes({"text": b"hello" * 1000, "zeros": bytes(10240)}.get(what, b""))
    if what == "zip":
        with zipfile.ZipFile(path, "w") as archive_of:
            archive_of.writestr("manifest.json", "{}" * 1000)
    if what == "tar":
        path.write_bytes(packed(path, {"manifest.json": b"{}"}).read_bytes())
    refused(path, "cannot be restored, and nothing was")
    with pytest.raises(CommandError, match="Not restored"):
        call_command("restore", str(tmp_path / "none"))


@pytest.mark.parametrize("name", ["/etc/passwd", "../../x", "media/../x", "media/1", "tables/x/1", "README"])
def test_no_other_names_in_the_archive(path, name):
    refused(packed(path, {**unpacked(path), name: b"x"}), "where no backup has it|which no backup contains")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.XHDTYPE])
def test_nothing_but_plain_files(path, kind):
    about = tarfile.TarInfo("media/000000001")
    about.type, about.linkname, about.mode = kind, "/etc/passwd", 0o600
    path.write_bytes(about.tobuf(tarfile.USTAR_FORMAT) + path.read_bytes())
    refused(path, "which no backup contains in this form")


def test_members_in_another_order_or_twice(path):
    members = unpacked(path)
    first, second = members["media/000000001"], members["media/000000002"]
    refused(
        packed(path, {**members, "media/000000001": second, "media/000000002": first}),
        "not in the backup|differs",
    )
    parts = {name: data for name, data in members.items() if not name.startswith("media/000000001")}
    refused(packed(path, parts), "not where it belongs")


@pytest.mark.parametrize(
    "name", ["../secret_key", "/etc/x", "images/../../x.png", "images/" + "0" * 64 + ".png", 5, None, "a\0b"]
)
def test_stored_files_get_no_name_but_their_own(path, name, settings):
    """Not even where size and checksum fit: the name is the hash of the bytes."""

    def renamed(lines):
        _, *rest = json.loads(lines[0])
        return [json.dumps([name, *rest]).encode(), *lines[1:]]

    refused(forged(path, rows={"files": renamed}), "not the name of a stored file")


def test_a_stored_file_is_its_hash(path):
    """A forger may name other bytes, with the checksum that they would have to have."""
    members = unpacked(path)
    members["media/000000001"] = members["media/000000001"][:-1] + b"!"
    refused(packed(path, members), "its checksum differs")


def test_a_bomb_is_not_unpacked(path, monkeypatch):
    """64 megabytes of zeros in 64 kilobytes, said to be small: reading stops where it is said to end."""
    members = unpacked(path)
    bomb = io.BytesIO()
    with gzip.GzipFile("", "wb", 5, bomb, mtime=0) as out:
        for _ in range(16):
            out.write(bytes(1 << 22))
    members["tables/auth_user/000001.jsonl.gz"] = bomb.getvalue()
    unpressed = []
    real = archive.Reader._decompressed

    def counted(self, of, told):
        for piece in real(self, of, told):
            unpressed.append(len(piece))
            yield piece

    monkeypatch.setattr(archive.Reader, "_decompressed", counted)
    refused(packed(path, members), "auth_user have been changed")
    assert sum(unpressed) < 4 << 20


def test_a_row_without_end_is_not_held(path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_ROW", 1 << 20)
    long = b"[" + b"1" * (3 << 20) + b"]"
    refused(forged(path, rows={"auth_user": lambda lines: [long]}), "too long")


def _set(place: str, value):
    def told(manifest):
        at = manifest
        *way, last = place.split(".")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[int(last) if last.isdigit() else last] = value

    return told


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("format", "another"),
        ("version", "1"),
        ("version", -1),
        ("made_at", None),
        ("migrations", {}),
        ("migrations.0", ["a"]),
        ("tables.0.name", 'auth_user"; DROP TABLE auth_user; --'),
        ("tables.0.name", "annotation_apitoken"),
        ("tables.1.columns.0.0", "id) VALUES (1); --"),
        ("tables.1.columns.0.1", "pickle"),
        ("tables.1.columns", []),
        ("tables.1.key", "nothing"),
        ("tables.1.lines.rows", True),
        ("tables.1.lines.sha256", "x"),
        ("tables.1.lines.parts", 10**30),
        ("tables.1.last_id", -1),
        ("files", None),
        ("file_bytes", 1),
    ],
)
def test_a_manifest_that_cannot_be(path, place, value):
    refused(forged(path, told=_set(place, value)), "cannot be restored, and nothing was")


def test_no_other_tables_and_columns(path):
    def session(manifest):
        manifest["tables"][0]["name"] = "django_session"

    def column(manifest):
        manifest["tables"][1]["columns"][1][0] = "other"

    def kind(manifest):
        columns = next(each for each in manifest["tables"] if each["name"] == "annotation_box")["columns"]
        columns[1][1] = "text"

    for told, why in ((session, "no table django_session|differ"), (column, "columns"), (kind, "columns")):
        refused(forged(path, told=told), why)


def test_a_later_format_and_unknown_migrations_name_the_version_to_install(path):
    refused(forged(path, told=_set("version", 2)), "newer format 2, made by visage-studies .*Install")
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
        ("annotation_judgement", "value", True, "not a 64-bit integer"),
        ("annotation_judgement", "value", 2**63, "not a 64-bit integer"),
        ("annotation_judgement", "whole_image", 1, "neither true nor false"),
        ("annotation_box", "x0", "much", "not a number"),
        ("annotation_box", "x1", "inf", "refused"),
        ("annotation_response", "client_key", "x", "not a UUID"),
        ("annotation_response", "started_at", "2026-13-01T00:00:00.000000Z", "not a time"),
        ("annotation_response", "started_at", "2099-01-01T00:00:00.000000Z", "refused"),
        ("auth_user", "username", 5, "not a string"),
        ("generation_run", "recipe", {}, "list of one"),
        ("generation_embedding", "vector", "ü", "base64"),
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
    call_command("restore", str(path))
    assert set(Permission.objects.values_list("pk")) == wanted
    assert User.objects.get(username="lead").has_perm("annotation.change_study")


def test_checking_changes_nothing(path):
    call_command("restore", str(path), "--check")
    assert not Study.objects.exists()
    assert not AuditEvent.objects.exists()
    assert not Judgement.objects.exists()


def test_its_checksum_can_be_compared_without_this_program(path, tmp_path):
    with tarfile.open(path) as held:
        held.extractall(tmp_path / "by hand", filter="data")
    manifest = (tmp_path / "by hand" / "manifest.json").read_bytes()
    told = (tmp_path / "by hand" / "manifest.sha256").read_text()
    assert told == f"{hashlib.sha256(manifest).hexdigest()}  manifest.json\n"
    assert (tmp_path / "by hand" / "manifest.json").stat().st_mode & 0o077 == 0
