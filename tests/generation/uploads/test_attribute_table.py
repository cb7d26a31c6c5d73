"""The table of attributes as people write it: how they say yes and no, and which row an error names."""

import pytest

from annotation.imports.readers.oddities import FileRefused
from generation.uploads.attribute_table import read_attributes

VOTES = "in_stereotypical,in_nonstereotypical,in_unsure,out_stereotypical,out_nonstereotypical,out_unsure"


def read(text):
    return read_attributes(text.encode(), name="t.csv")


def test_every_way_to_say_yes_or_no_is_read_and_empty_cells_are_left_out():
    text = ",,\n,,\nidentity_group,ATTRIBUTE,Stereotypical,,\n"
    said = ("YES", " 1 ", "true", "No", "0", "False")
    table = read(
        text + "".join(f"Mexican,{number},{each},, \n" for number, each in enumerate(said)) + ",,,,\n"
    )
    assert table.pairs.errors == []
    assert [row.out_votes[0] for row in table.pairs.rows] == [1, 1, 1, 0, 0, 0]
    assert [row.row for row in table.pairs.rows] == [4, 5, 6, 7, 8, 9]
    assert (table.voted, table.pool, table.identity, table.pairs.blank) == (False, "out", "identity_group", 3)


def test_rows_with_an_error_are_no_blank_ones_and_keep_their_numbers():
    rows = ("Mexican,hat," + "y" * 50, "Mexican,a,yes,,x", ",,", "Mexican,,yes", "Mexican,b,no", "")
    pairs = read(",,\ngroup,attribute,stereotypical\n" + "\n".join(rows)).pairs
    assert [(error.row, error.column) for error in pairs.errors] == [
        (3, "stereotypical"),
        (4, ""),
        (6, "attribute"),
    ]
    assert f"'{'y' * 40}' is neither" in pairs.errors[0].problem
    assert [(row.row, row.attribute) for row in pairs.rows] == [(7, "b")]
    assert pairs.blank == 2


def test_a_table_without_a_row_is_refused():
    with pytest.raises(FileRefused, match="there are no rows"):
        read("group,attribute,stereotypical\n")


def test_equal_pairs_with_equal_answers_stay_and_groups_of_other_names_have_their_own():
    pairs = read("group,attribute,stereotypical\nMexican,hat,yes\nmexican,hat,yes\nIndian,hat,no\n").pairs
    assert [row.row for row in pairs.rows] == [2, 3, 4]
    assert pairs.errors == []
    pairs = read(",\ngroup,attribute,stereotypical\nGroß,hat,yes\nGROSS,hat,no\nIndian,hat,\n\n").pairs
    assert [row.row for row in pairs.rows] == [3]
    assert [(error.row, error.column, error.problem) for error in pairs.errors] == [
        (5, "stereotypical", "the cell is empty."),
        (4, "stereotypical", "'GROSS, hat' is in row 3 too, with the other answer."),
    ]
    assert pairs.blank == 2


def test_without_answers_each_pair_is_a_stereotype_and_ratings_are_read():
    table = read("identity,attribute,offensiveness\nMexican,hat,1 2\n\n")
    assert [(row.out_votes, row.ratings) for row in table.pairs.rows] == [((1, 0, 0), (1.0, 2.0))]
    assert (table.identity, table.voted) == ("identity", False)


@pytest.mark.parametrize(
    ("votes", "pool"),
    [
        (("1,0,0,,,", ",,,1,0,0"), "out"),
        (("1,0,0,,,", ",,,,,"), "in"),
    ],
)
def test_out_region_votes_of_any_row_go_before_in_region_votes(votes, pool):
    rows = "".join(f"Mexican,{number},{each}\n" for number, each in enumerate(votes))
    table = read(f"group,attribute,{VOTES}\n{rows}")
    assert (table.voted, table.pool, table.identity) == (True, pool, "group")
    for place in ("in", "out"):
        names = f"{place}_stereotypical,{place}_nonstereotypical,{place}_unsure"
        table = read(f"group,attribute,{names}\nMexican,hat,2,0,0\n")
        assert (table.voted, table.pool) == (True, place)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('"""""",""""""', "row 2: there is no column 'identity group'. The first row has: nothing."),
        (
            "group,stereotypical",
            "row 2: there is no column 'attribute'. The first row has: group, stereotypical.",
        ),
        ("group,attribute,more", "row 2: there is no use for the column 'more'"),
        ("group,identity,attribute", "row 2: there are two columns 'identity'"),
        (f"group,attribute,stereotypical,{VOTES}", "row 2: there are votes and a column 'stereotypical'"),
    ],
)
def test_a_header_that_is_unclear_is_refused_with_its_row(header, said):
    with pytest.raises(FileRefused) as refused:
        read(f",\n{header}\nMexican,hat\n")
    assert said in str(refused.value)
