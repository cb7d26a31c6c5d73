"""The final check of a release before it appears. It reads only the written files, independently of the code
that wrote them."""

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

_COLUMNS = ["annotator", "stratum"]


@dataclass(frozen=True)
class _Annotator:
    simulated: bool
    values: dict[str, str]

    @property
    def exact_values(self) -> dict[str, str]:
        """The published values that were not widened."""
        return {name: value for name, value in self.values.items() if value not in WIDER}


def check(folder: Path, *, k: int) -> None:
    """Raises ReleaseRefused unless the release keeps its promises: in annotators.csv at least `k` people
    share each combination of values, counting blanks as values (programs are counted separately), or nothing
    is published of anybody; and each stratum in the answers follows from annotators.csv."""
    people = _read_annotators(folder)
    for simulated in (False, True):
        rows = [tuple(one.values.values()) for one in people.values() if one.simulated == simulated]
        if any(any(row) for row in rows):
            row, number = min(Counter(rows).items(), key=lambda cell: cell[1])
            if number < k:
                values = ", ".join(value or "blank" for value in row)
                raise _refused(columns.ANNOTATORS, f"{number} share the values ({values}), fewer than {k}")
    answers = {columns.ANNOTATIONS: _from_csv, columns.PARQUET: _from_parquet}
    for file, read in answers.items():
        # An answer without an annotator may have a stratum: it then describes the answer, not a person
        for annotator, stratum in {row for row in read(folder / file) if row[0]}:
            _check_answer(file, people, annotator, stratum)


def _check_answer(file: str, people: dict[str, _Annotator], annotator: str, stratum: str) -> None:
    one = people.get(annotator)
    if one is None:
        raise _refused(file, f"'{annotator}' is not in {columns.ANNOTATORS}")
    if stratum and not strata.parse(stratum).matches(one.exact_values):
        raise _refused(
            file, f"the stratum '{stratum}' discloses more about an annotator than {columns.ANNOTATORS}"
        )


def _refused(file: str, problem: str) -> ReleaseRefused:
    return ReleaseRefused(
        f"The release failed its final check: {file}: {problem}. Nothing was published. This is an error in "
        "the program: please report it."
    )


def _read_annotators(folder: Path) -> dict[str, _Annotator]:
    annotators: dict[str, _Annotator] = {}
    with (folder / columns.ANNOTATORS).open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            values = {name: csv_text.text_of_cell(value) for name, value in row.items()}
            annotators[values.pop("annotator")] = _Annotator(values.pop("simulated") == "yes", values)
    return annotators


def _from_csv(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        annotator, stratum = map(next(rows).index, _COLUMNS)
        # Lists instead of dicts: there may be millions of rows
        for row in rows:
            yield row[annotator], csv_text.text_of_cell(row[stratum])


def _from_parquet(path: Path) -> Iterator[tuple[str, str]]:
    for batch in pq.ParquetFile(path).iter_batches(columns=_COLUMNS):
        yield from zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True)
