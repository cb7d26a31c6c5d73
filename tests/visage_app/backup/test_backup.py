"""`manage.py backup`: a snapshot in one file, complete or not at all, that can be restored."""

import errno
import gzip
import json
import math
import os
import stat
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import RequestFactory

from annotation.images import files as image_files
from annotation.models import Annotator, AuditEvent, Box, ExportJob, Image, Judgement, Response, Study
from generation.models import Embedding, Run
from metrics.models import Score
from tests import factories
from tests.visage_app.backup.world import ODD_JSON, emptied, installation, said_nothing, unpacked
from tests.waiting import PATIENCE_SECONDS
from visage_app.backup import archive
from visage_app.backup.services import restoring, tables, writing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "all.tar"


def made(path, **options):
    return writing.backup(path=path, progress=said_nothing, **options)


def restored(path):
    return restoring.restore(path=path, progress=said_nothing)


def stored_names(path) -> list[str]:
    lines = gzip.decompress(unpacked(path)["files/000001.jsonl.gz"]).splitlines()
    return [json.loads(line)[0] for line in lines]


def test_what_comes_back_is_what_was_there(path, tmp_path):
    study = installation()
    was = {
        model: list(model.objects.order_by("pk").values()) for model in (Response, Judgement, Box, Annotator)
    }
    pictures = dict(Image.objects.values_list("pk", "file"))
    vector = bytes(Embedding.objects.get().vector)
    first = made(path)
    emptied()
    for name in pictures.values():
        default_storage.delete(name)

    assert restored(path).digest == first.digest

    assert {model: list(model.objects.order_by("pk").values()) for model in was} == was
    assert Study.objects.get().pk == study.pk
    assert dict(Image.objects.values_list("pk", "file")) == pictures
    assert all(default_storage.exists(name) for name in pictures.values())
    assert bytes(Embedding.objects.get().vector) == vector
    assert Run.objects.get().recipe == ODD_JSON
    ratio = Score.objects.get(name="ratio")
    assert (ratio.low, ratio.value, ratio.high) == (-1.25, math.inf, math.inf)
    lead = User.objects.get(username="lead")
    assert (
        authenticate(RequestFactory().post("/accounts/login/"), username="lead", password="a-long-password")
        == lead
    )
    assert lead.has_perm("annotation.change_study")
    assert lead.logentry_set.get().get_edited_object() == study
    assert list(study.leads.all()) == [lead]
    assert not Session.objects.exists()
    export = ExportJob.objects.get()
    assert (export.file, export.size) == ("", 3)

    second = made(tmp_path / "again.tar")
    assert second.digest == first.digest
    assert [(table.name, table.lines) for table in second.tables] == [
        (table.name, table.lines) for table in first.tables
    ]


def test_numbers_once_given_are_not_given_again(path):
    installation()
    last = factories.annotator().pk
    Annotator.objects.get(pk=last).delete()
    made(path)
    emptied()
    restored(path)
    assert factories.annotator().pk == last + 1
    assert factories.user().pk > User.objects.get(username="lead").pk


def test_an_installation_without_anything_is_backed_up_too(path):
    told = made(path)
    assert told.files.rows == 0
    AuditEvent.objects.all().delete()
    assert restored(path).digest == told.digest


def test_every_table_and_column_of_the_program_is_in_it(path):
    """A new kind of field, or one for files whose names are not their hashes, has to be thought of."""
    known = {table.name for table in tables.tables()} | tables.LEFT_OUT
    with connection.cursor() as cursor:
        assert set(connection.introspection.table_names(cursor)) == known
        for table in tables.tables():
            told = connection.introspection.get_table_description(cursor, table.name)
            assert {column.name for column in told} == {name for name, _ in table.columns}
            assert table.key in {name for name, kind in table.columns if kind == "integer"}
    files = [
        field
        for model in apps.get_models()
        for field in model._meta.fields
        if isinstance(field, models.FileField)
    ]
    assert [str(field) for field in files] == ["annotation.Image.file"]


def test_a_field_that_no_backup_knows_is_an_error():
    field = models.DurationField(name="lasted")
    with pytest.raises(tables.BackupRefused, match="backups do not know"):
        tables.kind(field)


def test_it_is_one_moment_though_others_go_on_writing(path):
    """Somebody writes when the first table was read already, and need not wait for the backup to end."""
    installation()
    before = Response.objects.count()
    wrote = []

    def write():
        try:
            unit = factories.attribute_unit(factories.task(factories.study("meanwhile")))
            wrote.append(factories.response(unit, who=factories.annotator()).pk)
        finally:
            connection.close()

    real = tables.lines

    def lines(table):
        if not wrote and table.name == "annotation_enrolment":
            writer = threading.Thread(target=write)
            writer.start()
            writer.join(PATIENCE_SECONDS)
        return real(table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "lines", lines)
        told = made(path)
    assert wrote, "the writer had to wait for the backup"
    rows = {table.name: table.lines.rows for table in told.tables}
    assert rows["annotation_response"] == before == Response.objects.count() - 1
    assert rows["annotation_study"] == 1
    emptied()
    restored(path)
    assert not Study.objects.filter(name="meanwhile").exists()


