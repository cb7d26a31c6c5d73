"""Answers that were made elsewhere: all that is wrong with the file is listed before anything is stored."""

from __future__ import annotations

import pytest

from annotation.imports.readers.oddities import FileRefused
from metrics.inference.answers_csv import COLUMNS, MOST_ERRORS, RowsRefused, read_answers

HEADER = ",".join(COLUMNS)
ROW = "seegull-v2,Mexican,lazy,bought,a car,0.7,0.2,0.1"


@pytest.fixture
def written(tmp_path):
    def write(*lines: str, encoding: str = "utf-8"):
        path = tmp_path / "answers.csv"
        path.write_bytes("\r\n".join(lines).encode(encoding))
        return path

    return write


def test_rows_are_read_as_they_are(written):
    found = read_answers(
        written(
            "note,contradiction,neutral,entailment,object,verb,attribute,identity,Source,",
            '"x, y",0.1,0.2,0.7,a car,bought, Hard-Working ,Mexican,seegull-v2,',
            "",
            ",0,1,0,a lamp,sold,lazy,Indian,random,",
            encoding="utf-8-sig",
        )
    )
    assert found.ignored == ("note",)
    assert found.texts("attribute") == ("hard-working", "lazy")
    assert found.identities == [("", "Mexican"), ("", "Indian")]
    rows = list(found)
    assert [(row.number, row.source, row.identity, row.object) for row in rows] == [
        (2, 0, 0, 0),
        (4, 1, 1, 1),
    ]
    assert rows[0].probabilities == (0.7, 0.2, 0.1)
    assert found.pairs_of("source", "identity") == {(0, 0), (1, 1)}


def test_georgians_of_two_axes(written):
    lines = [f"seegull,Georgian,lazy,bought,a car,1,0,0,{axis}" for axis in ("nationality", "us_state")]
    found = read_answers(written(f"{HEADER},axis", *lines))
    assert found.identities == [("nationality", "Georgian"), ("us_state", "Georgian")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.7", "1.2"), "column 'entailment': '1.2' is no probability"),
        (("0.7", "nan"), "'nan' is no probability"),
        (("0.7", "-0.7"), "'-0.7' is no probability"),
        (("0.7", "inf"), "'inf' is no probability"),
        (("0.7", ""), "'' is no probability"),
        (("0.2", '"0,2"'), "column 'neutral': '0,2' is no probability"),
        (("0.7", "0.2"), "0.5 in sum, and not 1: give those after softmax"),
        (("Mexican", " "), "column 'identity': it is empty"),
        (("lazy", "x" * 201), "column 'attribute': 201 characters, at most 200"),
        (("lazy", '"la\nzy"'), "line break"),
        (("0.7", "0.75"), "1.05 in sum, and not 1"),
        (("seegull-v2", "x" * 81), "column 'source': 81 characters, at most 80"),
        ((",0.1", ""), "7 cells where the header has 8"),
    ],
)
def test_a_wrong_cell_is_named_with_row_and_column(written, change, said):
    with pytest.raises(RowsRefused, match=r"^answers.csv: 1 error; nothing was stored") as refused:
        read_answers(written(HEADER, ROW.replace("lazy", "kind"), ROW.replace(*change)))
    assert "\nrow 3: " in str(refused.value)
    assert said in str(refused.value)


def test_probabilities_of_two_digits_are_taken(written):
    assert len(read_answers(written(HEADER, ROW.replace("0.7,0.2,0.1", "0.33,0.33,0.33")))) == 1
    assert read_answers(written(HEADER, ROW.replace("lazy", "x" * 200))).texts("attribute") == ("x" * 200,)


def test_a_pair_twice(written):
    lines = [ROW, ROW.replace("Mexican", "Indian"), ROW.replace("lazy", "LAZY "), ROW.replace("0.7", "0.70")]
    with pytest.raises(RowsRefused, match="2 errors") as refused:
        read_answers(written(HEADER, *lines))
    assert "row 4: the same pair of the same source is in row 2 already." in str(refused.value)
    assert "row 5: the same pair of the same source is in row 4 already." in str(refused.value)


def test_the_same_pair_of_two_sources(written):
    assert len(read_answers(written(HEADER, ROW, ROW.replace("seegull-v2", "random")))) == 2


def test_all_errors_are_counted_and_the_first_are_listed(written):
    with pytest.raises(RowsRefused) as refused:
        read_answers(written(HEADER, ROW, *[ROW.replace("0.7", "x")] * 50))
    text = str(refused.value)
    assert "50 errors" in text
    assert text.count("\nrow ") == MOST_ERRORS
    assert text.endswith("... and 30 more.")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([HEADER], "no rows below the header"),
        ([HEADER.replace(",entailment", ""), ROW], "column 'entailment': there is no such column"),
        ([f"{HEADER},verb", ROW], "column 'verb': there are two columns"),
        ([HEADER, 'a,"b" c,d'], "not comma-separated"),
        (["PK\x03\x04"], "Excel or zip"),
        ([""], "no such column"),
    ],
)
def test_files_that_are_no_such_table(written, lines, said):
    with pytest.raises(FileRefused, match=said):
        read_answers(written(*lines))


def test_another_encoding(written):
    with pytest.raises(FileRefused, match="UTF-8"):
        read_answers(written(HEADER, ROW.replace("lazy", "fière"), encoding="latin-1"))


def test_a_formula_that_an_export_disarmed(written):
    found = read_answers(written(HEADER, ROW.replace("lazy", "'-shy")))
    assert found.texts("attribute") == ("-shy",)
