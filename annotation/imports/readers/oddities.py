"""What readers report about a file: errors, oddities and row counts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

MOST_TOLD = 10


class FileRefused(ValueError):
    """A file that cannot be imported. The message gives the position in the file and what to do; `lines` is
    the message by problem."""

    def __init__(
        self, file: Path | str, problem: str, fix: str, *, sheet: str = "", row: int = 0, column: str = ""
    ) -> None:
        place = [Path(file).name]
        if sheet:
            place.append(f"sheet '{sheet}'")
        if row:
            place.append(f"row {row}")
        if column:
            place.append(f"column '{column}'")
        super().__init__(f"{', '.join(place)}: {problem} {fix}")
        self.lines = [str(self)]


class RowsRefused(FileRefused):
    """Several problems of a file, in its order."""

    def __init__(self, problems: Sequence[FileRefused]) -> None:
        lines = [str(each) for each in problems[:MOST_TOLD]]
        if len(problems) > MOST_TOLD:
            lines.append(f"... and {len(problems) - MOST_TOLD} more.")
        ValueError.__init__(self, "\n".join(lines))
        self.lines = lines


def refuse_rows(problems: Sequence[FileRefused]) -> None:
    """Raise RowsRefused if there are `problems`."""
    if problems:
        raise RowsRefused(problems)


# Every oddity that a reader or an importer can report: its description, and how it is handled.
ODDITY_KINDS = {
    # any file
    "column_ignored": ("a column that is not part of the release", "ignored"),
    "sheet_ignored": ("a further sheet, which is not part of the data", "ignored"),
    "row_blank": ("a row with nothing in it", "not stored"),
    "attribute_normalised": ("an attribute with capitals or spaces around it", "stored trimmed, lower-case"),
    "identity_unlisted": (
        "an identity that annotation/imports/data/identities.csv does not list",
        "stored under its own name; country, region and Global South left blank",
    ),
    "identity_misspelled": (
        "an identity spelled oddly in SeeGULL and ViSAGe alike",
        "name kept, so that the two match; demonym and country from the table",
    ),
    # SeeGULL
    "identity_stray_mark": (
        "an identity with a stray mark before or after it",
        "stored without the mark, with the others of its name",
    ),
    "identity_trimmed": ("an identity with spaces around it", "stored trimmed"),
    "row_repeated": ("a row that repeats an earlier row", "not stored again"),
    "rating_missing": (
        "nobody rated its offensiveness (NA), yet a mean is printed",
        "stored with no rating and no mean",
    ),
    "rating_partly_missing": ("only some of the three offensiveness ratings", "stored as they are"),
    "rating_decimal": (
        "an offensiveness rating that is not a whole number (merged rows)",
        "stored as printed",
    ),
    "mean_not_of_ratings": (
        "the printed mean is not the mean of the three ratings (merged rows)",
        "mean stored as printed",
    ),
    "votes_merged": ("more votes than three (rows merged by the authors)", "stored as printed"),
    "votes_fewer": ("fewer votes than three", "stored as printed"),
    # ViSAGe, visual attributes
    "attribute_twice": ("an attribute that is rated more than once", "stored as a unit of its own each time"),
    "rating_without_reason": (
        "an 'unsure' rating; the release leaves its justification out",
        "stored with no justification",
    ),
    "mean_not_of_scores": ("the printed mean is not the mean of the three scores", "scores stored, mean not"),
    # ViSAGe, image annotations
    "row_without_image": ("a row with neither image nor attribute", "not stored"),
    "box_clipped": ("a box that reaches outside the image", "clipped to the image"),
    "box_corners_swapped": ("a box whose corners come in another order", "stored as x0 < x1, y0 < y1"),
    "box_without_area": (
        "a box of which nothing is left inside the image",
        "box not stored; its 'yes' is stored",
    ),
    "box_missing": ("a 'yes' without a box", "stored without a box"),
    "none_of_above_never_yes": ("'none of the above' is shown, but is never 'yes'", "stored as shown"),
    "none_of_above_yes": ("'none of the above' is 'yes'", "stored as it is"),
    "page_judged_once": ("a page with one response instead of three", "stored with one response"),
    "page_judged_twice": ("a page with two responses instead of three", "stored with two responses"),
    "page_judged_more": (
        "a page with more than three responses in a row",
        "every further three are a unit of their own",
    ),
    "page_repeated": (
        "a page of the same image with the same attributes as another, elsewhere or by another worker_id",
        "stored as a unit of its own",
    ),
    "worker_names_page": (
        "a worker_id whose rows are one page judged again and again: it names the page, not a person",
        "responses stored without an annotator",
    ),
    "worker_many_images": ("a worker_id that spans several images", "responses stored without an annotator"),
    "image_in_two_folders": (
        "an image file name that occurs in two folders: perhaps two pictures",
        "stored as one image",
    ),
    "folder_dropped": ("a folder of the authors' own machine before the file name", "only the name is kept"),
}


@dataclass
class Oddity:
    """A kind of oddity in one file: how often it occurs, one example with its row in the spreadsheet, and the
    number of rows that are left out because of it."""

    code: str
    file: str
    sheet: str
    row: int
    example: str
    count: int = 0
    not_stored: int = 0

    @property
    def description(self) -> str:
        return ODDITY_KINDS[self.code][0]

    @property
    def handling(self) -> str:
        return ODDITY_KINDS[self.code][1]


class OddityLog:
    """Counts the oddities of one file, and keeps the first of each kind as an example."""

    def __init__(self, file: Path | str, sheet: str = "") -> None:
        self.file, self.sheet = Path(file).name, sheet
        self._found: dict[str, Oddity] = {}

    def note(self, code: str, *, row: int, example: str, count: int = 1, not_stored: int = 0) -> None:
        if code not in ODDITY_KINDS:
            raise KeyError(code)
        oddity = self._found.setdefault(code, Oddity(code, self.file, self.sheet, row, example[:200]))
        oddity.count += count
        oddity.not_stored += not_stored

    def found(self) -> tuple[Oddity, ...]:
        return tuple(self._found[code] for code in ODDITY_KINDS if code in self._found)


@dataclass(frozen=True)
class FileSummary:
    """Row counts of a file without its header: rows_read = rows_stored + rows_not_stored."""

    name: str
    sheet: str
    sha256: str
    rows_read: int
    rows_stored: int

    @property
    def rows_not_stored(self) -> int:
        return self.rows_read - self.rows_stored


Row = TypeVar("Row")


@dataclass(frozen=True)
class ReadFile(Generic[Row]):
    """What a reader returns."""

    summary: FileSummary
    rows: list[Row]
    oddities: tuple[Oddity, ...]


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_is_file(path: Path, *, or_else: str = "") -> None:
    """Raises FileRefused if `path` is missing, a folder, unreadable or empty. `or_else`: what else helps,
    such as "or use --download"."""
    further = f", {or_else}" if or_else else ""
    if path.is_dir():
        raise FileRefused(path, "this is a folder, not a file.", "Name the file inside it.")
    if not path.is_file():
        raise FileRefused(path, f"there is no such file ({path}).", f"Check the path{further}.")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise FileRefused(path, "the file is empty.", f"Name another file{further}.")
    except PermissionError as error:
        raise FileRefused(path, "the file may not be read.", "Change its permissions.") from error