def test_only_its_owner_can_read_it_and_the_audit_trail_knows(path, monkeypatch):
    installation()
    factories.image()  # without a file
    kept = []
    monkeypatch.setattr(writing.os, "fsync", lambda file: kept.append(os.fstat(file).st_mode))
    told = made(path)
    assert [stat.S_ISDIR(mode) for mode in kept] == [False, True], "the file and its name are on the disk"
    assert path.stat().st_mode & 0o777 == 0o600
    event = AuditEvent.objects.get(what="backup")
    assert event.details == {"rows": told.rows, "files": 2, "digest": told.digest}


def test_the_same_is_the_same_file(path, tmp_path):
    installation()
    made(path)
    AuditEvent.objects.all().delete()
    made(tmp_path / "again.tar")
    one, other = unpacked(path), unpacked(tmp_path / "again.tar")
    for changed in ("manifest.json", "manifest.sha256"):  # the time
        del one[changed], other[changed]
    assert one == other


def test_nothing_is_replaced_unasked(path):
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="--force"):
        made(path)
    assert path.read_text() == "precious"
    made(path, overwrite=True)
    assert restoring.check(path=path, progress=said_nothing).rows
    with pytest.raises(FileExistsError, match="another name"):
        made(path.parent, overwrite=True)
    with pytest.raises(FileNotFoundError, match="Create it first"):
        made(path.parent / "none" / "all.tar")


@pytest.mark.parametrize("full_after", [0, 3, 20, 100_000])
def test_a_full_disk_leaves_what_was_there(path, full_after, monkeypatch):
    installation()
    path.write_text("precious")
    real, written = archive.Writer.add, []

    def add(self, name, data):
        written.append(len(data))
        if len(written) > full_after or name == archive.MANIFEST:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, name, data)

    monkeypatch.setattr(archive.Writer, "add", add)
    with pytest.raises(CommandError, match=r"No backup was made\..*No space left"):
        call_command("backup", str(path), "--force")
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == [path.name]
    assert path.read_text() == "precious"
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("harm", ["gone", "changed", "longer"])
def test_a_stored_file_that_is_not_what_its_row_says_is_named(path, harm):
    installation()
    name = Image.objects.first().file.name
    stored = Path(default_storage.path(name))
    held = stored.read_bytes()
    stored.unlink()
    if harm != "gone":
        stored.write_bytes(held + b"!" if harm == "longer" else held[:-1] + b"!")
    with pytest.raises(CommandError, match=f"{name}.*manage.py verify"):
        call_command("backup", str(path))
    assert not path.exists()
    assert list(path.parent.glob(".all*")) == []

    told, out = StringIO(), StringIO()
    call_command("backup", str(path), "--without-lost-files", stdout=out, stderr=told)
    assert "1 files" in out.getvalue()
    assert "which were left out: 1" in told.getvalue()
    emptied()
    told = StringIO()
    call_command("restore", str(path), stderr=told)
    assert "already lost when it was made: 1" in told.getvalue()
    assert Image.objects.count() == 2


def test_a_stored_file_that_changes_while_it_is_read_is_named(path, monkeypatch):
    def file(*_):
        raise ValueError("it has 5 bytes instead of 3")

    installation()
    monkeypatch.setattr(archive.Writer, "file", file)
    with pytest.raises(tables.BackupRefused, match=r"images/.* cannot be read completely: it has 5 bytes"):
        made(path)


def test_progress_is_told_now_and_then_and_at_the_end(monkeypatch):
    told = []
    monkeypatch.setattr(writing, "PROGRESS_EVERY", 2)
    counter = writing.RowCounter(lambda *said: told.append(said), "rows", 5)
    assert [*counter.counted(iter("abc")), *counter.counted(iter("de"))] == list("abcde")
    assert told == [("rows", 2, 5), ("rows", 4, 5), ("rows", 5, 5)]


def test_a_database_that_waits_for_migrations_is_not_backed_up(path, monkeypatch):
    monkeypatch.setattr(writing, "unapplied_migrations", lambda: ("annotation 0002",))
    with pytest.raises(CommandError, match=r"manage\.py migrate"):
        call_command("backup", str(path))
    assert not path.exists()


def test_the_commands_say_what_they_did(path, capsys):
    installation()
    out = StringIO()
    call_command("backup", str(path), stdout=out)
    assert "2 files" in out.getvalue()
    assert "personal data" in out.getvalue()
    digest = out.getvalue().split()[-1]
    emptied()
    for options, said in ((["--check"], "is complete"), ([], "is restored")):
        out = StringIO()
        call_command("restore", str(path), *options, stdout=out)
        assert said in out.getvalue()
        assert out.getvalue().split()[-1] == digest
    assert "files restored: 2 of 2" in capsys.readouterr().err


def test_files_that_are_not_in_a_folder_of_this_machine(path, settings):
    """Any storage of Django's, such as one for S3: nothing asks it for a path."""
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "default": memory}
    installation()
    told = made(path)
    emptied()
    for image in stored_names(path):
        default_storage.delete(image)
        assert not default_storage.exists(image)
    assert restored(path).digest == told.digest
    for picture in Image.objects.all():
        assert image_files.is_stored(picture.file.name, sha256=picture.sha256)
