"""Read the items of a task, and what a machine judge answered about them, as arrays (PROTOCOL §16).

Nothing here is a judgement of a person: answers of models are rows of `generation.models.Answer`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet

from annotation.annotate.queries import shown_order
from annotation.annotate.services.answer_rules import clip
from annotation.core.scales import SCALES
from annotation.models import Option, OptionRole, Purpose, Study, Task
from generation.backends.base import FILTERED
from generation.models import Answer, Run
from metrics.core.purposes import MACHINE_JUDGE
from metrics.core.stats.checks import Ints
from metrics.machine_judges.design import BASE, Design, label_order, order_key, read_key
from metrics.machine_judges.parsing import Corners, Problem, Selection, read_choice, read_selection
from metrics.machine_judges.readings import Readings, ReadingsBuilder, Verdicts, verdicts

NONE_OF_ABOVE = 0
"""Stands for null in arrays of attributes, images and groups; no row has this key."""
_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Items:
    """The options (O,) of the data units of a task, by the positions of unit and option: ids of `units`,
    `options`, `attributes` (0: none of the above), `images` and `groups` (0: the task has none), and the
    `regions` of the groups."""

    units: Ints
    options: Ints
    attributes: Ints
    images: Ints
    groups: Ints
    regions: tuple[str, ...]

    @property
    def places(self) -> dict[int, int]:
        """Option -> its place."""
        return {pk: place for place, pk in enumerate(self.options.tolist())}


@dataclass(frozen=True)
class Judge:
    """A run of a machine judge with what it is about and what it answered."""

    run: Run
    study: Study
    task: Task
    design: Design
    items: Items
    readings: Readings

    def verdicts(self, variant: str = BASE) -> Verdicts:
        return verdicts(self.readings, variant)


def judge_runs(study: Study) -> QuerySet[Run]:
    """The runs of machine judges about items of `study`, newest first."""
    return Run.objects.filter(
        recipe__design__purpose=MACHINE_JUDGE, recipe__design__study=study.name
    ).order_by("-pk")


def answers_stamp(run: Run) -> list[object]:
    """Changes when the run has new answers."""
    found = Answer.objects.filter(run=run).order_by().aggregate(number=Count("pk"), last=Max("pk"))
    return [run.pk, found["number"], found["last"]]


def read_judge(run: Run, study: Study) -> Judge:
    """A judge with all its answers. The answers are read once and cached until there are more. Raises
    Task.DoesNotExist if its task is gone."""
    design = Design.from_json(run.recipe["design"])
    task = Task.objects.select_related("image_set").get(
        study=study, kind=design.task, version=design.task_version
    )
    items = read_items(task)
    stamp = ".".join(map(str, answers_stamp(run)))
    key = f"machine-judge-1:{stamp}:{len(items.options)}"
    readings: Readings | None = cache.get(key)
    if readings is None:
        readings = _read(run, design, items)
        cache.set(key, readings, _CACHE_SECONDS)
    return Judge(run, study, task, design, items, readings)


def read_items(task: Task) -> Items:
    """The options of the task's data units. One query."""
    rows = (
        Option.objects.filter(unit__task=task, unit__purpose=Purpose.DATA)
        .order_by("unit__position", "position")
        .values_list(
            *("unit", "pk", "attribute", "unit__image", "unit__image__group", "unit__association__group"),
            *("unit__image__group__region", "unit__association__group__region"),
        )
    )
    found = list(rows)
    ids = np.array(
        [[row[0], row[1], row[2] or 0, row[3] or 0, row[4] or row[5] or 0] for row in found], dtype=np.int64
    ).reshape(-1, 5)
    units, options, attributes, images, groups = ids.T
    regions = tuple(row[6] or row[7] or "" for row in found)
    return Items(units, options, attributes, images, groups, regions)


def _read(run: Run, design: Design, items: Items) -> Readings:
    places: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(items.units.tolist()):
        places[unit].append(place)
    built = ReadingsBuilder()
    sizes = "job__image__width", "job__image__height"
    answers = Answer.objects.filter(run=run).order_by("job")
    rows = answers.values_list("job__key", "job__number", "text", "ended", *sizes)
    for key, sample, text, ended, width, height in rows.iterator(chunk_size=2000):
        try:
            unit, variant = read_key(key)
        except ValueError:
            continue
        if unit not in places or variant not in design.variants:
            continue  # an answer that was brought in from elsewhere, about nothing that was asked
        built.asked[variant] += 1
        size = width or 0, height or 0
        found = _judgements(text, ended, design, items, unit, places[unit], variant, size)
        if isinstance(found, Problem):
            built.problems[variant, found] += 1
            continue
        answer = len(built.units)
        built.units.append(unit)
        built.variants.append(variant)
        built.samples.append(sample)
        for place, value, whole, boxes in found:
            built.boxes += [len(built.judgements)] * len(boxes)
            built.corners += boxes
            built.judgements.append((answer, place, value, whole))
    return built.result(design.variants)


_Judged = tuple[int, int, bool, Sequence[Corners]]
"""Place of the option, value, visible in the whole, boxes."""


def _judgements(
    text: str,
    ended: str,
    design: Design,
    items: Items,
    unit: int,
    places: Sequence[int],
    variant: str,
    size: tuple[int, int],
) -> list[_Judged] | Problem:
    if ended == FILTERED:
        return Problem.WITHHELD
    if design.is_rating:
        scale = SCALES[design.task]
        choice = read_choice(text, len(scale))
        if isinstance(choice, Problem):
            return choice
        label = scale[label_order(len(scale), variant)[choice]]
        return [(places[0], label.value, False, ())]
    shown = shown_order(
        [
            {
                "place": place,
                "role": OptionRole.STIMULUS if items.attributes[place] else OptionRole.NONE_OF_ABOVE,
            }
            for place in places
        ],
        key=order_key(design, unit, variant),
    )
    none = next((at for at, option in enumerate(shown) if option["role"] == OptionRole.NONE_OF_ABOVE), -1)
    width, height = size
    found = read_selection(text, len(shown), none=none, boxes=design.boxes, width=width, height=height)
    return found if isinstance(found, Problem) else _clipped(found, shown, width, height)


def _clipped(
    found: Selection, shown: Sequence[Mapping[str, Any]], width: int, height: int
) -> list[_Judged] | Problem:
    """Boxes by the rules for people: inside the image, or refused."""
    judged: list[_Judged] = []
    for at, option in enumerate(shown):
        boxes = [clip(each, width=width, height=height) for each in found.boxes.get(at, ())]
        inside = [box for box in boxes if box is not None]
        if len(inside) < len(boxes):
            return Problem.BOX
        judged.append((option["place"], int(at in found.chosen), at in found.whole, inside))
    return judged
