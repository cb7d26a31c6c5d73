"""The reader of a backup refuses what its writer never writes."""

import io
from dataclasses import replace

import pytest

from visage_app.backup import archive
from visage_app.backup.archive import ArchiveDamaged, Reader, Writer


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
    with pytest.raises(ArchiveDamaged, match="3 parts instead of 1"):
        list(Reader(out).lines("tables/t", replace(told, parts=1)))


def test_parts_are_counted_from_one_on():
    out = io.BytesIO()
    Writer(out).add("tables/t/000002.jsonl.gz", b"x")
    with pytest.raises(ArchiveDamaged, match=r"000002.* is not where it belongs"):
        Reader(out)
