"""Records of files, and the fields of an answer in them. No database."""

from __future__ import annotations

import csv
import gzip

import pytest

from generation.answers import line_files
from generation.answers.line_files import Record, digest, records
from generation.answers.lines import LineRefused, parse, read_lines
from generation.core.file_errors import FileUnusable


def parsed(*, with_image: bool = False, **values):
    return parse(Record("line 1", {"prompt": "p", "text": "t", **values}), with_image=with_image)


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("number", 1, 2**31 - 1),
        ("seed", 0, 2**63 - 1),
        ("tokens_in", 0, 2**31 - 1),
        ("tokens_out", 0, 2**31 - 1),
    ],
)
def test_whole_numbers_have_bounds(field, least, most):
    for value in (least, most, str(least), f" {most} "):
        assert getattr(parsed(**{field: value}), field) == int(value)
    for value in (least - 1, most + 1, str(most + 1), True, 1.0, "1.0", "²", "-1", "9" * 5000, [1]):
        with pytest.raises(LineRefused) as refused:
            parsed(**{field: value})
        said = f"{field}: {str(value)[:40]!r} is no whole number from {least} to {most}."
        assert str(refused.value) == said
    for nothing in ("", None):
        assert getattr(parsed(**{field: nothing}), field) == (0 if field == "number" else None)


def test_an_answer_with_a_key_and_no_number_is_the_first():
    assert (parsed(key="k").number, parsed(key=5).key) == (1, "5")


@pytest.mark.parametrize(("field", "most"), [("key", 200), ("ended", 40)])
def test_names_have_a_length(field, most):
    assert getattr(parsed(**{field: "x" * most}), field) == "x" * most
    with pytest.raises(LineRefused, match=f"{field}: it has {most + 1} characters. Use at most {most}"):
        parsed(**{field: "x" * (most + 1)})
    for other in (True, 1.5, []):
        with pytest.raises(LineRefused, match=f"{field}: it is no text"):
            parsed(**{field: other})


def test_seconds_are_a_number_of_0_or_more():
    for value in (0, "0.5", 999_999_999_999):
        assert parsed(seconds=value).seconds == float(value)
    for value in (-0.1, 10**12, True, False, "nan", "inf", 10**400, [], "x" * 99):
        with pytest.raises(LineRefused) as refused:
            parsed(seconds=value)
        assert str(refused.value) == f"seconds: {str(value)[:40]!r} is no number of 0 or more."
    assert parsed(seconds="").seconds is None


def test_what_is_said_twice_or_not_at_all():
    with pytest.raises(LineRefused, match="ended and finish_reason are the same field"):
        parsed(ended="stop", finish_reason="stop")
    with pytest.raises(LineRefused, match="prompt: it is missing"):
        parsed(prompt="")
    assert parsed(text="").text == ""


def test_other_fields_are_kept_unless_they_say_nothing():
    found = parsed(image="1.png", a="", b=None, c=0, d=False)
    assert (found.image, found.extra) == ("", {"image": "1.png", "c": 0, "d": False})
    found = parsed(image="1.png", with_image=True)
    assert (found.image, found.extra) == ("1.png", {})


def test_a_key_that_was_not_given_is_that_of_the_prompt_and_the_image():
    key = parsed(prompt="a", image="bc", with_image=True).full_key
    assert len(key) == 32
    others = [("a", "bd"), ("ab", "c"), ("b", "bc")]
    assert key not in {parsed(prompt=one, image=two, with_image=True).full_key for one, two in others}
    assert parsed(key="k").full_key == "k"


