"""One's own pairs: what a spreadsheet or a person makes of two columns is read, or each wrong line named."""

from __future__ import annotations

import io

import pytest
from openpyxl import Workbook

from annotation.imports.readers import pair_tables, pairs
from annotation.imports.readers.oddities import FileRefused

VOTES = "identity,attribute,in_stereotypical,in_nonstereotypical,in_unsure"


def read(text, *, encoding="utf-8"):
    return pairs.read_file(text if isinstance(text, bytes) else text.encode(encoding), name="mine.csv")


def said(file):
    return [(row.row, row.identity, row.attribute) for row in file.rows]


def wrong(file):
    return [(error.row, error.column) for error in file.errors]


def book(*sheets) -> bytes:
    workbook = Workbook()
    workbook.remove(workbook.active)
    for number, rows in enumerate(sheets):
        sheet = workbook.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    workbook.save(content)
    return content.getvalue()


PLAIN = [(2, "Mexican", "sombrero"), (3, "French", "wine")]


@pytest.mark.parametrize(
    "content",
    [
        "identity,attribute\nMexican,sombrero\nFrench,wine\n",
        "\ufeffidentity,attribute\r\nMexican,sombrero\r\nFrench,wine",
        "identity;attribute\nMexican;sombrero\nFrench;wine\n",
        "identity\tattribute\nMexican\tsombrero\nFrench\twine\n",
        " Identity , ATTRIBUTE ,\n  Mexican ,  Sombrero ,\nFrench,WINE,\n",
        '"identity","attribute"\n"Mexican","sombrero"\n"French","wine"\n',
        "attribute,identity\nsombrero,Mexican\nwine,French\n",
        book([["identity", "attribute"], ["Mexican", "Sombrero "], ["French", "wine"]], []),
    ],
    ids=["plain", "bom", "semicolons", "tabs", "spaces and capitals", "quoted", "turned round", "xlsx"],
)
def test_the_usual_shapes_say_the_same(content):
    file = read(content)
    assert (said(file), file.errors) == (PLAIN, [])


def test_empty_lines_are_counted_and_keep_the_row_numbers():
    file = read("\n\nidentity,attribute\n\n , \nMexican,hat\n,,\n")
    assert (said(file), file.blank, file.errors) == ([(6, "Mexican", "hat")], 5, [])


def test_every_wrong_line_is_named_with_its_row_and_column():
    file = read(
        f"{VOTES},offensiveness\n"
        ",hat,1,0,0,\n"
        "Mexican,,1,0,0,\n"
        "Mexican,hat,1,,0,\n"
        "Mexican,hat,-1,0,0,\n"
        "Mexican,hat,99999,0,0,\n"
        "Mexican,hat,1,0,0,5\n"
        "Mexican,hat,1,0,0,none\n"
        "Mexican,hat,1,0\n"
        "Mexican,hat,1,0,0,1,7\n"
        f"{'x' * 121},hat,1,0,0,\n"
        '"Mexican",fine,3,0,0,"[-1, 2.5; 4]"\n'
        f"{'İ' * 61},hat,1,0,0,\n"
        "Mexi\u200bcan,hat,1,0,0,\n"
        f"Mexican,{'x' * 201},1,0,0,\n"
        "Mexican,hat,32768,0,0,\n"
        "Mexican,hat,²,0,0,\n"
        "Mexican,hat,000001,0,0,\n"
        "Mexican,hat,1,0,0,٣\n"
        f"Mexican,hat,1,0,0,1.{'0' * 20}\n"
        f"Mexican,hat,1,0,0,{'1 ' * 101}\n"
        f"Mexican,hat,1,0,{'x' * 41},\n"
        f"Mexican,hat,1,0,0,{'x' * 41}\n"
        f"{'x' * 120},{'x' * 200},32767,0,0,{'+1.0000000000000000 ' * 100}\n"
    )
    assert wrong(file) == [
        (2, "identity"),
        (3, "attribute"),
        (4, "in_nonstereotypical"),
        (5, "in_stereotypical"),
        (6, "in_stereotypical"),
        (7, "offensiveness"),
        (8, "offensiveness"),
        (9, ""),
        (10, ""),
        (11, "identity"),
        (13, "identity"),
        (14, "identity"),
        (15, "attribute"),
        (16, "in_stereotypical"),
        (17, "in_stereotypical"),
        (18, "in_stereotypical"),
        (19, "offensiveness"),
        (20, "offensiveness"),
        (21, "offensiveness"),
        (22, "in_unsure"),
        (23, "offensiveness"),
    ]
    assert all(error.problem and error.cure for error in file.errors)
    told = {error.row: error.problem for error in file.errors}
    assert (told[4], told[5]) == ("the cell is empty.", "'-1' is not a number of votes.")
    assert told[11] == "121 characters, more than 120."
    assert told[22] == f"'{'x' * 40}' is not a number of votes."
    assert told[23] == f"'{'x' * 40}' is not a rating."
    assert [(row.in_votes, row.ratings) for row in file.rows] == [
        ((3, 0, 0), (-1.0, 2.5, 4.0)),
        ((32767, 0, 0), (1.0,) * 100),
    ]
    assert wrong(read("identity,attribute\nMexican,\n")) == [(2, "attribute")], "if all of them are wrong too"


def test_empty_rows_above_a_spreadsheet_keep_the_row_numbers():
    file = read(book([[], ["identity", "attribute"], ["Mexican", "hat"]]))
    assert (said(file), file.blank) == ([(3, "Mexican", "hat")], 1)


def test_nobody_asked_is_not_zero():
    rows = read(f"{VOTES}\nMexican,hat,,,\nMexican,poor,0,0,0\n").rows
    assert [row.in_votes for row in rows] == [None, (0, 0, 0)]


