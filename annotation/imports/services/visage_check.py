"""Compares a stored study with ViSAGe's files, so that an import can be repeated."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

from annotation.imports.readers.visage_annotations import AnnotationFile
from annotation.imports.readers.visage_annotations import Box as Corners
from annotation.imports.readers.visage_attributes import AttributeFile
from annotation.imports.services.catalogue import ImportRefused
from annotation.models import Box, Judgement, Option, Response, Study, TaskKind, Unit

# (position, what is shown, answers)
UnitContent = tuple[int, tuple[object, ...], tuple[object, ...]]


def check_same(*, study: Study, attributes: AttributeFile, annotations: AnnotationFile) -> None:
    """Raise ImportRefused with the first difference, unless `study` has exactly this content."""
    pairs = (
        (attributes.summary.name, TaskKind.VISUAL_NATURE, _attribute_units(attributes)),
        (annotations.summary.name, TaskKind.DEPICTION, _page_units(annotations)),
    )
    for name, kind, in_file in pairs:
        for wanted, stored in zip_longest(in_file, _stored(study, kind)):
            if wanted != stored:
                different = wanted or stored
                assert different is not None
                raise ImportRefused(
                    f"The study '{study.name}' exists already and differs from {name}, first "
                    f"in unit {different[0]} of its {kind.label} task. Nothing was changed. Import these "
                    "files as a study of another name with --study NAME."
                )


def _attribute_units(file: AttributeFile) -> Iterator[UnitContent]:
    for position, row in enumerate(file.rows, start=1):
        shown_content = (row.attribute, None, 1, row.repeat, "", (row.attribute,))
        yield position, shown_content, tuple(((score,), ((),)) for score in row.scores)


def _page_units(file: AnnotationFile) -> Iterator[UnitContent]:
    for position, page in enumerate(file.rows, start=1):
        shown_content = (None, page.image, page.number, 0, page.worker, page.attributes)
        answers = ((answer.values, tuple(map(_at_most_one, answer.boxes))) for answer in page.answers)
        yield position, shown_content, tuple(answers)


def _at_most_one(box: Corners | None) -> tuple[Corners, ...]:
    """The boxes of an attribute, of which the release has at most one."""
    return () if box is None else (box,)


def _stored(study: Study, kind: TaskKind) -> Iterator[UnitContent]:
    """The stored units of a task in the same form, in five queries."""
    units = Unit.objects.filter(task__study=study, task__kind=kind)
    options: dict[int, list[str | None]] = defaultdict(list)
    shown = Option.objects.filter(unit__in=units).order_by("unit_id", "position")
    for unit, text in shown.values_list("unit_id", "attribute__text"):
        options[unit].append(text)
    boxes: dict[int, tuple[Corners, ...]] = defaultdict(tuple)
    drawn = Box.objects.filter(judgement__response__unit__in=units)
    for judgement, *corners in drawn.values_list("judgement_id", "x0", "y0", "x1", "y1"):
        boxes[judgement] += ((corners[0], corners[1], corners[2], corners[3]),)
    values: dict[int, list[tuple[int, tuple[Corners, ...]]]] = defaultdict(list)
    judgements = Judgement.objects.filter(response__unit__in=units).order_by("response_id", "position")
    for response, judgement, value in judgements.values_list("response_id", "id", "value"):
        values[response].append((value, boxes[judgement]))
    answers: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    current = Response.objects.filter(unit__in=units, current=True, slot__isnull=False)
    for response, unit in current.order_by("unit_id", "slot__index").values_list("id", "unit_id"):
        given = values[response]
        answers[unit].append((tuple(value for value, _ in given), tuple(box for _, box in given)))
    shown_content = units.order_by("position").values_list(
        "id", "position", "attribute__text", "image__reference", "page", "repeat", "source_name"
    )
    for unit, position, *stimulus in shown_content:
        yield position, (*stimulus, tuple(options[unit])), tuple(answers[unit])
