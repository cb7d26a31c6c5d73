"""Importing the rows of a release: units, annotators and answers, some thousands at a time."""

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from annotation.core import scales
from annotation.imports.services.catalogue import Progress
from annotation.models import (
    Annotator,
    Association,
    Box,
    Enrolment,
    EnrolmentStatus,
    Image,
    Judgement,
    Option,
    OptionRole,
    ProfileAnswer,
    Response,
    Slot,
    SlotState,
    Study,
    Task,
    Unit,
)
from annotation.releases import columns
from annotation.releases.reading import Release, Row
from annotation.releases.services import importing_catalogue as catalogue

_KEYS = uuid.UUID("0f8d9a52-6c1b-5f2e-9d0a-3b7c1d2e4f60")
Place = tuple[str, int, int]
"""Kind and version of a task, and a unit's position in it."""
Judged = list[tuple[int, int, Row]]
"""Each judgement of a response: id of the option, value, and the row."""


@dataclass(slots=True)
class RowImporter:
    """Creates units and answers level by level, some thousands at a time."""

    release: Release
    study: Study
    attribute_of: Mapping[str, int]
    image_of: Mapping[str, Image]
    progress: Progress
    created: Counter[str] = field(default_factory=Counter)
    options: dict[Place, dict[int, int]] = field(default_factory=dict)
    units: dict[Place, Unit] = field(default_factory=dict)
    annotators: dict[str, int] = field(default_factory=dict)
    filled: Counter[int] = field(default_factory=Counter)
    queue: int = 0

    def write_units(
        self, tasks: Mapping[tuple[str, int], Task], source_of: Mapping[str, Any], group_of: Mapping[Any, Any]
    ) -> None:
        associations = {
            (row.source_id, row.group_id, row.attribute_id): row.pk
            for row in Association.objects.filter(source__in=source_of.values()).only(
                "source", "group", "attribute"
            )
        }
        rows = groupby(self.release.rows(columns.UNITS), key=_place)
        for chunk in catalogue.in_chunks((place, list(of_unit)) for place, of_unit in rows):
            for place, of_unit in chunk:
                row = of_unit[0]
                if place in self.units:
                    raise row.refused("unit", f"unit {place[2]} of {place[0]} occurs twice.")
                shown = [(each.integer("option"), each.text("option_attribute")) for each in of_unit]
                if any(len(set(told)) < len(shown) for told in zip(*shown, strict=True)):
                    raise row.refused("option", "the unit has an option twice.")
                unit = Unit(
                    task=catalogue.lookup(tasks, place[:2], row, "task"),
                    position=place[2],
                    page=row.integer("page", least=1),
                    repeat=row.integer("repeat"),
                    source_name=row.text("unit_name", longest=80),
                )
                attribute = self.attribute_of.get(row.text("attribute"))
                if image := row.text("image"):
                    unit.image = catalogue.lookup(self.image_of, image, row, "image")
                elif source := row.text("source"):
                    group = catalogue.lookup(
                        group_of, (row.text("axis"), row.text("identity")), row, "identity"
                    )
                    key = (catalogue.lookup(source_of, source, row, "source").pk, group.pk, attribute)
                    unit.association_id = catalogue.lookup(associations, key, row, "attribute")
                elif attribute is None:
                    raise row.refused("attribute", "a unit needs an image, an association or an attribute.")
                else:
                    unit.attribute_id = attribute
                self.units[place] = unit
            Unit.objects.bulk_create(self.units[place] for place, _ in chunk)
            created = Option.objects.bulk_create(
                self._option(self.units[place], row) for place, of_unit in chunk for row in of_unit
            )
            options = iter(created)
            for place, of_unit in chunk:
                self.options[place] = {each.integer("option"): next(options).pk for each in of_unit}
            self.created["units"] += len(chunk)
            self.created["options"] += len(created)

    def _option(self, unit: Unit, row: Row) -> Option:
        role = row.one_of("role", OptionRole.values)
        text = row.text("option_attribute")
        if bool(text) == (role == OptionRole.NONE_OF_ABOVE):
            raise row.refused("option_attribute", "all options but none of the above have an attribute.")
        return Option(
            unit_id=unit.pk,
            attribute_id=self.attribute_of[text] if text else None,
            role=role,
            position=row.integer("option", least=1),
        )

    def write_annotators(self) -> None:
        fields = self.release.fields()
        rows = list(self.release.rows(columns.ANNOTATORS))
        names = [row.text("annotator", needed=True, longest=40) for row in rows]
        taken = set(Annotator.objects.filter(pseudonym__in=names).values_list("pseudonym", flat=True))
        for row, name in zip(rows, names, strict=True):
            if name in taken:
                raise row.refused(
                    "annotator",
                    f"'{name}' already exists in this installation, or occurs twice.",
                    "A release can be imported only once; use another installation for a second copy.",
                )
            taken.add(name)
        created = Annotator.objects.bulk_create(
            Annotator(pseudonym=name, simulated=row.boolean("simulated"))
            for row, name in zip(rows, names, strict=True)
        )
        self.annotators = {each.pseudonym: each.pk for each in created}
        ProfileAnswer.objects.bulk_create(
            ProfileAnswer(annotator=annotator, field=field, value=value, may_publish=True)
            for annotator, row in zip(created, rows, strict=True)
            for field in fields
            if (value := row.text(field, longest=200))
        )
        self.created["annotators"] += len(created)

    def write_answers(self) -> None:
        answered: Counter[int] = Counter()
        groups = groupby(
            self.release.rows(columns.ANNOTATIONS), key=lambda row: row.integer("response", least=1)
        )
        last = 0
        for chunk in catalogue.in_chunks((number, list(rows)) for number, rows in groups):
            for number, rows in chunk:
                if number <= last:
                    raise rows[0].refused("response", f"{number} comes after {last}; numbers must increase.")
                last = number
            responses = [self._parse_response(number, rows) for number, rows in chunk]
            self._write(responses)
            answered.update(each.annotator_id for each, _ in responses if each.annotator_id is not None)
            total = int((self.release.metadata.get("counts") or {}).get("responses") or 0)
            self.progress("responses", self.created["responses"], max(total, self.created["responses"]))
        Enrolment.objects.bulk_create(
            Enrolment(
                study=self.study, annotator_id=pk, status=EnrolmentStatus.FINISHED, answered=answered[pk]
            )
            for pk in self.annotators.values()
        )

    def _parse_response(self, number: int, rows: list[Row]) -> tuple[Response, Judged]:
        """One response, checked against its unit."""
        first, place = rows[0], _place(rows[0])
        options = dict(catalogue.lookup(self.options, place, first, "unit"))
        scale = {label.value for label in scales.SCALES[place[0]]}
        judged: Judged = []
        same = ("annotator", "surplus", "stratum", "active_seconds")
        for row in rows:
            if _place(row) != place:
                raise row.refused("unit", f"response {number} belongs to two units.")
            for name in same:
                if row.cells[name] != first.cells[name]:
                    raise row.refused(name, f"the rows of response {number} differ.")
            option = options.pop(row.integer("option"), None)
            if option is None:
                raise row.refused("option", "the unit has no such option, or it was judged twice.")
            value = row.integer("value", least=-1)
            if value not in scale:
                raise row.refused("value", f"{value} is not on the scale of a {place[0]} task.")
            judged.append((option, value, row))
        positions = [row.integer("shown_position", least=1) for row in rows]
        if len(set(positions)) < len(positions):
            raise first.refused("shown_position", "two options have the same position.")
        unit, pseudonym = self.units[place], first.text("annotator")
        annotator = catalogue.lookup(self.annotators, pseudonym, first, "annotator") if pseudonym else None
        surplus = first.boolean("surplus")
        stratum = first.text("stratum", longest=120) or "any"
        seconds = first.integer_or_none("active_seconds")
        response = Response(
            unit=unit,
            slot=None if surplus else self._slot(unit, annotator, stratum),
            annotator_id=annotator,
            client_key=uuid.uuid5(_KEYS, f"{self.study.pk}/{self.release.checksum}/{number}"),
            task_version=unit.task.version,
            active_ms=None if seconds is None else 1000 * seconds,
        )
        return response, judged

    def _write(self, parsed: list[tuple[Response, Judged]]) -> None:
        slots = Slot.objects.bulk_create(response.slot for response, _ in parsed if response.slot)
        responses = Response.objects.bulk_create(response for response, _ in parsed)
        judged = [(response, option, value, row) for response, each in parsed for option, value, row in each]
        judgements = Judgement.objects.bulk_create(
            Judgement(
                response=response,
                option_id=option,
                value=value,
                position=row.integer("shown_position"),
                justification=row.text(columns.JUSTIFICATION),
                whole_image=row.boolean("whole_image"),
            )
            for response, option, value, row in judged
        )
        boxes = Box.objects.bulk_create(
            _box(judgement, response.unit, corners, row)
            for judgement, (response, _, _, row) in zip(judgements, judged, strict=True)
            for corners in row.numbers("boxes", each=4)
        )
        self.created.update(
            slots=len(slots), responses=len(responses), judgements=len(judgements), boxes=len(boxes)
        )

    def _slot(self, unit: Unit, annotator: int | None, stratum: str) -> Slot:
        self.queue += 1
        self.filled[unit.pk] += 1
        return Slot(
            study_id=self.study.pk,
            unit=unit,
            index=self.filled[unit.pk] - 1,
            stratum=stratum,
            queue=self.queue,
            state=SlotState.FILLED,
            annotator_id=annotator,
        )


def _place(row: Row) -> Place:
    kind = row.one_of("task", tuple(scales.SCALES))
    return kind, row.integer("task_version", least=1), row.integer("unit", least=1)


def _box(judgement: Judgement, unit: Unit, corners: list[float], row: Row) -> Box:
    image = unit.image
    if image is None:
        raise row.refused("boxes", "there is a box, but the unit shows no image.")
    x0, y0, x1, y1 = corners
    if not (0 <= x0 < x1 <= image.width and 0 <= y0 < y1 <= image.height):
        raise row.refused("boxes", f"{corners} is not a box inside {image.width} x {image.height} pixels.")
    return Box(
        judgement=judgement,
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        image_width=image.width,
        image_height=image.height,
    )
