"""The last look at a release before it is published: at its written files alone, and not at how they came
about. What does not hold there is not published."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from annotation.core import csv_text, strata
from annotation.releases import columns
from annotation.releases.coarsening import WIDER
from annotation.releases.request import ReleaseRefused

_OF_WHOM = ["annotator", "stratum"]


@dataclass(frozen=True)
class _Annotator:
    simulated: bool
    told: dict[str, str]

    @property
    def exactly(self) -> dict[str, str]:
        """What is told as it was said, and not in wider words."""
        return {name: value for name, value in self.told.items() if value not in WIDER}


def check(folder: Path, *, k: int) -> None:
    """Raises ReleaseRefused unless of people, and apart from them of programs, nothing is told or each
    combination of values in annotators.csv, blanks among them, is that of at least `k`; and unless each
    stratum in the answers follows from what annotators.csv tells."""
    people = _people(folder)
    for simulated in (False, True):
        rows = [tuple(one.told.values()) for one in people.values() if one.simulated == simulated]
        if any(any(row) for row in rows):
            row, number = min(Counter(rows).items(), key=lambda cell: cell[1])
            if number < k:
                told = ", ".join(value or "blank" for value in row)
                raise _refused(columns.ANNOTATORS, f"{number} share the values ({told}), fewer than {k}")
    answers = {columns.ANNOTATIONS: _from_csv, columns.PARQUET: _from_parquet}
    for file, read in answers.items():
        # an answer of nobody who is known may have a stratum: it is of the answer, then, and of no person
        for annotator, stratum in {row for row in read(folder / file) if row[0]}:
            _check_answer(file, people, annotator, stratum)


def _check_answer(file: str, people: dict[str, _Annotator], annotator: str, stratum: str) -> None:
    one = people.get(annotator)
    if one is None:
        raise _refused(file, f"'{annotator}' is not in {columns.ANNOTATORS}")
    if stratum and not strata.parse(stratum).matches(one.exactly):
        raise _refused(file, f"the stratum '{stratum}' says more of an annotator than {columns.ANNOTATORS}")


def _refused(file: str, problem: str) -> ReleaseRefused:
    return ReleaseRefused(
        f"The release was made and then looked at, and does not hold what it promises: {file}: {problem}. "
        "Nothing was published. This is a fault of the program: please report it."
    )


def _people(folder: Path) -> dict[str, _Annotator]:
    found: dict[str, _Annotator] = {}
    with (folder / columns.ANNOTATORS).open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            told = {name: csv_text.text_of_cell(value) for name, value in row.items()}
            found[told.pop("annotator")] = _Annotator(told.pop("simulated") == "yes", told)
    return found


def _from_csv(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        annotator, stratum = map(next(rows).index, _OF_WHOM)
        # of each row a list and no dict: there are millions
        for row in rows:
            yield row[annotator], csv_text.text_of_cell(row[stratum])


def _from_parquet(path: Path) -> Iterator[tuple[str, str]]:
    for batch in pq.ParquetFile(path).iter_batches(columns=_OF_WHOM):
        yield from zip(*(batch.column(name).to_pylist() for name in _OF_WHOM), strict=True)


__all__ = ["check"]
