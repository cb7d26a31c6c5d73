"""Small files in the shape of the released ones, for tests that plant faults in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openpyxl import Workbook

SEEGULL_HEADER = (
    "identity,attribute,region_stereo,region_nonstereo,region_unsure,NA_stereo,NA_nonstereo,NA_unsure,"
    "Annotation1,Annotation2,Annotation3,mean offensiveness_score"
)
STATES_HEADER = (
    "identity,attribute,region_stereo,region_nonstereo,region_unsure,"
    "Annotation1,Annotation2,Annotation3,offensiveness_score"
)
SEEGULL_ROWS = (
    "Mexican,sombrero,2,1,0,3,0,0,-1,-1,-1,-1",
    "Mexican,poor,1,2,0,2,1,0,3,2,1,2",
    "French,wine,1,1,1,1,2,0,NA,NA,NA,0",
)
STATES_ROWS = ("Texan,pro-Texas,2,1,0,-1,-1,-1,-1", "Ohioan,angry,1,2,0,2,1,2,1.666666667")

ATTRIBUTES_HEADER = (
    "attribute",
    "rating_asia",
    "score_asia",
    "rating_emea",
    "score_emea",
    "rating_na",
    "score_na",
    "mean",
)
ATTRIBUTE_ROWS = (
    ("sombrero", "Strongly Agree", 5, "Strongly Agree", 5, "Agree", 4, 14 / 3),
    ("poor", "Agree", 4, "Disagree", 2, "Unsure (with Justification)", 3, 3),
    ("sombrero", "Agree", 4, "Agree", 4, "Strongly Disagree", 1, 3),
)
ANNOTATIONS_HEADER = ("worker_id", "img_path", "attribute", "present", "coords")
FOLDER = "/cns/somewhere"
NO_BOX = "[]"
BOX = "['10.5,20', '110.25,220']"


def seegull(
    folder: Path,
    *,
    rows: Sequence[str] = SEEGULL_ROWS,
    header: str = SEEGULL_HEADER,
    name: str = "stereotypes_global_v2.csv",
    encoding: str = "utf-8",
) -> Path:
    path = folder / name
    path.write_bytes("\n".join([header, *rows, ""]).encode(encoding))
    return path


def states(
    folder: Path, *, rows: Sequence[str] = STATES_ROWS, name: str = "stereotypes_us_states.csv"
) -> Path:
    return seegull(folder, rows=rows, header=STATES_HEADER, name=name)


def attributes(
    folder: Path,
    *,
    rows: Sequence[Sequence[object]] = ATTRIBUTE_ROWS,
    header: Sequence[str] = ATTRIBUTES_HEADER,
    sheet: str = "all_visual_attr",
) -> Path:
    return _workbook(folder / "Visual Attributes_.xlsx", {sheet: [header, *rows]})


def block(
    worker: str = "A0",
    image: str = "Mexican5.png",
    *,
    shown: Sequence[str] = ("sombrero", "poor", "fun", "tall"),
    yes: dict[str, str] | None = None,
) -> list[list[object]]:
    """One response: five rows; `yes` maps chosen attributes to their coords."""
    chosen = yes or {}
    path = f"{FOLDER}/{image}"
    return [
        [worker, path, text, "yes" if text in chosen else "no", chosen.get(text, NO_BOX)]
        for text in (*shown, "none of the above")
    ]


def page(worker: str = "A0", image: str = "Mexican5.png") -> list[list[object]]:
    """A page with its three responses; two of them saw the sombrero."""
    return [
        *block(worker, image, yes={"sombrero": BOX}),
        *block(worker, image),
        *block(worker, image, yes={"sombrero": "['110.25,220', '10.5,20']", "tall": NO_BOX}),
    ]


ANNOTATION_ROWS = (*page("A0", "Mexican5.png"), *page("A1", "French2.png"))


def annotations(
    folder: Path,
    *,
    rows: Sequence[Sequence[object]] = ANNOTATION_ROWS,
    header: Sequence[str] = ANNOTATIONS_HEADER,
    sheet: str = "full_set_annotations",
    more_sheets: dict[str, list[Sequence[object]]] | None = None,
) -> Path:
    return _workbook(folder / "Image Annotations.xlsx", {sheet: [header, *rows], **(more_sheets or {})})


def _workbook(path: Path, sheets: dict[str, list[Sequence[object]]]) -> Path:
    workbook = Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    workbook.save(path)
    return path
