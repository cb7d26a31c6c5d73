"""Read the tables of answers of BiasDora's authors (PROTOCOL §11). Pure: no Django.

Words: `bias_type,template,answer_a ... answer_z,run,seed`, a row for each template and run. Texts:
`id,generated_output`, a row for each image, perhaps with `bias_type`, `directory_name`, `run` and `seed`. CSV
in UTF-8, perhaps compressed. A file is read twice, one row at a time: first it is checked, then it is stored.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from generation.answers.line_files import Record, records
from generation.core.file_errors import FileUnusable
from metrics.associations.askings import LETTERS, Descriptor
from metrics.associations.descriptors import (
    LONGEST,
    descriptor_of,
    dimension_problem,
    find_dimension,
    of_template,
)

WORD_COLUMNS = ("bias_type", "template", *(f"answer_{letter}" for letter in LETTERS), "run", "seed")
TEXT_COLUMNS = ("id", "generated_output")
_MOST_ERRORS = 20
_MOST_RUN = 2**31 - 2
_MOST_SEED = 2**63 - 1
_ENDING = re.compile(r"(?:_(?:natural|vivid)(?:_.*)?|_\d+)$", re.I)
_FILE_ENDING = re.compile(r"\.[a-z]{3,4}$", re.I)
_TARGET = "target_"


@dataclass(frozen=True, slots=True)
class WordsRow:
    """The answers of one template in one run. `answers`: (letter, text), without those that are blank."""

    descriptor: Descriptor
    run: int
    seed: int | None
    answers: tuple[tuple[str, str], ...]

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class TextRow:
    """What was said of an image. `dimension` "": the file does not say it."""

    name: str
    dimension: str
    image: str
    run: int
    seed: int | None
    text: str

    def __len__(self) -> int:
        return 1 if self.text.strip() else 0


Row = TypeVar("Row", WordsRow, TextRow)


@dataclass(frozen=True)
class CheckedTable(Generic[Row]):
    """A file without errors. `answers`: how many there are. `first_run`: 0 or 1, as the file counts them.
    `descriptors`: the distinct ones, in order of appearance."""

    path: Path
    read: Callable[[Record], Row]
    answers: int
    first_run: int
    descriptors: tuple[Descriptor, ...]

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """(number of the row below the header, row)."""
        for number, record in enumerate(records(self.path), start=1):
            try:
                yield number, self.read(record)
            except _RowRefused as refused:
                changed = "The file was changed while it was read. Import it again."
                raise FileUnusable(self.path, [changed]) from refused


class _RowRefused(ValueError):
    """What is wrong with a row."""


def check_words(path: Path) -> CheckedTable[WordsRow]:
    """Check a table of words. Raises FileUnusable, which names each wrong row."""
    return _checked(path, WORD_COLUMNS, words_row, lambda row: row.descriptor)


def check_texts(path: Path) -> CheckedTable[TextRow]:
    """Check a table of texts. Raises FileUnusable, which names each wrong row."""
    return _checked(path, TEXT_COLUMNS, text_row, lambda row: Descriptor(row.dimension, row.name))


def _checked(
    path: Path,
    columns: Sequence[str],
    read: Callable[[Record], Row],
    descriptor: Callable[[Row], Descriptor],
) -> CheckedTable[Row]:
    errors: list[str] = []
    wrong = answers = 0
    first_run = 1
    found: dict[Descriptor, None] = {}
    for number, record in enumerate(records(path), start=1):
        if number == 1:
            _check_columns(path, record, columns)
        try:
            row = read(record)
        except _RowRefused as refused:
            wrong += 1
            if len(errors) < _MOST_ERRORS:
                errors.append(f"{record.place}: {refused}.")
            continue
        answers += len(row)
        first_run = min(first_run, row.run)
        found.setdefault(descriptor(row))
    if errors:
        raise FileUnusable(path, errors, wrong)
    if not answers:
        raise FileUnusable(path, [f"There are no answers below the columns {', '.join(columns[:3])} ..."])
    return CheckedTable(path, read, answers, first_run, tuple(found))


def _check_columns(path: Path, record: Record, columns: Sequence[str]) -> None:
    if record.problem:
        return
    for column in columns:
        if column not in record.values:
            there = ", ".join(record.values)[:200]
            wanted = "bias_type, template, answer_a to answer_z, run, seed"
            if columns is TEXT_COLUMNS:
                wanted = ", ".join(TEXT_COLUMNS)
            raise FileUnusable(
                path,
                [
                    f"row 1: there is no column '{column}'. The columns are: {there}. Needed are {wanted}, "
                    "separated by commas."
                ],
            )


def words_row(record: Record) -> WordsRow:
    """Raises _RowRefused."""
    values = _values(record)
    bias_type, template = values["bias_type"].strip(), " ".join(values["template"].split())
    dimension = find_dimension(bias_type)
    if not dimension:
        raise _RowRefused(dimension_problem("bias_type", bias_type))
    if not 0 < len(descriptor_of(template)) <= LONGEST:
        raise _RowRefused(f"column 'template': '{template[:40]}' names nobody, or is too long")
    answers = ((letter, values[f"answer_{letter}"]) for letter in LETTERS)
    return WordsRow(
        of_template(dimension, template),
        _whole("run", values["run"], _MOST_RUN),
        _whole("seed", values["seed"], _MOST_SEED) if values["seed"].strip() else None,
        tuple((letter, text) for letter, text in answers if text.strip()),
    )


def text_row(record: Record) -> TextRow:
    """Raises _RowRefused."""
    values = _values(record)
    image, bias_type = values["id"].strip(), values.get("bias_type", "").strip()
    dimension = find_dimension(bias_type)
    if bias_type and not dimension:
        raise _RowRefused(dimension_problem("bias_type", bias_type))
    name = name_in_id(image)
    if not 0 < len(name) <= LONGEST:
        raise _RowRefused(
            f"column 'id': '{image[:40]}' names nobody; write for example target_old_person_3.png"
        )
    run, seed = values.get("run", "").strip(), values.get("seed", "").strip()
    return TextRow(
        name,
        dimension or find_dimension(values.get("directory_name", "")),
        image,
        _whole("run", run, _MOST_RUN) if run else 1,
        _whole("seed", seed, _MOST_SEED) if seed else None,
        values["generated_output"],
    )


def name_in_id(image: str) -> str:
    """The descriptor in the name of an image: what follows `target_`, without the number at its end.

    Examples
    --------
    >>> name_in_id("id_0_target_old_person_3.png"), name_in_id("x_target_child_natural_2.png")
    ('old person', 'child')
    """
    stem = _FILE_ENDING.sub("", image.replace("\\", "/").rsplit("/", 1)[-1])
    _before, target, after = stem.partition(_TARGET)
    return " ".join(_ENDING.sub("", after if target else stem).replace("_", " ").split())


class RowNumbers:
    """Numbers the templates of a file from 1, in order of appearance; one that stands twice in a run has two
    numbers."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[int, Descriptor]] = Counter()
        self._numbers: dict[tuple[Descriptor, int], int] = {}

    def number(self, row: WordsRow) -> int:
        self._seen[row.run, row.descriptor] += 1
        place = (row.descriptor, self._seen[row.run, row.descriptor])
        return self._numbers.setdefault(place, len(self._numbers) + 1)


def _values(record: Record) -> dict[str, Any]:
    if record.problem:
        raise _RowRefused(record.problem.rstrip("."))
    if not all(isinstance(value, str) for value in record.values.values()):
        return {name: "" if value is None else str(value) for name, value in record.values.items()}
    return record.values


def _whole(column: str, text: str, most: int) -> int:
    """A whole number, perhaps written as 3.0."""
    cell = text.strip().removesuffix(".0")
    if not (cell.isascii() and cell.isdigit() and int(cell) <= most):
        raise _RowRefused(f"column '{column}': '{text[:40]}' is no whole number from 0 to {most}")
    return int(cell)
