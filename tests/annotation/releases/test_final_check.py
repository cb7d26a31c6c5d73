"""The last check of a release: what the written files say, whatever was meant to be in them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.releases.final_check import check
from annotation.releases.request import ReleaseRefused


def written(folder, annotators, *answers):
    """The files of a release that the check reads; an answer is its annotator and its stratum."""
    (folder / "annotators.csv").write_text("\n".join(("annotator,simulated,origin", *annotators)) + "\n")
    lines = (",".join(answer) for answer in (("annotator", "stratum"), *answers))
    (folder / "annotations.csv").write_text("\n".join(lines) + "\n")
    names, strata = ([answer[place] for answer in answers] for place in (0, 1))
    table = pa.table({"annotator": pa.array(names, pa.string()), "stratum": pa.array(strata, pa.string())})
    pq.write_table(table, folder / "annotations.parquet")
    return folder


@pytest.mark.parametrize(
    ("annotators", "answers", "said"),
    [
        (["A,no,Asia"], [], r"annotators\.csv: 1 share the values \(Asia\), fewer than 2"),
        (["A,yes,Asia"], [], r"annotators\.csv: 1 share the values \(Asia\), fewer than 2"),
        (["A,no,Asia", "B,yes,Asia"], [], "1 share the values"),
        (["A,no,Asia", "B,no,Asia", "C,no,"], [], r"1 share the values \(blank\)"),
        (["A,no,", "B,no,"], [("C", "")], r"annotations\.csv: 'C' is not in annotators\.csv"),
        (["A,no,Asia", "B,no,Asia"], [("A", "gender: man")], "the stratum 'gender: man' discloses more"),
        # a wider value leaves open which of its regions it is
        (["A,no,Global South", "B,no,Global South"], [("A", "origin: not Europe")], "discloses more"),
    ],
)
def test_what_says_more_than_it_may_is_refused(tmp_path, annotators, answers, said):
    with pytest.raises(ReleaseRefused, match=said):
        check(written(tmp_path, annotators, *answers), k=2)


@pytest.mark.parametrize(
    ("annotators", "answers"),
    [
        (["A,no,"], [("A", ""), ("", "origin: Asia")]),
        (["A,no,Asia", "B,no,Asia", "C,yes,"], [("A", "origin: Asia"), ("C", "any")]),
        (["A,no,'=x", "B,no,'=x"], [("A", "origin: =x")]),
    ],
)
def test_what_says_nothing_of_too_few_people_is_released(tmp_path, annotators, answers):
    check(written(tmp_path, annotators, *answers), k=2)
