"""The table of images: what its cells may hold, and which file a row names."""

import pytest

from annotation.imports.readers.oddities import FileRefused
from annotation.models import Attribute, IdentityGroup, Image
from generation.models import Provenance
from generation.uploads import bundles, tables
from tests.generation.uploads.bundles import table, zipped


def read(files, **options):
    with bundles.open_bundle(zipped(files), name="pack.zip") as bundle:
        return tables.read_table(bundle, **options)


def read_row(**cells):
    """The only row of a table with these cells."""
    row = {"file": "1.png", "group": "Indian", **cells}
    [found] = read({row["file"]: b"", "t.csv": table(row)}).rows
    return found


def refused(**cells):
    with pytest.raises(FileRefused) as caught:
        read_row(**cells)
    return str(caught.value)


LONGEST = {
    column: kind._meta.get_field(name).max_length
    for column, kind, name in [
        ("file", Image, "reference"),
        ("group", IdentityGroup, "name"),
        ("prompt", Image, "prompt"),
        ("attribute", Attribute, "text"),
        *((name, Provenance, name) for name in ("model", "revision")),
    ]
} | {"note": 10_000}


@pytest.mark.parametrize(("column", "longest"), LONGEST.items())
def test_a_cell_holds_as_much_as_the_database(column, longest):
    others = {"prompt_set": "stereotypical"} if column == "attribute" else {}
    assert len(getattr(read_row(**others, **{column: "x" * longest}), column)) == longest
    told = refused(**others, **{column: "x" * (longest + 1)})
    assert f"column '{column}': it has more than {longest} characters" in told


def test_cells_are_read_without_the_spaces_and_capitals_around_them():
    text = (
        " File ,GROUP,Prompt_Set,attribute,seed\n"
        f' ./1.png , Indian ,Non_Stereotypical," Very  POOR ",{2**63 - 1}\n'
        "2.png,Indian,,old,0\n , ,,,\n3.png,Indian,,,\n"
    )
    first, second, third = read({**dict.fromkeys(("1.png", "2.png", "3.png"), b""), "t.csv": text}).rows
    assert (first.file, first.path, first.group) == ("1.png", "1.png", "Indian")
    assert (first.prompt_set, first.attribute, first.seed) == ("non_stereotypical", "very poor", 2**63 - 1)
    assert (second.prompt_set, second.attribute, second.seed) == ("", "old", 0)
    assert (third.number, third.seed) == (5, None)


@pytest.mark.parametrize("seed", ["-1", "²", "1" * 5000, str(2**63)])
def test_a_seed_is_a_whole_number_that_the_database_holds(seed):
    assert "is not a whole number from 0" in refused(seed=seed)


def test_a_file_is_named_from_the_tables_folder_first_and_else_from_the_bundles(tmp_path):
    files = {
        "in/1.png": b"",
        "1.png": b"",
        "2.png": b"",
        "3.png": b"",
        "in/T.CSV": "file,group\n1.png,A\n2.png,A\n",
    }
    found = read(files)
    assert [row.path for row in found.rows] == ["in/1.png", "2.png"]
    assert found.unlisted == ("1.png", "3.png")
    beside = tmp_path / "mine.csv"
    beside.write_text("file,group\n1.png,A\n")
    found = read(files, table=beside)
    assert (found.name, [row.path for row in found.rows]) == ("mine.csv", ["1.png"])
    assert found.unlisted == ("2.png", "3.png", "in/1.png")


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(FileRefused, match="row 2: 3 cells where the header has 2"):
        read({"1.png": b"", "t.csv": "file,group\n1.png,A,\n"})


def test_every_wrong_row_is_told_at_once_ten_at_most():
    rows = "1.png,A\n2.png,\n1.png,A\n3.png,A,B\n1.png\n4.png,A\n"
    with pytest.raises(FileRefused) as caught:
        read({"1.png": b"", "2.png": b"", "t.csv": f"file,group\n{rows}"})
    assert [line.partition(": ")[0] for line in caught.value.lines] == [
        "t.csv, row 3, column 'group'",
        "t.csv, row 4, column 'file'",
        "t.csv, row 5",
        "t.csv, row 6",
        "t.csv, row 7, column 'file'",
    ]
    assert str(caught.value).splitlines() == caught.value.lines
    for number, last in ((10, "t.csv, row 11"), (12, "... and 2 more.")):
        with pytest.raises(FileRefused) as caught:
            read({"1.png": b"", "t.csv": "file,group\n" + "1.png\n" * number})
        assert caught.value.lines[-1].startswith(last)


def test_a_table_may_be_as_large_as_the_limit(monkeypatch, tmp_path):
    text = "file,group\n1.png,A\n"
    beside = tmp_path / "mine.csv"
    beside.write_text(text)
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", len(text))
    for options in ({}, {"table": beside}):
        files = {"1.png": b"", **({} if options else {"t.csv": text})}
        assert len(read(files, **options).rows) == 1
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 2_000_000)
    with pytest.raises(FileRefused, match="it is larger than 2 MB"):
        tables._records("t.csv", bytes(2_000_001))
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", len(text) - 1)
    for options in ({}, {"table": beside}):
        files = {"1.png": b"", **({} if options else {"t.csv": text})}
        with pytest.raises(FileRefused, match="it is larger than"):
            read(files, **options)


def test_a_table_with_null_characters_is_no_text():
    with pytest.raises(FileRefused, match="not a text file"):
        read({"1.png": b"", "t.csv": "file,group\n1.png,A\0\n"})
