"""The final check of a release before it appears. It reads only the written files, independently of the code
that wrote them."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from annotation.core import csv_text, strata
from annotation.releases import columns
from annotation.releases.coarsening import WIDER
from annotation.releases.request import ReleaseRefused

_COLUMNS = ["annotator", "stratum"]


def check(folder: Path, *, k: int) -> None:
    """Raises ReleaseRefused unless the release keeps its promises: in annotators.csv at least `k` people
    share each combination of values, counting blanks as values (programs are counted separately), or nothing
    is published of anybody; and each stratum in the answers follows from annotators.csv."""
    people = _read_annotators(folder)
    for simulated in (False, True):
        rows = [tuple(values.values()) for program, values in people.values() if program == simulated]
        if any(any(row) for row in rows):
            row, number = min(Counter(rows).items(), key=lambda cell: cell[1])
            if number < k:
                shared = ", ".join(value or "blank" for value in row)
                raise _refused(columns.ANNOTATORS, f"{number} share the values ({shared}), fewer than {k}")
    for file, read in ((columns.ANNOTATIONS, _from_csv), (columns.PARQUET, _from_parquet)):
        # An answer without an annotator may have a stratum: it then describes the answer, not a person
        for annotator, stratum in {row for row in read(folder / file) if row[0]}:
            if annotator not in people:
                raise _refused(file, f"'{annotator}' is not in {columns.ANNOTATORS}")
            _, values = people[annotator]
            exact = {name: value for name, value in values.items() if value not in WIDER}
            if stratum and not strata.parse(stratum).matches(exact):
                problem = f"the stratum '{stratum}' discloses more about an annotator than"
                raise _refused(file, f"{problem} {columns.ANNOTATORS}")


def _refused(file: str, problem: str) -> ReleaseRefused:
    return ReleaseRefused(
        f"The release failed its final check: {file}: {problem}. Nothing was published. This is an error in "
        "the program: please report it."
    )


def _read_annotators(folder: Path) -> dict[str, tuple[bool, dict[str, str]]]:
    """Pseudonym -> whether it is a program, and the published values."""
    annotators = {}
    with (folder / columns.ANNOTATORS).open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            values = {name: csv_text.text_of_cell(value) for name, value in row.items()}
            annotators[values.pop("annotator")] = values.pop("simulated") == "yes", values
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