def test_numbers_of_a_spreadsheet_are_whole_where_they_can_be():
    header = [*VOTES.split(","), "offensiveness"]
    (row,) = read(book([header, ["Mexican", 1234567, 3, 0.0, 1, 2.5]])).rows
    assert (row.attribute, row.in_votes, row.ratings) == ("1234567", (3, 0, 1), (2.5,))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "empty"),
        ("  \n\n", "empty"),
        (",,\n,,\n", "no rows"),
        ("\n\nidentity\nMexican\n", r"row 3: there is no column 'attribute'\. The first row has: identity\."),
        ('""""""\n', r"no column 'identity'\. The first row has: nothing\."),
        ("Mexican,sombrero\n", "no column 'identity'"),
        ("identity,attribute\n", "no rows below"),
        ("identity,attribute,colour\nMexican,hat,red\n", "no use for the column 'colour'"),
        ("identity;attribute;hat, shoes\nMexican;hat;1\n", "no use for the column 'hat, shoes'"),
        ("identity,attribute,attribute\nMexican,hat,hat\n", "two columns"),
        ("identity,attribute,in_stereotypical\nMexican,hat,1\n", "no column 'in_nonstereotypical'"),
        ("identity,attribute,out_stereotypical\nMexican,hat,1\n", "no column 'out_nonstereotypical'"),
        ('identity,attribute\nMexican,"hat\n', "row 2: this line cannot be read"),
        ("identity,attribute\nMéxican,hat\n".encode("latin-1"), "row 2.*not UTF-8"),
        ("identity,attribute\nMexican,hat\n".encode("utf-16"), "not UTF-8"),
        (b"PK\x03\x04 not a zip", "not a spreadsheet"),
        (b"\xd0\xcf\x11\xe0 not a workbook", "not a spreadsheet"),
        (book([["identity", "attribute"], ["a", "b"]], [["x"]]), "2 sheets with something"),
        (book([]), "nothing in it"),
    ],
)
def test_what_is_no_table_of_pairs_is_refused(content, why):
    with pytest.raises(FileRefused, match=why):
        read(content)


def test_a_small_spreadsheet_that_unpacks_to_much_is_not_unpacked(monkeypatch):
    assert pair_tables._UNPACKED == 100 * 10**6
    monkeypatch.setattr(pair_tables, "_UNPACKED", 10)
    with pytest.raises(FileRefused, match="unpacks to more than 100 MB"):
        read(book([["identity", "attribute"], ["Mexican", "hat"]]))


def test_typed_lines():
    file = pairs.read_typed(
        'Mexican, Sombrero\n\n  French ,wine  \nFrench\nA, b, c\n"French", "poor, but happy"\n'
    )
    assert said(file) == [(1, "Mexican", "sombrero"), (3, "French", "wine"), (6, "French", "poor, but happy")]
    assert ([error.row for error in file.errors], file.blank) == ([4, 5], 1)
    assert [error.problem for error in file.errors] == [
        "one value instead of two.",
        "3 values instead of two.",
    ]
    [error] = pairs.read_typed("A,, b, c").errors
    assert error.problem == "4 values instead of two."
    assert said(pairs.read_typed("French\nMexican, hat")) == [(2, "Mexican", "hat")]
    assert wrong(pairs.read_typed("French,\n, wine")) == [(1, "attribute"), (2, "identity")]
    assert said(pairs.read_typed("identity,attribute\nMexican,hat")) == [(2, "Mexican", "hat")]
    assert said(pairs.read_typed("\nidentity;attribute\nMexican;hat")) == [(3, "Mexican", "hat")]
    for line in ("Mexican, big hat,", "Mexican; big hat", "Mexican, big\0hat"):
        assert said(pairs.read_typed(line)) == [(1, "Mexican", "big hat")]
    with pytest.raises(FileRefused, match="no pairs"):
        pairs.read_typed(" \n ")


def test_the_same_words_are_the_same_text_however_they_are_typed():
    decomposed, spaced = "Perude\u0301", "hard\u00a0  working"
    (row,) = pairs.read_typed(f"{decomposed}, {spaced}").rows
    assert (row.identity, row.attribute) == ("Perudé", "hard working")
    (row,) = pairs.read_typed("Mexican, 2²").rows
    assert row.attribute == "2²"


def test_what_was_checked_reads_the_same_again():
    for text in (
        f'{VOTES},offensiveness\n=1,"a, b",3,0,0,-1 2.5\nMexican,+hat,,,,\n',
        f"{VOTES.replace('in_', 'out_')}\nMexican,hat,1,0,2\nMexican,poor,,,\n",
    ):
        rows = read(text).rows
        again = pairs.as_csv(rows)
        assert again.partition("\n")[0] == text.partition("\n")[0], "with the columns that they need"
        assert read(again).rows == rows
        assert ("\n'=1," in again, ",'+hat," in again) == ("=1" in text, "+hat" in text)


def test_pairs_of_a_program():
    given = [
        {"identity": "Mexican", "attribute": "Hat", "in_votes": [3, 0, 0], "offensiveness": [-1, 2.5]},
        {"identity": "Mexican", "attribute": "poor", "in_votes": None, "out_votes": [0, 2, 1]},
        {"identity": " ", "attribute": "poor"},
    ]
    file = pairs.read_given(given)
    assert [(row.attribute, row.in_votes, row.ratings) for row in file.rows] == [
        ("hat", (3, 0, 0), (-1.0, 2.5)),
        ("poor", None, ()),
    ]
    assert [row.out_votes for row in file.rows] == [None, (0, 2, 1)]
    assert wrong(file) == [(3, "identity")]
