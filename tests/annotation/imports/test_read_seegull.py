"""Reading SeeGULL's files: what is kept, what is reported, what is refused."""

import hashlib
from pathlib import Path

import pytest

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import FileRefused, OddityLog
from annotation.imports.readers.seegull import read_associations
from annotation.models import Axis, Region
from tests.annotation.imports import release_files

ROW = "Mexican,sombrero,2,1,0,3,0,0,-1,-1,-1,-1"


def codes(file) -> dict[str, int]:
    return {oddity.code: oddity.count for oddity in file.oddities}


def read(tmp_path, *rows: str):
    return read_associations(release_files.seegull(tmp_path, rows=rows), states=False)


def test_a_row_is_read_with_both_pools_and_its_ratings(tmp_path):
    row = read(tmp_path, "Mexican,poor,1,2,0,2,1,0,3,2,1,2").rows[0]
    assert (row.identity, row.attribute, row.row) == ("Mexican", "poor", 2)
    assert (row.in_votes, row.out_votes) == ((1, 2, 0), (2, 1, 0))
    assert (row.ratings, row.mean) == ((3.0, 2.0, 1.0), 2.0)


def test_a_state_file_has_no_out_region_votes(tmp_path):
    file = read_associations(release_files.states(tmp_path), states=True)
    assert [row.out_votes for row in file.rows] == [None, None]
    assert file.rows[1].mean == pytest.approx(5 / 3)


def test_not_rated_is_neither_zero_nor_a_rating(tmp_path):
    file = read(tmp_path, "French,wine,1,1,1,1,2,0,NA,NA,NA,0")
    assert (file.rows[0].ratings, file.rows[0].mean) == ((), None)
    assert codes(file) == {"rating_missing": 1}
    assert "mean 0 printed" in file.oddities[0].example
    file = read(tmp_path, "French,wine,1,1,1,1,2,0,n/a,NaN,,NA")
    assert (file.rows[0].ratings, file.rows[0].mean, codes(file)) == ((), None, {})


def test_the_longest_words_and_the_most_votes_are_read_and_names_are_trimmed(tmp_path):
    longest = f" {'M' * 120} "
    file = read(tmp_path, f"{longest},{'a' * 200},32767,0,0,3,0,0,-1,-1,-1,-1")
    [row] = file.rows
    assert (row.identity, row.in_votes[0]) == (longest.strip(), 32767)
    assert codes(file) == {"identity_trimmed": 1, "votes_merged": 1}


def test_every_oddity_is_counted_with_its_first_row(tmp_path):
    file = read(
        tmp_path,
        ROW,
        "Mexican, Poor ,4,2,0,6,0,0,4,4,4,2",
        '",Mexican",tall,1,2,0,1,2,0,2.5,2,1.5,2',
        "French,wine,1,1,0,1,2,0,1,NA,1,1",
        "",
        ROW,
    )
    assert codes(file) == {
        "row_blank": 1,
        "attribute_normalised": 1,
        "identity_stray_mark": 1,
        "row_repeated": 1,
        "rating_partly_missing": 1,
        "rating_decimal": 1,
        "mean_not_of_ratings": 1,
        "votes_merged": 1,
        "votes_fewer": 1,
    }
    assert {o.code: (o.row, o.example) for o in file.oddities} == {
        "row_blank": (6, "(empty)"),
        "attribute_normalised": (3, "' Poor '"),
        "identity_stray_mark": (4, "',Mexican' stored as 'Mexican'"),
        "row_repeated": (7, "Mexican, sombrero: as row 2"),
        "rating_partly_missing": (5, "French, wine: 2 of 3 ratings"),
        "rating_decimal": (4, "Mexican, tall: 2.5, 2, 1.5"),
        "mean_not_of_ratings": (3, "Mexican, poor: 4, 4, 4 with mean 2"),
        "votes_merged": (3, "Mexican, poor: 6 and 6 votes"),
        "votes_fewer": (5, "French, wine: 2 and 3 votes"),
    }
    assert (file.summary.rows_read, file.summary.rows_stored) == (6, 4)
    assert file.summary.rows_not_stored == sum(oddity.not_stored for oddity in file.oddities)
    assert {row.identity for row in file.rows} == {"Mexican", "French"}
    assert file.rows[1].attribute == "poor"


