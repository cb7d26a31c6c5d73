"""The long table: one row for each annotator, unit and option shown (DESIGN §8; Prabhakaran et al. 2021)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import Any

from django.db.models import QuerySet

from annotation.core import scales
from annotation.exports.selection import Selection
from annotation.models import Box, Judgement, OptionRole, Purpose

Row = tuple[Any, ...]
Corners = tuple[float, float, float, float]

# Name, type, content. The types are those of the Parquet file.
COLUMN_SPECS: tuple[tuple[str, str, str], ...] = (
    ("study", "text", "name of the study"),
    (
        "task",
        "text",
        "kind of the task: `visual_nature`, `prevalence`, `offensiveness`, `depiction`, `association`",
    ),
    ("task_version", "number", "version of the task that was answered"),
    ("unit", "number", "position of the unit within its task, from 1"),
    (
        "unit_name",
        "text",
        "what the source calls the unit; for ViSAGe its `worker_id`, which names a page, not a person",
    ),
    (
        "stimulus",
        "text",
        "what was judged: the attribute, `identity: attribute` for an association, the image's name",
    ),
    (
        "purpose",
        "text",
        "`data`, or `training`, `gold`, `attention` for items that check or teach the annotator; "
        "scores use `data` only",
    ),
    ("page", "number", "page of options of an image, from 1; empty for other stimuli"),
    (
        "image",
        "text",
        "name of the image: its external reference, or its file name. Two images can have the same name: "
        "`image_set`, `image_index`, `axis` and `identity` together identify an image",
    ),
    ("image_set", "text", "name of the set that the image belongs to"),
    ("image_index", "number", "number of the image within its set and identity group, from 1"),
    (
        "axis",
        "text",
        "kind of identity group: `nationality`, `us_state` ...; groups of two kinds can have the same name",
    ),
    ("identity", "text", "identity group of the image or association"),
    ("attribute", "text", "the attribute of the option; empty for none of the above"),
    (
        "role",
        "text",
        "why the option was shown: `stimulus`, `stereotypical`, `random`, `none_of_above`, or `unassigned` "
        "if the source does not say; scores resolve it by the study's rule",
    ),
    (
        "response",
        "number",
        "number of the response: rows with the same number were submitted together by one annotator",
    ),
    ("annotator", "text", "pseudonym; empty if the source does not identify annotators (all of ViSAGe)"),
    ("simulated", "yes/no", "`yes` if a program made the answer"),
    (
        "stratum",
        "text",
        "the stratum that the slot was reserved for, e.g. `origin: Asia`; empty for a surplus",
    ),
    ("value", "number", "the value on the task's scale"),
    ("label", "text", "the value in words"),
    ("shown_position", "number", "position of the option as it was shown, from 1"),
    ("justification", "text", "what the annotator wrote"),
    ("boxes", "boxes", "JSON list of `[x0, y0, x1, y1]` in pixels of the image"),
    ("whole_image", "yes/no", "`yes` if the attribute was judged visible in the image as a whole"),
    ("started_at", "time", "when the unit was shown (ISO 8601, UTC); empty if not known"),
    ("submitted_at", "time", "when the answer was submitted; empty if not known"),
    ("active_ms", "number", "milliseconds of activity; empty if not known"),
    ("idle_ms", "number", "milliseconds without activity; empty if not known"),
    ("language", "text", "language in which the wording was shown; empty if not recorded"),
    ("revision", "number", "1 for a first answer, 2 for its first change ..."),
    ("current", "yes/no", "`no` if a later revision replaced it; scores use `yes` only"),
    (
        "surplus",
        "yes/no",
        "`yes` if it came after the unit had reached its target; scores leave it out",
    ),
)
COLUMNS = tuple(name for name, _, _ in COLUMN_SPECS)

LABELS = {(kind, one.value): one.name for kind, scale in scales.SCALES.items() for one in scale}
"""Kind of task and value -> the value in words."""

CHUNK = 2000
"""Rows in memory at a time. The boxes of one chunk are one query."""

FIELDS = (
    "pk",
    "value",
    "position",
    "justification",
    "whole_image",
    "option__role",
    "option__attribute__text",
    "response_id",
    "response__task_version",
    "response__revision",
    "response__current",
    "response__started_at",
    "response__submitted_at",
    "response__active_ms",
    "response__idle_ms",
    "response__language",
    "response__slot_id",
    "response__slot__stratum",
    "response__annotator__pseudonym",
    "response__annotator__simulated",
    "response__unit__task__kind",
    "response__unit__position",
    "response__unit__source_name",
    "response__unit__purpose",
    "response__unit__page",
    "response__unit__attribute__text",
    "response__unit__association__group__axis",
    "response__unit__association__group__name",
    "response__unit__association__attribute__text",
    "response__unit__image_id",
    "response__unit__image__reference",
    "response__unit__image__file",
    "response__unit__image__image_set__name",
    "response__unit__image__index",
    "response__unit__image__group__axis",
    "response__unit__image__group__name",
)


def chunks(selection: Selection, *, status: str = "") -> Iterator[list[Row]]:
    """The rows in the order of COLUMNS: by task, unit, response, shown position.

    Unknown values are None, texts are unchanged, boxes are lists of corners.
    """
    query = ordered_judgements(selection, status=status).values_list(*FIELDS, named=True)
    judgements = query.iterator(chunk_size=CHUNK)
    while chunk := list(islice(judgements, CHUNK)):
        boxes = boxes_of(row.pk for row in chunk)
        yield [_row(selection, row, boxes.get(row.pk, [])) for row in chunk]
        selection.count_rows(len(chunk))


def ordered_judgements(selection: Selection, *, status: str = "") -> QuerySet[Judgement]:
    """The judgements in the order of the table."""
    return selection.judgements(status=status).order_by(
        "response__unit__task_id", "response__unit__position", "response_id", "position"
    )


def boxes_of(judgements: Iterable[int]) -> dict[int, list[Corners]]:
    """The boxes of each judgement that has any, in the order in which they were drawn."""
    boxes: dict[int, list[Corners]] = defaultdict(list)
    rows = Box.objects.filter(judgement__in=list(judgements)).order_by("pk")
    for judgement, x0, y0, x1, y1 in rows.values_list("judgement", "x0", "y0", "x1", "y1"):
        boxes[judgement].append((x0, y0, x1, y1))
    return boxes


def image_name(reference: str | None, file: str | None) -> str:
    """The name of an image: its external reference, or its file name."""
    return reference or PurePath(file or "").name


def _row(selection: Selection, row: Any, boxes: list[Corners]) -> Row:
    image = image_name(row.response__unit__image__reference, row.response__unit__image__file)
    identity = row.response__unit__image__group__name or row.response__unit__association__group__name or ""
    if row.response__unit__image_id:
        stimulus = image
    elif identity:
        stimulus = f"{identity}: {row.response__unit__association__attribute__text}"
    else:
        stimulus = row.response__unit__attribute__text
    return (
        selection.study.name,
        row.response__unit__task__kind,
        row.response__task_version,
        row.response__unit__position,
        row.response__unit__source_name,
        stimulus,
        row.response__unit__purpose,
        row.response__unit__page if row.response__unit__image_id else None,
        image,
        row.response__unit__image__image_set__name or "",
        row.response__unit__image__index,
        row.response__unit__image__group__axis or row.response__unit__association__group__axis or "",
        identity,
        "" if row.option__role == OptionRole.NONE_OF_ABOVE else row.option__attribute__text or "",
        row.option__role,
        row.response_id,
        row.response__annotator__pseudonym or "",
        bool(selection.study.simulated or row.response__annotator__simulated),
        row.response__slot__stratum or "",
        row.value,
        LABELS[row.response__unit__task__kind, row.value],
        row.position,
        row.justification,
        boxes,
        row.whole_image,
        row.response__started_at,
        row.response__submitted_at,
        row.response__active_ms,
        row.response__idle_ms,
        row.response__language,
        row.response__revision,
        row.response__current,
        row.response__slot_id is None and row.response__unit__purpose == Purpose.DATA,
    )
