"""Files that are no whole backup, or are forged, are noticed before anything is written."""

import gzip
import io
import json
import random
import re
import tarfile
import zipfile

import pytest
from django.core.management import CommandError, call_command

from tests.visage_app.backup.world import (
    damaged,
    forged,
    packed,
    refused,
    unpacked,
    with_value,
)
from visage_app.backup import archive

pytestmark = pytest.mark.django_db(transaction=True)


def test_any_changed_byte_is_noticed(path, tmp_path):
    whole = path.read_bytes()
    dice = random.Random(5)
    changed = tmp_path / "changed.tar"
    places = [dice.randrange(len(whole)) for _ in range(150)] + [0, 512, len(whole) - 1, len(whole) - 600]
    for place in places:
        harmed = bytearray(whole)
        harmed[place] ^= 1 << dice.randrange(8)
        changed.write_bytes(harmed)
        damaged(changed)
    refused(changed, "cannot be restored, and nothing was")


def test_one_that_broke_off_or_goes_on_is_noticed(path, tmp_path):
    whole = path.read_bytes()
    dice = random.Random(6)
    cut = tmp_path / "cut.tar"
    for length in [*(dice.randrange(len(whole)) for _ in range(40)), 0, 511, len(whole) - 1]:
        cut.write_bytes(whole[:length])
        damaged(cut, r"incomplete|damaged")
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


def test_no_other_names_in_the_archive(path):
    members = unpacked(path)
    for name in ("/etc/passwd", "../../x", "media/../x", "media/1", "tables/x/1", "README"):
        packed(path, {**members, name: b"x"})
        damaged(path, f"{re.escape(name)}.*(where no backup has it|which no backup contains)")
    refused(path, "where no backup has it|which no backup contains")


def test_nothing_but_plain_files(path):
    whole = path.read_bytes()
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.XHDTYPE):
        about = tarfile.TarInfo("media/000000001")
        about.type, about.linkname, about.mode = kind, "/etc/passwd", 0o600
        path.write_bytes(about.tobuf(tarfile.USTAR_FORMAT) + whole)
        damaged(path, "which no backup contains in this form")
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


def test_nothing_is_there_but_what_is_told(path):
    members = unpacked(path)
    rows = members["tables/auth_user/000001.jsonl.gz"]
    for name, data, why in (
        ("tables/x/000001.jsonl.gz", rows, "content and its manifest differ: tables/x"),
        ("media/000000003", b"", "Its files do not match its manifest"),
    ):
        # the end comes last
        end = {last: members.pop(last) for last in ("manifest.json", "manifest.sha256")}
        members |= {name: data, **end}
        damaged(packed(path, members), why)
        del members[name]


def test_a_stored_file_has_the_size_that_is_listed(path):
    def resized(lines):
        name, size, sha256 = json.loads(lines[0])
        return [json.dumps([name, size + 1, sha256]).encode(), *lines[1:]]

    damaged(forged(path, rows={"files": resized}), "not the name of a stored file, or is not in the backup")


def test_stored_files_get_no_name_but_their_own(path):
    """Not even where size and checksum fit: the name is the hash of the bytes."""
    zeros = "images/" + "0" * 64 + ".png"
    for name in (zeros, "/etc/x", "images/../../x.png", 5, None, "a\0b", "../secret_key"):

        def renamed(lines, name=name):
            _, *rest = json.loads(lines[0])
            return [json.dumps([name, *rest]).encode(), *lines[1:]]

        changed = forged(path, rows={"files": renamed})
        damaged(changed, f"{re.escape(repr(str(name)))} is not the name of a stored file")
    refused(changed, "not the name of a stored file")


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


NO_MANIFESTS = [
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
]


def test_a_manifest_that_cannot_be(path):
    for place, value in NO_MANIFESTS:
        changed = forged(path, told=with_value(place, value))
        try:
            damaged(changed)
        except pytest.fail.Exception:
            pytest.fail(f"{place} may be {value!r}")
    refused(changed, "cannot be restored, and nothing was")