@pytest.fixture
def file(tmp_path):
    def write(content: bytes | str, name: str = "a.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def found(path) -> list[tuple]:
    """Of each record its place and its values, or why it has none."""
    return [(each.place, each.problem or each.values) for each in records(path)]


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.json.csv", "a.csv.gz", "a.csv.GZ"])
def test_a_table_is_known_by_its_name(file, name):
    content = b"{x},y\n1,2\n"
    content = gzip.compress(content) if name.lower().endswith("gz") else content
    assert found(file(content, name)) == [("row 2", {"{x}": "1", "y": "2"})]


@pytest.mark.parametrize("name", ["a.json", "a.JSONL", "a.ndjson", "a.csv.jsonl", "a.json.gz"])
def test_lines_of_json_are_known_by_their_name(file, name):
    [(place, why)] = found(file(b"x,y\n", name))
    assert (place, why[:14]) == ("line 1", "it is not JSON")


@pytest.mark.parametrize("name", ["a", "a.txt", "a.csv.old"])
def test_other_files_are_known_by_their_first_character(file, name):
    for start in ("{", "\ufeff \n["):
        assert "it is not JSON" in found(file(start, name))[0][1]
    assert found(file("x\n{", name)) == [("row 2", {"x": "{"})]


def test_a_line_has_a_longest_length_and_a_cell_is_as_long_as_a_line(file, monkeypatch):
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert found(file(f"a\n{long}\n")) == [("row 2", {"a": long})]
    assert csv.field_size_limit() == limit
    monkeypatch.setattr(line_files, "LONGEST", 10)
    line = '{"a": 12}\n'
    assert found(file(line * 2, "a.jsonl")) == [("line 1", {"a": 12}), ("line 2", {"a": 12})]
    with pytest.raises(FileUnusable, match="line 2: it is longer than"):
        found(file(line + " " + line, "a.jsonl"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_another_encoding_is_named(file, encoding):
    with pytest.raises(FileUnusable, match=r"line 1: the file is UTF-16\. Save it as UTF-8"):
        found(file("\ufeffa,b\n".encode(encoding)))
    [row] = found(file(b"a\n" + "\ufeff".encode(encoding)))
    assert row[1].startswith("it is not UTF-8 (byte 1)")


@pytest.mark.parametrize("value", ['{"a\\u0000": 1}', '["\\udfff"]', '{"b": "\\ud800"}', '"a\\u0000"'])
def test_a_text_that_no_database_holds_is_named(file, value):
    [(_, why)] = found(file(f'{{"x": {value}}}\n', "a.jsonl"))
    assert why.startswith("it holds \\u0000 or half a character")
    assert found(file('{"x": ["\\ue000", 1, null]}\n', "a.jsonl")) == [("line 1", {"x": ["\ue000", 1, None]})]


def test_a_row_that_cannot_be_used_is_named_and_the_next_one_is_read(file):
    content = b'a,b\n,\n\n"1\0\n\xff",2,3\n1,2\n1\n1,2,3\n'
    rows = found(file(content))
    assert [place for place, _ in rows] == ["row 4", "row 5", "row 6", "row 7"]
    assert rows[0][1].startswith("it holds a NUL character")
    assert rows[1][1] == {"a": "1", "b": "2"}
    for row, cells in zip(rows[2:], (1, 3), strict=True):
        assert row[1].startswith(f"it has {cells} cells, and the first row has 2.")


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"a,\xff", "row 1: it is not UTF-8"),
        (b"a, ,b", "row 1: a column has no name"),
        (b"b,a,b, a", "row 1: the column 'a' is there twice"),
    ],
)
def test_a_table_has_a_name_for_each_column(file, header, why):
    with pytest.raises(FileUnusable, match=why):
        found(file(header + b"\n1,2,3,4\n"))


def test_a_first_row_with_too_few_cells_is_no_missing_column(file):
    short, line = read_lines(file(" prompt ,text\na\nb,c\n"), with_image=False)
    assert short.startswith("row 2: it has 1 cells")
    assert (line.place, line.prompt, line.text) == ("row 3", "b", "c")
    with pytest.raises(FileUnusable) as refused:
        list(read_lines(file("prompt," + "x" * 300 + "\na,b\n"), with_image=False))
    assert f"no column 'text'. The columns are: prompt, {'x' * 192}. Separate" in str(refused.value)


GZIPPED = gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)


@pytest.mark.parametrize(
    "damaged",
    [GZIPPED[:-9], GZIPPED[:12] + b"\xff" * 9 + GZIPPED[21:], GZIPPED[:-8] + b"\0" * 8],
    ids=["ends early", "is no gzip", "has another checksum"],
)
@pytest.mark.parametrize("read", [digest, lambda path: list(records(path))])
def test_a_compressed_file_that_is_damaged_is_named(file, damaged, read):
    assert digest(file(GZIPPED)) == digest(file(b"a,b\n1,2\n" * 99))
    with pytest.raises(FileUnusable, match=r"The compressed file is damaged .*Compress or copy it again"):
        read(file(damaged))


@pytest.mark.parametrize("read", [digest, lambda path: list(records(path))])
def test_a_folder_is_no_file(tmp_path, read):
    with pytest.raises(FileUnusable, match="The file cannot be read: Is a directory"):
        read(tmp_path)