def test_votes_of_either_pool_may_be_more_or_fewer_and_a_mean_is_rounded(tmp_path):
    votes = ("4,0,0,3,0,0", "3,0,0,4,0,0", "2,0,0,3,0,0", "3,0,0,2,0,0")
    means = ("1.667", "1.667", "1.668", "1.667")
    rows = [f"Mexican,{number},{votes[number]},1,2,2,{means[number]}" for number in range(4)]
    assert codes(read(tmp_path, *rows)) == {"votes_merged": 2, "votes_fewer": 2, "mean_not_of_ratings": 1}


def test_marks_around_an_identity_go_and_an_apostrophe_that_disarms_a_formula(tmp_path):
    row = read(tmp_path, ROW.replace("Mexican,sombrero", "\"; 'Mexican ., \",'+1")).rows[0]
    assert (row.identity, row.attribute) == ("'Mexican", "+1")
    row = read(tmp_path, ROW.replace("Mexican", "'-ish")).rows[0]
    assert row.identity == "-ish"


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("Mexican,poor,-1,2,0,2,1,0,3,2,1,2", "region_stereo"),
        ("Mexican,poor,1,1.5,0,2,1,0,3,2,1,2", "region_nonstereo"),
        ("Mexican,poor,1,2,0,2,1,many,3,2,1,2", "NA_unsure"),
        ("Mexican,poor,1,2,0,32768,1,0,3,2,1,2", "NA_stereo"),
        ("Mexican,poor,²,2,0,2,1,0,3,2,1,2", "region_stereo"),
        ("Mexican,poor,1,2,0,2,1,0,3,2,-1.5,2", "Annotation3"),
        (f"{'M' * 121},poor,1,2,0,2,1,0,3,2,1,2", "identity"),
        ("Mexican,poor,1,2,0,2,1,0,5,2,1,2", "Annotation1"),
        ("Mexican,poor,1,2,0,2,1,0,3,inf,1,2", "Annotation2"),
        ("Mexican,poor,1,2,0,2,1,0,3,2,1,4.5", "mean offensiveness_score"),
        ("Mexican,poor,1,2,0,2,1,0,3,2,1,NA", "mean offensiveness_score"),
        (",poor,1,2,0,2,1,0,3,2,1,2", "identity"),
        ("Mexican,  ,1,2,0,2,1,0,3,2,1,2", "attribute"),
        (f"Mexican,{'a' * 201},1,2,0,2,1,0,3,2,1,2", "attribute"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_row_and_column(tmp_path, row, column):
    with pytest.raises(FileRefused, match=rf"stereotypes_global_v2\.csv, row 3, column '{column}': "):
        read(tmp_path, ROW, row)


@pytest.mark.parametrize("values", ["0,3,0,3,0,0,1,1,1,1", "2,1,0,0,3,0,1,1,1,1", "2,1,0,3,0,0,0,1,2,1"])
def test_two_rows_that_contradict_each_other_are_refused(tmp_path, values):
    said = r"row 3: 'Mexican, sombrero' is in row 2 too"
    for other in (values, "2,1,0,3,0,0,1,1,1,1.0001"):
        with pytest.raises(FileRefused, match=said):
            read(tmp_path, "Mexican,sombrero,2,1,0,3,0,0,1,1,1,1", f"Mexican,sombrero,{other}")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf_16_is_refused_as_an_encoding(tmp_path, encoding):
    path = release_files.seegull(tmp_path, encoding=encoding)
    with pytest.raises(FileRefused, match=r"not UTF-8.*Save it as 'CSV UTF-8'"):
        read_associations(path, states=False)


def test_latin_1_is_refused_with_the_row_of_its_first_foreign_letter(tmp_path):
    rows = (ROW, "Mexican,piñata,2,1,0,3,0,0,-1,-1,-1,-1")
    path = release_files.seegull(tmp_path, rows=rows, encoding="latin-1")
    with pytest.raises(FileRefused, match="row 3: the file is not UTF-8"):
        read_associations(path, states=False)


def test_utf_8_with_a_byte_order_mark_is_read(tmp_path):
    path = release_files.seegull(tmp_path, encoding="utf-8-sig")
    file = read_associations(path, states=False)
    assert len(file.rows) == 3
    assert file.summary.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_state_file_without_states_says_what_to_add(tmp_path):
    with pytest.raises(FileRefused, match=r"no column 'NA_stereo'.*Add --states"):
        read_associations(release_files.states(tmp_path), states=False)


def test_the_nationality_file_with_states_says_what_to_leave_out(tmp_path):
    with pytest.raises(FileRefused, match=r"no column 'offensiveness_score'.*Leave out --states"):
        read_associations(release_files.seegull(tmp_path), states=True)


def test_a_row_with_a_cell_too_few_or_too_many_is_refused(tmp_path):
    with pytest.raises(
        FileRefused, match=r"^stereotypes_global_v2\.csv, row 3: 11 cells where the header has 12"
    ):
        read(tmp_path, ROW, ROW.rpartition(",")[0])
    with pytest.raises(FileRefused, match="row 3: 13 cells where the header has 12"):
        read(tmp_path, ROW, f"{ROW},1")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04rest", "an Excel or zip file, not a CSV"),
        (b"\n\n", r"there is no column 'identity'\. The first row has: nothing\."),
        (release_files.SEEGULL_HEADER.encode(), "no rows below the header"),
        (release_files.SEEGULL_HEADER.encode() + b"\n,,,,,,,,,,,\n", "no rows below the header"),
        (
            release_files.SEEGULL_HEADER.encode() + b'\n"open"ed,1\nMexican\n',
            "row 2: this is not comma-sep.*Correct it there",
        ),
        (release_files.SEEGULL_HEADER.encode() + b",identity\n", "row 1, column 'identity': there are two"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, said):
    path = tmp_path / "some.csv"
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=said):
        read_associations(path, states=False)


