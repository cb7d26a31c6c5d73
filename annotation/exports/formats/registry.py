"""The formats there are: what each is called, what it is for, what it holds, and who writes it."""

from __future__ import annotations

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
from annotation.exports.selection import COUNTED, ExportRefused, Selection
from annotation.models import TaskKind

FOLDER = ""
"""The ending of a format that is several files: a folder, or a zip archive."""

MARK = "Answers to the study "
"""By which the README.md of an export is known."""

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Format:
    """`ending` is that of its one file, or FOLDER. `status` and `kinds`: which answers it holds where the
    filters leave it open, and of which kinds of task, all if there are none. `notes`: what whoever reads it
    should know. `card`: lines that its README.md must begin with. `fits` raises ExportRefused where it would
    confuse what the selection holds."""

    name: str
    title: str | Promise
    use: str | Promise
    ending: str
    media_type: str
    columns: Columns
    files: Callable[[Selection], Iterator[File]]
    notes: str = ""
    card: Callable[[Selection], str] = lambda selection: ""
    fits: Callable[[Selection], None] = lambda selection: None
    status: str = COUNTED
    kinds: tuple[str, ...] = ()

    def check(self, selection: Selection) -> None:
        """Raises ExportRefused where it cannot hold what is asked for."""
        filters = selection.filters
        if filters.task and self.kinds and filters.task not in self.kinds:
            raise ExportRefused(
                f"This format holds answers to {' and '.join(self.kinds)} tasks only, and '{filters.task}' "
                "was asked for. Leave the task out, or choose another format."
            )
        self.fits(selection)

    def total(self, selection: Selection) -> int:
        """How many judgements there are to write."""
        return selection.judgements(status=self.status, tasks=self.kinds).count()


class UnknownFormat(ValueError):
    """There is no such export format; the message names those there are."""


