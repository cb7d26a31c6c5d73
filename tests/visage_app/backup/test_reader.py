"""The reader of a backup refuses what its writer never writes."""

import io
import tarfile
from dataclasses import replace

import pytest

from visage_app.backup import archive
from visage_app.backup.archive import ArchiveDamaged, Reader, Writer


def packed(*members: tuple[str, bytes]) -> io.BytesIO:
    """A backup with these members before its end."""
    out = io.BytesIO()
    writer = Writer(out)
    for name, data in members:
        writer.add(name, data)
    writer.end(b"{}")
    return out


def rows(*lines: bytes) -> tuple[bytes, archive.Lines]:
    """A part with these rows, and what is told of it."""
    found = []
    of = archive.LinesWriter("tables/t", lambda name, data: found.append(data))
    for line in lines:
        of.add(line)
    told = of.end()
    return found[0], told


def made(*, parts=1, again=""):
    """A backup of one table with two rows a part, and with a member of its end once more, if asked."""
    out = io.BytesIO()
    writer = Writer(out)
    lines = writer.lines("tables/t")
    for _ in range(2 * parts):
        lines.add(b"[1]\n")
    told = lines.end()
    writer.add(archive.MANIFEST, b"{}")
    writer.add(archive.CHECKSUM, archive._checksum(b"{}"))
    if again:
        writer.add(again, archive._checksum(b"{}"))
    out.write(bytes(1024))
    return out, told


def test_the_end_comes_once():
    for again in (archive.MANIFEST, archive.CHECKSUM):
        with pytest.raises(ArchiveDamaged, match="where no backup has it"):
            Reader(made(again=again)[0])


def test_a_manifest_or_a_part_may_be_as_large_as_the_limit_and_no_larger(monkeypatch):
    out, _ = made()
    checksum = len(archive._checksum(b"{}"))
    monkeypatch.setattr(archive, "_MAX_MANIFEST", checksum)
    assert Reader(out).manifest == b"{}"
    monkeypatch.setattr(archive, "_MAX_MANIFEST", checksum - 1)
    with pytest.raises(ArchiveDamaged, match="manifest is too large"):
        Reader(out)
    monkeypatch.setattr(archive, "_MAX_MANIFEST", checksum)
    size = Reader(out)._parts["tables/t"][0].size
    monkeypatch.setattr(archive, "_MAX_PART", size)
    assert Reader(out).row_sets == {"tables/t"}
    monkeypatch.setattr(archive, "_MAX_PART", size - 1)
    with pytest.raises(ArchiveDamaged, match="not where it belongs"):
        Reader(out)


def test_rows_are_in_as_many_parts_as_are_told(monkeypatch):
    monkeypatch.setattr(archive, "PART", 8)
    out, told = made(parts=3)
    assert told.parts == 3
    assert list(Reader(out).lines("tables/t", told)) == [b"[1]"] * 6
    for parts in (1, 4):
        with pytest.raises(ArchiveDamaged, match=f"tables/t has 3 parts instead of {parts}"):
            list(Reader(out).lines("tables/t", replace(told, parts=parts)))


@pytest.mark.parametrize(
    "differing", [{"rows": 1}, {"rows": 3}, {"bytes": 7}, {"bytes": 9}, {"sha256": "0" * 64}]
)
def test_rows_are_what_is_told_of_them(differing):
    part, told = rows(b"[1]\n", b"[2]\n")
    backup = Reader(packed(("tables/t/000001.jsonl.gz", part)))
    assert list(backup.lines("tables/t", told)) == [b"[1]", b"[2]"]
    with pytest.raises(ArchiveDamaged, match="their checksum differs"):
        list(backup.lines("tables/t", replace(told, **differing)))


def test_the_last_row_ends():
    part, told = rows(b"[1]\n", b"[2]")
    backup = Reader(packed(("tables/t/000001.jsonl.gz", part)))
    with pytest.raises(ArchiveDamaged, match="their checksum differs"):
        list(backup.lines("tables/t", replace(told, rows=1)))


