"""Reader of ViSAGe's annotations of images, `Image Annotations.xlsx` (PROTOCOL §5, §13). A response is five
consecutive rows; `worker_id` identifies the page, not the person who answered."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from annotation.imports.readers.identities import MISSPELLED
from annotation.imports.readers.oddities import FileRefused, OddityLog, ReadFile
from annotation.imports.readers.tables import FIRST_ROW, read_sheet

SHEET = "full_set_annotations"
COLUMNS = ("worker_id", "img_path", "attribute", "present", "coords")
NONE_OF_ABOVE = "none of the above"
PAGE_ROWS = 5
RESPONSES = 3
"""Target number of responses per page (PROTOCOL §5)."""
IMAGE_SIZE = 512
"""Width and height of every image of the release, in pixels."""
LONGEST_ATTRIBUTE, LONGEST_WORKER = 200, 80

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels: x0 < x1, y0 < y1, inside the image."""

_NUMBER = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_COORDS = re.compile(rf"\[\s*'{_NUMBER},\s*{_NUMBER}'\s*,\s*'{_NUMBER},\s*{_NUMBER}'\s*\]")
_IMAGE = re.compile(r"(?P<identity>\D.*?)(?P<index>[1-9]\d{0,5})\.png")


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """One response: for each option, in the order shown, its value (1 or 0) and its box, if any."""

    row: int
    values: tuple[int, ...]
    boxes: tuple[Box | None, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of one image. `number`: the page's number within the image in file order, from 1. An attribute
    None means 'none of the above'. `answers`: one to three responses."""

    image: str
    identity: str
    index: int
    number: int
    worker: str
    attributes: tuple[str | None, ...]
    answers: tuple[PageAnswer, ...]

    @property
    def row(self) -> int:
        return self.answers[0].row


AnnotationFile = ReadFile[Page]


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    worker: str
    path: str
    attribute: str
    value: int
    box: Box | None


@dataclass(slots=True)
class _Block:
    """The five rows of one response."""

    key: tuple[str, str, tuple[str | None, ...]]
    answer: PageAnswer
    folder: str


def group_and_number(name: str) -> tuple[str, int] | None:
    """Group and number from the name of an image: `Mexican5.png` is number 5 of the group Mexican."""
    match = _IMAGE.fullmatch(name)
    return (match["identity"].strip(), int(match["index"])) if match else None


def read_annotations(path: Path) -> AnnotationFile:
    """Read every page with its responses, in file order. Raises FileRefused."""
    table = read_sheet(path, SHEET, COLUMNS)
    reader = _Reader(path, table.log)
    rows = [
        row
        for number, cells in enumerate(table.rows, start=FIRST_ROW)
        if (row := reader.row(number, cells)) is not None
    ]
    if not rows:
        raise FileRefused(path, "no row has an image.", "Check that this is the right file.", sheet=SHEET)
    blocks = list(reader.blocks(rows))
    reader.report_names(rows, blocks)
    return table.read_file(list(reader.pages(blocks)), rows_stored=len(rows))


@dataclass(slots=True)
class _Reader:
    path: Path
    log: OddityLog
    images: dict[str, tuple[str, int]] = field(default_factory=dict)

    def refuse(self, row: int, problem: str, fix: str, column: str = "") -> FileRefused:
        return FileRefused(self.path, problem, fix, sheet=SHEET, row=row, column=column)

    def row(self, number: int, cells: list[object]) -> _Row | None:
        """One row, or None if it has neither image nor attribute (reported)."""
        for column, cell in zip(COLUMNS, cells, strict=False):
            if not isinstance(cell, str):
                raise self.refuse(number, f"{cell} is not text.", "Format the column as text.", column)
        worker, path, attribute, present, coords = (str(cell).strip() for cell in cells)
        if not path and not attribute:
            code = "row_without_image" if worker or present or coords else "row_blank"
            example = f"worker_id {worker}, present {present}, coords {coords}"
            self.log.note(code, row=number, example=example, not_stored=1)
            return None
        for column, text, longest in (
            ("worker_id", worker, LONGEST_WORKER),
            ("img_path", path, 500),
            ("attribute", attribute, LONGEST_ATTRIBUTE),
        ):
            if not 0 < len(text) <= longest:
                raise self.refuse(
                    number, f"'{text[:40]}' has {len(text)} characters.", f"Write 1 to {longest}.", column
                )
        if attribute != attribute.lower() or attribute != str(cells[2]):
            self.log.note("attribute_normalised", row=number, example=f"'{cells[2]}'")
            attribute = attribute.lower()
        if present not in ("yes", "no"):
            raise self.refuse(number, f"'{present}' is neither yes nor no.", "Write yes or no.", "present")
        value = 1 if present == "yes" else 0
        if coords == "[]":
            box = None
            if value and attribute != NONE_OF_ABOVE:
                self.log.note("box_missing", row=number, example=attribute)
        elif not value:
            raise self.refuse(
                number, "there is a box, although present is 'no'.", "Write [] or yes.", "coords"
            )
        else:
            box = self.box(number, coords)
        return _Row(number, worker, path, attribute, value, box)

    def box(self, number: int, coords: str) -> Box | None:
        """The box between two corner points in any order, clipped to the image; None if nothing is left."""
        match = _COORDS.fullmatch(coords)
        if match is None:
            raise self.refuse(
                number,
                f"'{coords[:80]}' is not two corner points.",
                "Write ['x,y', 'x,y'] in pixels, or [] for no box.",
                "coords",
            )
        ax, ay, bx, by = (float(text) for text in match.groups())
        if ax > bx or ay > by:
            self.log.note("box_corners_swapped", row=number, example=coords)
        x0, x1 = sorted(min(max(x, 0.0), float(IMAGE_SIZE)) for x in (ax, bx))
        y0, y1 = sorted(min(max(y, 0.0), float(IMAGE_SIZE)) for y in (ay, by))
        if x0 >= x1 or y0 >= y1:
            self.log.note("box_without_area", row=number, example=coords)
            return None
        if min(ax, ay, bx, by) < 0 or max(ax, ay, bx, by) > IMAGE_SIZE:
            self.log.note("box_clipped", row=number, example=coords)
        return x0, y0, x1, y1

    def blocks(self, rows: list[_Row]) -> Iterator[_Block]:
        """Blocks of five rows. Raises FileRefused for a block that is not one page of one image."""
        for start in range(0, len(rows), PAGE_ROWS):
            five = rows[start : start + PAGE_ROWS]
            first = five[0]
            hint = f"A page is 5 rows of one image and worker_id; this one starts in row {first.number}."
            for place, row in enumerate(five, start=1):
                if (row.worker, row.path) != (first.worker, first.path):
                    raise self.refuse(
                        row.number, f"row {place} of a page is of another image or worker_id.", hint
                    )
            if len(five) < PAGE_ROWS:
                raise self.refuse(first.number, f"the last page has only {len(five)} rows.", hint)
            shown = [row.attribute for row in five]
            twice = [text for text, times in Counter(shown).items() if times > 1]
            if twice:
                raise self.refuse(first.number, f"'{twice[0]}' appears twice on one page.", hint, "attribute")
            if NONE_OF_ABOVE not in shown:
                raise self.refuse(first.number, f"the page lacks '{NONE_OF_ABOVE}'.", hint, "attribute")
            folder, _, name = first.path.rpartition("/")
            if name not in self.images:
                self.images[name] = self.identity(first.number, name)
            attributes = tuple(None if text == NONE_OF_ABOVE else text for text in shown)
            answer = PageAnswer(
                first.number, tuple(row.value for row in five), tuple(row.box for row in five)
            )
            yield _Block((first.worker, name, attributes), answer, folder)

    def identity(self, number: int, name: str) -> tuple[str, int]:
        read = group_and_number(name)
        if read is None:
            raise self.refuse(
                number,
                f"'{name}' is not the name of an image.",
                "Write an identity and a number, such as Mexican5.png.",
                "img_path",
            )
        identity, index = read
        if identity in MISSPELLED:
            self.log.note("identity_misspelled", row=number, example=f"'{identity}' in '{name}'")
        return identity, index

    def report_names(self, rows: list[_Row], blocks: list[_Block]) -> None:
        """Report oddities of folder, image and worker names, and of 'none of the above'."""
        folders: dict[str, set[str]] = defaultdict(set)
        worker_pages: dict[str, set[tuple[str, tuple[str | None, ...]]]] = defaultdict(set)
        first_row: dict[str, int] = {}
        for block in blocks:
            worker, name, attributes = block.key
            if block.folder:
                self.log.note("folder_dropped", row=block.answer.row, example=block.folder, count=PAGE_ROWS)
            if len(folders[name] | {block.folder}) > len(folders[name]) > 0:
                example = f"'{name}', {len(folders[name]) + 1} folders"
                self.log.note("image_in_two_folders", row=block.answer.row, example=example)
            folders[name].add(block.folder)
            worker_pages[worker].add((name, attributes))
            first_row.setdefault(worker, block.answer.row)
        for worker, seen in worker_pages.items():
            images = {name for name, _ in seen}
            if len(images) > 1:
                example = f"{worker}: {len(images)} images"
                self.log.note("worker_many_images", row=first_row[worker], example=example)
            else:
                example = f"{worker}: {next(iter(images))}, {len(seen)} page(s)"
                self.log.note("worker_names_page", row=first_row[worker], example=example)
        shown = [row for row in rows if row.attribute == NONE_OF_ABOVE]
        chosen = [row for row in shown if row.value]
        for row in chosen:
            self.log.note("none_of_above_yes", row=row.number, example=row.path)
        if not chosen:
            example = f"shown {len(shown)} times"
            self.log.note("none_of_above_never_yes", row=shown[0].number, example=example, count=len(shown))

    def pages(self, blocks: list[_Block]) -> Iterator[Page]:
        """Pages, each from up to three identical blocks in a row, which are its responses."""
        numbers: Counter[str] = Counter()
        pages_seen: set[tuple[str, tuple[str | None, ...]]] = set()
        few = {1: "page_judged_once", 2: "page_judged_twice"}
        for (worker, name, attributes), run in groupby(blocks, key=lambda block: block.key):
            answers = [block.answer for block in run]
            example = f"{worker}, {name}: {', '.join(text for text in attributes if text)}"
            if len(answers) > RESPONSES:
                self.log.note(
                    "page_judged_more", row=answers[0].row, example=f"{example}; {len(answers)} times"
                )
            if (name, attributes) in pages_seen:
                self.log.note("page_repeated", row=answers[0].row, example=example)
            pages_seen.add((name, attributes))
            identity, index = self.images[name]
            for start in range(0, len(answers), RESPONSES):
                some = tuple(answers[start : start + RESPONSES])
                numbers[name] += 1
                if len(answers) < RESPONSES:
                    self.log.note(few[len(answers)], row=some[0].row, example=example)
                yield Page(name, identity, index, numbers[name], worker, attributes, some)
