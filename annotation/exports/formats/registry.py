"""All export formats: name, purpose, columns and writer of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.exports import table
from annotation.exports.formats import (
    coco,
    huggingface,
    labelstudio,
    parquet,
    postgres_copy,
    seegull,
    text,
    visage,
    voc,
    yolo,
)
from annotation.exports.packing import File
from annotation.exports.selection import COUNTED, ExportRefused, Selection, check_attributes
from annotation.models import TaskKind

FOLDER = ""
"""The ending of a format with several files: a folder, or a zip archive."""

README_MARK = "Answers to the study "
"""Identifies the README.md of an export."""

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Format:
    """An export format.

    `ending` is the file extension of its single file, or FOLDER. `status`: which answers it holds if the
    filters do not say; `kinds`: which kinds of task, all if empty. `notes`: hints for readers of the files.
    `readme_header`: lines that its README.md must begin with. `check_selection` raises ExportRefused if the
    format cannot represent the selection unambiguously.
    """

    name: str
    title: str | Promise
    use: str | Promise
    columns: Columns
    files: Callable[[Selection], Iterator[File]]
    notes: str
    ending: str = FOLDER
    media_type: str = "application/zip"
    readme_header: Callable[[Selection], str] = lambda selection: ""
    check_selection: Callable[[Selection], None] = lambda selection: None
    status: str = COUNTED
    kinds: tuple[str, ...] = ()

    def check(self, selection: Selection) -> None:
        """Raises ExportRefused if the format cannot hold the selection."""
        filters = selection.filters
        if filters.task and self.kinds and filters.task not in self.kinds:
            raise ExportRefused(
                f"This format holds answers to {' and '.join(self.kinds)} tasks only, not to "
                f"'{filters.task}'. Leave the task out, or choose another format."
            )
        self.check_selection(selection)

    def total(self, selection: Selection) -> int:
        """How many judgements it would write."""
        return selection.judgements(status=self.status, tasks=self.kinds).count()


class UnknownFormat(ValueError):
    """There is no such export format; the message lists the formats."""


ANY_STATUS = ""
_IMAGES = (TaskKind.DEPICTION.value,)
_LONG: Columns = tuple((name, meaning) for name, _, meaning in table.COLUMN_SPECS)
_CELLS = (
    "Text cells that a spreadsheet would run as a formula begin with an added apostrophe. "
    "Numbers, times and boxes are never changed."
)
_COUNTED = "It holds the answers that scores use, unless surplus answers were selected."

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format(
            "csv",
            _("Long table, CSV"),
            _("For spreadsheets, R and pandas: one row for each annotator, item and option shown."),
            _LONG,
            postgres_copy.csv_files,
            f"{_CELLS} With pandas, read it with `keep_default_na=False`.",
            ending=".csv",
            media_type="text/csv",
            status=ANY_STATUS,
        ),
        Format(
            "jsonl",
            _("Long table, JSON lines"),
            _("For programs: the same rows, with typed numbers, booleans and boxes."),
            _LONG,
            postgres_copy.jsonl_files,
            "One JSON object per line. Unknown values are null; yes and no are true and false.",
            ending=".jsonl",
            media_type="application/x-ndjson",
            status=ANY_STATUS,
        ),
        Format(
            "parquet",
            _("Long table, Parquet"),
            _("For large studies: the same rows in typed, compressed columns."),
            _LONG,
            parquet.parquet_files,
            "Unknown values are null; yes and no are booleans, times are UTC, boxes are lists of numbers.",
            ending=".parquet",
            media_type="application/vnd.apache.parquet",
            status=ANY_STATUS,
        ),
        Format(
            "visage",
            _("ViSAGe's files"),
            _("For code that reads ViSAGe's release: its two sheets, which do not identify annotators."),
            visage.COLUMNS,
            visage.files,
            f"{_COUNTED} `import_visage` reads it back if every page has five rows, including none of the "
            "above, and images are 512 pixels wide and high. This format has no columns for annotators, "
            f"times, reasons and the order shown. In the CSV files: {_CELLS[0].lower()}{_CELLS[1:]}",
            kinds=visage.KINDS,
            check_selection=visage.check_selection,
        ),
        Format(
            "seegull",
            _("SeeGULL's table"),
            _("For code that reads SeeGULL's release: votes by pool and ratings for each association."),
            seegull.COLUMNS,
            seegull.files,
            f"{_COUNTED} `import_seegull` reads it back. {_CELLS}",
            ending=".csv",
            media_type="text/csv",
            kinds=seegull.KINDS,
            check_selection=seegull.check_selection,
        ),
        Format(
            "crowdkit",
            _("Crowd-Kit"),
            _("For aggregation with Crowd-Kit: task, worker and label."),
            text.CROWDKIT_COLUMNS,
            text.crowdkit_files,
            f"{_COUNTED} {_CELLS}",
            ending=".csv",
            media_type="text/csv",
            check_selection=check_attributes,
        ),
        Format(
            "coco",
            _("COCO"),
            _("For detection tools: boxes with the annotator of each, and reviewed images without boxes."),
            coco.COLUMNS,
            coco.files,
            f"{_COUNTED} Boxes of different annotators are kept side by side, not merged.",
            ending=".json",
            media_type="application/json",
            kinds=_IMAGES,
        ),
        Format(
            "yolo",
            _("YOLO"),
            _("For training detectors: a text file for each image, empty if nobody drew a box."),
            yolo.COLUMNS,
            yolo.files,
            f"{_COUNTED} Boxes of different annotators are kept side by side, not merged. {_CELLS}",
            kinds=_IMAGES,
        ),
        Format(
            "voc",
            _("Pascal VOC"),
            _("For tools that read Pascal VOC: an XML file for each image."),
            voc.COLUMNS,
            voc.files,
            f"{_COUNTED} Boxes of different annotators are kept side by side, not merged.",
            kinds=_IMAGES,
        ),
        Format(
            "huggingface",
            _("Hugging Face dataset"),
            _("For the datasets library: images with their boxes and every judgement."),
            huggingface.COLUMNS,
            huggingface.files,
            f"{_COUNTED} Open the folder with `datasets.load_dataset(FOLDER)`.",
            readme_header=huggingface.readme_header,
            kinds=_IMAGES,
        ),
        Format(
            "labelstudio",
            _("Label Studio"),
            _("For continuing in Label Studio: tasks with every annotator's choices and boxes."),
            labelstudio.COLUMNS,
            labelstudio.files,
            f"{_COUNTED} Create a project with config.xml, then import labelstudio.json.",
            kinds=_IMAGES,
            check_selection=check_attributes,
        ),
    )
}


def get_format(name: str) -> Format:
    """The format with this name. Raises UnknownFormat."""
    if name not in FORMATS:
        raise UnknownFormat(f"There is no export format '{name}'. Choose from: {', '.join(FORMATS)}.")
    return FORMATS[name]


def readme(one: Format, selection: Selection) -> str:
    """The README.md of an export: what it holds, as Markdown."""
    study = selection.study
    filters = ", ".join(f"{name} {value}" for name, value in selection.filters.as_dict().items()) or "none"
    lines = [
        f"# {study.title}",
        "",
        f"{README_MARK}`{study.name}`, format `{one.name}`. Filters: {filters}.",
        "**These answers were made by a program, not by people.**" if study.simulated else "",
        "Content warning: such studies deal with offensive stereotypes.",
        "Annotators are identified by pseudonym only. Answers of people who withdrew are left out.",
        one.notes,
        "",
        "| column | meaning |",
        "| --- | --- |",
        *(f"| {name if ' ' in name else f'`{name}`'} | {meaning} |" for name, meaning in one.columns),
    ]
    return one.readme_header(selection) + "\n".join(lines) + "\n"