def test_no_more_of_a_row_is_held_than_the_limit(monkeypatch):
    _, told = rows(b"[12345]\n")
    monkeypatch.setattr(Reader, "_decompressed", lambda *_: iter([b"[123", b"45]\n"]))
    monkeypatch.setattr(archive, "_MAX_ROW", 4)
    assert list(Reader(packed()).lines("tables/t", told)) == [b"[12345]"]
    monkeypatch.setattr(archive, "_MAX_ROW", 3)
    with pytest.raises(ArchiveDamaged, match="too long"):
        list(Reader(packed()).lines("tables/t", told))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda part: part[:4] + b"\1" + part[5:], "a part begins wrongly"),
        (lambda part: part[:-1], "a part has the wrong length"),
        (lambda part: part + b"\0", "a part has the wrong length"),
    ],
)
def test_a_part_is_as_it_was_written_to_the_last_byte(change, why):
    part, told = rows(b"[1]\n")
    with pytest.raises(ArchiveDamaged, match=why):
        list(Reader(packed(("tables/t/000001.jsonl.gz", change(part)))).lines("tables/t", told))


def test_nothing_stands_between_members():
    out = packed(("media/000000001", b"x"))
    out.seek(2 * 512 - 1)
    out.write(b"!")
    with pytest.raises(ArchiveDamaged, match="damaged at byte"):
        Reader(out)


def test_nothing_comes_after_the_manifest():
    out = packed()
    before = out.tell() - 1024
    out.seek(before)
    Writer(out).add("media/000000001", b"x")
    out.write(bytes(1024))
    with pytest.raises(ArchiveDamaged, match="'media/000000001' where no backup has it"):
        Reader(out)


def test_a_file_is_as_long_as_was_said():
    for content in (b"", b"abcd"):
        with pytest.raises(ValueError, match="bytes instead of 3"):
            Writer(io.BytesIO()).file(3, iter([content]))


def test_files_come_back_in_pieces_as_they_were_given(monkeypatch):
    out = io.BytesIO()
    writer = Writer(out)
    writer.file(3, iter([b"ab", b"c"]))
    writer.file(0, iter([]))
    writer.file(600, iter([b"x" * 600]))
    writer.end(b"{}")
    backup = Reader(out)
    assert (backup.files, backup.file_bytes) == (3, 603)
    monkeypatch.setattr(archive, "_PIECE", 400)
    assert [(size, list(pieces)) for size, pieces in backup.stored()] == [
        (3, [b"abc"]),
        (0, []),
        (600, [b"x" * 400, b"x" * 200]),
    ]


def test_rows_are_unpacked_a_little_at_a_time(monkeypatch):
    monkeypatch.setattr(archive, "_PIECE", 16)
    part, told = rows(*(b"[%d]\n" % (number**5) for number in range(50)), *[b"[1]\n"] * 500)
    backup = Reader(packed(("tables/t/000001.jsonl.gz", part)))
    assert sum(1 for _ in backup.lines("tables/t", told)) == 550


def test_an_end_that_is_not_as_it_was_written():
    whole = packed(("media/000000001", b"x")).getvalue()
    for wrong, why in (
        (whole[:-1], "It is incomplete"),
        (whole[:-512], "It is incomplete"),
        (whole + b"x", "data after its end, at byte 3,072"),
        (whole[:-1] + b"x", "data after its end, at byte 3,072"),
        (whole[:2048] + bytes(1024), "It has no manifest at its end"),
        (whole.replace(b"{}", b"[]"), "Its manifest has been changed"),
    ):
        with pytest.raises(ArchiveDamaged, match=why):
            Reader(io.BytesIO(wrong))


def test_files_are_counted_from_one_on_without_a_gap():
    for numbers in ((2,), (1, 1), (1, 3)):
        with pytest.raises(ArchiveDamaged, match=f"media/00000000{numbers[-1]} is not where it belongs"):
            Reader(packed(*((f"media/{number:09}", b"x") for number in numbers)))


def test_a_name_in_other_letters_is_not_read():
    about = tarfile.TarInfo("ü").tobuf(tarfile.USTAR_FORMAT, "utf-8")
    with pytest.raises(ArchiveDamaged, match="damaged at byte 0, or it is not a backup"):
        Reader(io.BytesIO(about + bytes(1024)))


@pytest.mark.parametrize(
    "name",
    [f"tables/{'t' * 64}/000001.jsonl.gz", "tables/t/1.jsonl.gz", "tables/t/0000001.jsonl.gz", "media/1"],
)
def test_names_are_as_they_were_given(name):
    with pytest.raises(ArchiveDamaged, match="which no backup contains in this form"):
        Reader(packed((name, b"x")))


def test_parts_are_counted_from_one_on():
    out = io.BytesIO()
    Writer(out).add("tables/t/000002.jsonl.gz", b"x")
    with pytest.raises(ArchiveDamaged, match=r"000002.* is not where it belongs"):
        Reader(out)
