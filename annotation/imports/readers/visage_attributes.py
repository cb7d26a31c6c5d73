"""Reader of ViSAGe's ratings of attributes, `Visual Attributes_.xlsx` (PROTOCOL §2, §13)."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.imports.readers.oddities import FileRefused, OddityLog, ReadFile
from annotation.imports.readers.tables import FIRST_ROW, read_sheet

SHEET = "all_visual_attr"
ORIGINS = {"asia": "Asia", "emea": "EMEA", "na": "North America"}
"""Suffix of the columns -> origin of the rater, in the order of the columns."""

SCORES = {
    "Strongly Agree": 5,
    "Agree": 4,
    "Unsure (with Justification)": 3,
    "Disagree": 2,
    "Strongly Disagree": 1,
}
COLUMNS = ("attribute", *(f"{kind}_{origin}" for origin in ORIGINS for kind in ("rating", "score")), "mean")
LONGEST = 200
ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class RatedAttribute:
    """One attribute with a score (1..5) per origin, in the order of ORIGINS. `repeat`: the number of earlier
    rows of the same attribute."""

    row: int
    attribute: str
    repeat: int
    scores: tuple[int, ...]


AttributeFile = ReadFile[RatedAttribute]


def read_attributes(path: Path) -> AttributeFile:
    """Read the ratings of every attribute. Raises FileRefused, also if a label and its score contradict."""
    table = read_sheet(path, SHEET, COLUMNS)
    rows: list[RatedAttribute] = []
    times: Counter[str] = Counter()
    for number, cells in enumerate(table.rows, start=FIRST_ROW):
        if all(cell == "" for cell in cells):
            table.log.note("row_blank", row=number, example="(empty)", not_stored=1)
            continue
        row = _row(path, number, dict(zip(COLUMNS, cells, strict=True)), times, table.log)
        rows.append(row)
        times[row.attribute] += 1
        if row.repeat:
            table.log.note("attribute_twice", row=number, example=f"'{row.attribute}', time {row.repeat + 1}")
    return table.read_file(rows, rows_stored=len(rows))


def _row(
    path: Path, number: int, cells: dict[str, Any], times: Counter[str], log: OddityLog
) -> RatedAttribute:
    def refuse(column: str, problem: str, fix: str) -> FileRefused:
        return FileRefused(path, problem, fix, sheet=SHEET, row=number, column=column)

    raw = cells["attribute"]
    if not isinstance(raw, str) or not raw.strip() or len(raw) > LONGEST:
        raise refuse(
            "attribute", f"'{raw}' is not an attribute.", f"Write a text of 1 to {LONGEST} characters."
        )
    attribute = raw.strip().lower()
    if attribute != raw:
        log.note("attribute_normalised", row=number, example=f"'{raw}'")
    scores: list[int] = []
    for origin, place in ORIGINS.items():
        label, score = cells[f"rating_{origin}"], cells[f"score_{origin}"]
        wanted = SCORES.get(label.strip()) if isinstance(label, str) else None
        if wanted is None:
            raise refuse(
                f"rating_{origin}", f"'{label}' is not a rating.", f"Write one of: {', '.join(SCORES)}."
            )
        if isinstance(score, bool) or not isinstance(score, int | float) or score != wanted:
            raise refuse(
                f"score_{origin}",
                f"the score '{score}' contradicts the rating '{label}', which is {wanted}.",
                "Correct one of the two.",
            )
        if label.strip().startswith("Unsure"):
            log.note("rating_without_reason", row=number, example=f"'{attribute}', rater of {place}")
        scores.append(wanted)
    mean = cells["mean"]
    if isinstance(mean, bool) or not isinstance(mean, int | float):
        raise refuse("mean", f"'{mean}' is not a number.", "Write the mean of the three scores.")
    if abs(mean - sum(scores) / len(scores)) > ROUNDING:
        log.note("mean_not_of_scores", row=number, example=f"'{attribute}': {mean:g}, scores {scores}")
    return RatedAttribute(row=number, attribute=attribute, repeat=times[attribute], scores=tuple(scores))