EVERY = ""
_IMAGES = (TaskKind.DEPICTION.value,)
_LONG: Columns = tuple((name, meaning) for name, _, meaning in table.DESCRIBED)
_CELLS = (
    "Text cells that a spreadsheet would run as a formula have an apostrophe in front. "
    "Numbers, times and boxes are never changed."
)
_COUNTED = "It holds the answers that scores use, unless surplus answers were asked for."

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format(
            "csv",
            _("Long table, CSV"),
            _("For spreadsheets, R and pandas: one row for each annotator, item and option shown."),
            ".csv",
            "text/csv",
            _LONG,
            postgres_copy.csv_files,
            f"{_CELLS} With pandas, read it with `keep_default_na=False`.",
            status=EVERY,
        ),
        Format(
            "jsonl",
            _("Long table, JSON lines"),
            _("For programs: the same rows, with numbers, booleans and boxes as such."),
            ".jsonl",
            "application/x-ndjson",
            _LONG,
            postgres_copy.jsonl_files,
            "One JSON object a line. What is not known is null; yes and no are true and false.",
            status=EVERY,
        ),
        Format(
            "parquet",
            _("Long table, Parquet"),
            _("For large studies: the same rows in typed, compressed columns."),
            ".parquet",
            "application/vnd.apache.parquet",
            _LONG,
            parquet.parquet_files,
            "What is not known is null; yes and no are booleans, times are UTC, boxes are lists of numbers.",
            status=EVERY,
        ),
        Format(
            "visage",
            _("ViSAGe's files"),
            _("For code that reads ViSAGe's release: its two sheets, without telling annotators apart."),
            FOLDER,
            "application/zip",
            visage.COLUMNS,
            visage.files,
            f"{_COUNTED} `import_visage` reads it back if every page has five rows, none of the above among "
            "them, and images are 512 pixels wide and high. Annotators, times, reasons and the order shown "
            f"have no place in this shape. In the CSV files: {_CELLS[0].lower()}{_CELLS[1:]}",
            kinds=visage.KINDS,
            fits=visage.fits,
        ),
        Format(
            "seegull",
            _("SeeGULL's table"),
            _("For code that reads SeeGULL's release: votes by pool and ratings for each association."),
            ".csv",
            "text/csv",
            seegull.COLUMNS,
            seegull.files,
            f"{_COUNTED} `import_seegull` reads it back. {_CELLS}",
            kinds=seegull.KINDS,
            fits=seegull.fits,
        ),
        Format(
            "crowdkit",
            _("Crowd-Kit"),
            _("For aggregation with Crowd-Kit: task, worker and label."),
            ".csv",
            "text/csv",
            text.CROWDKIT_COLUMNS,
            text.crowdkit_files,
            f"{_COUNTED} {_CELLS}",
            fits=text.crowdkit_fits,
        ),
        Format(
            "coco",
            _("COCO"),
            _("For detection tools: boxes with the annotator of each, and reviewed images without any."),
            ".json",
            "application/json",
            coco.COLUMNS,
            coco.files,
            f"{_COUNTED} Boxes of several annotators stand side by side: nothing is merged.",
            kinds=_IMAGES,
        ),
        Format(
            "yolo",
            _("YOLO"),
            _("For training detectors: a text file for each image, empty where nothing was boxed."),
            FOLDER,
            "application/zip",
            yolo.COLUMNS,
            yolo.files,
            f"{_COUNTED} Boxes of several annotators stand side by side: nothing is merged. {_CELLS}",
            kinds=_IMAGES,
        ),
        Format(
            "voc",
            _("Pascal VOC"),
            _("For tools that read Pascal VOC: an XML file for each image."),
            FOLDER,
            "application/zip",
            voc.COLUMNS,
            voc.files,
            f"{_COUNTED} Boxes of several annotators stand side by side: nothing is merged.",
            kinds=_IMAGES,
        ),
        Format(
            "huggingface",
            _("Hugging Face dataset"),
            _("For the datasets library: images with their boxes and every judgement."),
            FOLDER,
            "application/zip",
            huggingface.COLUMNS,
            huggingface.files,
            f"{_COUNTED} Open the folder with `datasets.load_dataset(FOLDER)`.",
            huggingface.card,
            kinds=_IMAGES,
        ),
        Format(
            "labelstudio",
            _("Label Studio"),
            _("For going on in Label Studio: tasks with every annotator's choices and boxes."),
            FOLDER,
            "application/zip",
            labelstudio.COLUMNS,
            labelstudio.files,
            f"{_COUNTED} Make a project with config.xml, then import labelstudio.json.",
            kinds=_IMAGES,
            fits=labelstudio.fits,
        ),
    )
}


def check_format(name: str) -> Format:
    """The format of this name; UnknownFormat if there is none."""
    if name not in FORMATS:
        raise UnknownFormat(f"There is no export format '{name}'. There is: {', '.join(FORMATS)}.")
    return FORMATS[name]


def described(one: Format, selection: Selection) -> str:
    """What an export holds, as Markdown: it travels with the data."""
    study = selection.study
    said = selection.filters.said()
    filters = ", ".join(f"{name} {value}" for name, value in said.items()) or "none"
    lines = [
        f"# {study.title}",
        "",
        f"{MARK}`{study.name}`, format `{one.name}`. Filters: {filters}.",
        "**These answers were made by a program, not by people.**" if study.simulated else "",
        "Content warning: such studies deal with offensive stereotypes.",
        "Annotators are known by pseudonym only. Answers of people who withdrew are left out.",
        one.notes,
        "",
        "| column | holds |",
        "| --- | --- |",
        *(f"| {_code(name)} | {meaning} |" for name, meaning in one.columns),
    ]
    return one.card(selection) + "\n".join(lines) + "\n"


def _code(name: str) -> str:
    return name if " " in name else f"`{name}`"


__all__ = ["FOLDER", "FORMATS", "MARK", "Format", "UnknownFormat", "check_format", "described"]
