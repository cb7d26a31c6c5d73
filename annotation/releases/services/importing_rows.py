"""The rows of a release into a database: units, annotators, answers, some thousands at a time."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class _Said:
    """One response; `judged`: key of the option, value, and the row that says it."""

    number: int
    unit: Unit
    annotator: int | None
    surplus: bool
    stratum: str
    seconds: int | None
    judged: list[tuple[int, int, Row]]


@dataclass(slots=True)
class Writer:
    """Writes units and answers level by level, some thousands at a time; rows refer to each other by key."""

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
        asked = {
            (row.source_id, row.group_id, row.attribute_id): row.pk
            for row in Association.objects.filter(source__in=source_of.values()).only(
                "source", "group", "attribute"
            )
        }
        rows = groupby(self.release.rows(columns.UNITS), key=_place)
        for held in catalogue.chunked((place, list(of_unit)) for place, of_unit in rows):
            for place, of_unit in held:
                row = of_unit[0]
                if place in self.units:
                    raise row.refused("unit", f"unit {place[2]} of {place[0]} stands twice.")
                unit = Unit(
                    task=catalogue.lookup(tasks, place[:2], row, "task"),
                    position=place[2],
                    page=row.whole("page", least=1),
                    repeat=row.whole("repeat"),
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
                    unit.association_id = catalogue.lookup(asked, key, row, "attribute")
                elif attribute is None:
                    raise row.refused("attribute", "a unit shows an image, an association or an attribute.")
                else:
                    unit.attribute_id = attribute
                self.units[place] = unit
            Unit.objects.bulk_create(self.units[place] for place, _ in held)
            made = Option.objects.bulk_create(
                self._option(self.units[place], row) for place, of_unit in held for row in of_unit
            )
            options = iter(made)
            for place, of_unit in held:
                self.options[place] = {each.whole("option"): next(options).pk for each in of_unit}
                if len(self.options[place]) != len(of_unit):
                    raise of_unit[0].refused("option", "the unit has an option twice.")
            self.created["units"] += len(held)
            self.created["options"] += len(made)

    def _option(self, unit: Unit, row: Row) -> Option:
        role = row.one_of("role", OptionRole.values)
        text = row.text("option_attribute", needed=role != OptionRole.NONE_OF_ABOVE)
        return Option(
            unit_id=unit.pk,
            attribute_id=self.attribute_of[text] if text else None,
            role=role,
            position=row.whole("option", least=1),
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
                    f"'{name}' is here already, or stands twice.",
                    "A release can be imported once; use another installation for a second copy.",
                )
            taken.add(name)
        made = Annotator.objects.bulk_create(
            Annotator(pseudonym=name, simulated=row.flag("simulated"))
            for row, name in zip(rows, names, strict=True)
        )
        self.annotators = {each.pseudonym: each.pk for each in made}
        ProfileAnswer.objects.bulk_create(
            ProfileAnswer(annotator=who, field=field, value=value, may_publish=True)
            for who, row in zip(made, rows, strict=True)
            for field in fields
            if (value := row.text(field, longest=200))
        )
        self.created["annotators"] += len(made)

    def write_answers(self) -> None:
        answered: Counter[int] = Counter()
        given = groupby(
            self.release.rows(columns.ANNOTATIONS), key=lambda row: row.whole("response", least=1)
        )
        last = 0
        for held in catalogue.chunked((number, list(rows)) for number, rows in given):
            for number, rows in held:
                if number <= last:
                    raise rows[0].refused("response", f"{number} comes after {last}: they count upwards.")
                last = number
            said = [self._said(number, rows) for number, rows in held]
            self._write(said)
            answered.update(each.annotator for each in said if each.annotator is not None)
            total = int((self.release.about.get("counts") or {}).get("responses") or 0)
            self.progress("responses", self.created["responses"], max(total, self.created["responses"]))
        Enrolment.objects.bulk_create(
            Enrolment(
                study=self.study, annotator_id=who, status=EnrolmentStatus.FINISHED, answered=answered[who]
            )
            for who in self.annotators.values()
        )

    def _said(self, number: int, rows: list[Row]) -> _Said:
        """One response, checked against the unit that it answers."""
        first, place = rows[0], _place(rows[0])
        options = dict(catalogue.lookup(self.options, place, first, "unit"))
        scale = {label.value for label in scales.SCALES[place[0]]}
        judged: list[tuple[int, int, Row]] = []
        same = ("annotator", "surplus", "stratum", "active_seconds")
        for row in rows:
            if _place(row) != place:
                raise row.refused("unit", f"response {number} is of two units.")
            for name in same:
                if row.cells[name] != first.cells[name]:
                    raise row.refused(name, f"response {number} says two things.")
            option = options.pop(row.whole("option"), None)
            if option is None:
                raise row.refused("option", "the unit has no such option, or it was judged twice.")
            value = row.whole("value", least=-1)
            if value not in scale:
                raise row.refused("value", f"{value} is not on the scale of a {place[0]} task.")
            judged.append((option, value, row))
        positions = [row.whole("shown_position", least=1) for row in rows]
        if len(set(positions)) < len(positions):
            raise first.refused("shown_position", "two options stand in one place.")
        who = first.text("annotator")
        return _Said(
            number=number,
            unit=self.units[place],
            annotator=catalogue.lookup(self.annotators, who, first, "annotator") if who else None,
            surplus=first.flag("surplus"),
            stratum=first.text("stratum", longest=120) or "any",
            seconds=first.whole_or_none("active_seconds"),
            judged=judged,
        )

    def _write(self, said: list[_Said]) -> None:
        slots = {
            each.number: slot
            for each, slot in zip(
                [one for one in said if not one.surplus],
                Slot.objects.bulk_create(self._slot(one) for one in said if not one.surplus),
                strict=True,
            )
        }
        responses = Response.objects.bulk_create(
            Response(
                unit_id=each.unit.pk,
                slot=slots.get(each.number),
                annotator_id=each.annotator,
                client_key=uuid.uuid5(_KEYS, f"{self.study.pk}/{self.release.checksum}/{each.number}"),
                task_version=each.unit.task.version,
                active_ms=None if each.seconds is None else 1000 * each.seconds,
            )
            for each in said
        )
        judged = [
            (response.pk, each.unit, option, value, row)
            for response, each in zip(responses, said, strict=True)
            for option, value, row in each.judged
        ]
        judgements = Judgement.objects.bulk_create(
            Judgement(
                response_id=response,
                option_id=option,
                value=value,
                position=row.whole("shown_position"),
                justification=row.text(columns.JUSTIFICATION),
                whole_image=row.flag("whole_image"),
            )
            for response, _, option, value, row in judged
        )
        boxes = Box.objects.bulk_create(
            _box(judgement.pk, unit, corners, row)
            for judgement, (_, unit, _, _, row) in zip(judgements, judged, strict=True)
            for corners in row.numbers("boxes", each=4)
        )
        self.created.update(
            slots=len(slots), responses=len(responses), judgements=len(judgements), boxes=len(boxes)
        )

    def _slot(self, said: _Said) -> Slot:
        self.queue += 1
        self.filled[said.unit.pk] += 1
        return Slot(
            study_id=self.study.pk,
            unit_id=said.unit.pk,
            index=self.filled[said.unit.pk] - 1,
            stratum=said.stratum,
            queue=self.queue,
            state=SlotState.FILLED,
            annotator_id=said.annotator,
        )


def _place(row: Row) -> Place:
    kind = row.one_of("task", tuple(scales.SCALES))
    return kind, row.whole("task_version", least=1), row.whole("unit", least=1)


def _box(judgement: int, unit: Unit, corners: list[float], row: Row) -> Box:
    image = unit.image
    if image is None:
        raise row.refused("boxes", "a box where no image was shown.")
    x0, y0, x1, y1 = corners
    if not (0 <= x0 < x1 <= image.width and 0 <= y0 < y1 <= image.height):
        raise row.refused("boxes", f"{corners} is no box inside {image.width} x {image.height} pixels.")
    return Box(
        judgement_id=judgement,
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        image_width=image.width,
        image_height=image.height,
    )


__all__ = ["Writer"]