def test_a_missing_file_a_folder_and_one_that_may_not_be_read_are_refused(tmp_path, monkeypatch):
    with pytest.raises(FileRefused, match="there is no such file"):
        read_associations(tmp_path / "nothing.csv", states=False)
    with pytest.raises(FileRefused, match="a folder, not a file"):
        read_associations(tmp_path, states=False)

    def locked(*args):
        raise PermissionError

    path = release_files.seegull(tmp_path)
    monkeypatch.setattr(Path, "open", locked)
    with pytest.raises(FileRefused, match="may not be read"):
        read_associations(path, states=False)


def test_an_oddity_is_one_that_is_described_and_its_example_is_short():
    log = OddityLog("a.csv")
    log.note("row_blank", row=2, example="x" * 201)
    assert [oddity.example for oddity in log.found()] == ["x" * 200]
    with pytest.raises(KeyError):
        log.note("row_odd", row=2, example="")


def test_columns_may_stand_in_another_order_and_further_ones_are_reported(tmp_path):
    names = release_files.SEEGULL_HEADER.split(",")
    path = release_files.seegull(
        tmp_path,
        header=" ,".join([*reversed(names), "note", ""]),
        rows=[",".join([*reversed(ROW.split(",")), "hello", ""])],
    )
    file = read_associations(path, states=False)
    assert file.rows[0].out_votes == (3, 0, 0)
    assert codes(file) == {"column_ignored": 1}
    assert (file.oddities[0].row, file.oddities[0].example) == (1, "column 'note'")


def test_the_table_of_identities_fits_the_catalogue():
    table = known_identities()
    assert len(table) == 176 + 53 + 14
    assert {entry.region for entry in table.values()} == set(Region.values)
    assert {axis for axis, _ in table} == {Axis.NATIONALITY, Axis.US_STATE, Axis.INDIAN_STATE}
    for entry in table.values():
        assert entry.demonym, entry
        assert entry.country, entry
    assert table["nationality", "United KingdomUK"].demonym == "British"
    assert table["nationality", "Mexican"].region == Region.LATIN_AMERICA


@pytest.mark.parametrize(
    ("name", "south"), [("Japanese", False), ("Russian", False), ("Turks", True), ("Singapore", True)]
)
def test_global_north_is_what_unctad_calls_developed(name, south):
    assert known_identities()["nationality", name].global_south is south


@pytest.mark.release
def test_the_released_nationalities_are_read_with_the_known_oddities(released):
    file = read_associations(released / "seegull" / "stereotypes_global_v2.csv", states=False)
    assert (file.summary.rows_read, len(file.rows)) == (6781, 6781)
    assert codes(file) == {
        "rating_missing": 1197,
        "rating_decimal": 29,
        "mean_not_of_ratings": 99,
        "votes_merged": 278,
    }
    known = known_identities()
    assert {("nationality", row.identity) for row in file.rows} == {
        key for key in known if key[0] == "nationality"
    }


@pytest.mark.release
def test_the_released_states_are_read_with_the_known_oddities(released):
    us = read_associations(released / "seegull" / "stereotypes_us_states.csv", states=True)
    assert codes(us) == {"attribute_normalised": 5, "identity_stray_mark": 2, "rating_missing": 178}
    assert len(us.rows) == 468
    indian = read_associations(released / "seegull" / "stereotypes_indian_states.csv", states=True)
    assert codes(indian) == {"rating_missing": 16}
    assert len(indian.rows) == 39
